"""A process that reads files for another one, whose threads go on meanwhile, whatever is in the files.

It takes requests on a socket (SOCK_SEQPACKET). Each packet, either way, is one byte and a descriptor of
memory that `put` has written: `READ` with `(path, options)`, or with a number of points in place of options,
is answered by `FOUND` with the motions, or with what a recording holds; or by `REFUSED` with
`(problems, errno or None)`. What takes more memory than there is, or makes a reader fail, is
refused as well; the time is bounded by the requesting process.
"""

from __future__ import annotations

import mmap
import os
import pickle
import resource
import socket
import sys
from array import array
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiond.text import printable, shortened

from .errors import FormatError, Problem
from .reading import load_motions, load_run

if TYPE_CHECKING:
    from .io.source import ReadOptions

READ, FOUND, REFUSED = b"q", b"m", b"r"
LEAST_MEMORY_BYTES = 2 << 30
NICENESS = 5
"""Others, a stop among them, come first."""
FIRST_TO_GO = "1000"
"""Where memory runs out (proc_pid_oom_score_adj(5))."""
MOST_PICKLED_BYTES = 8_000_000
"""Of what is not in arrays: to unpickle that much takes some hundredths of a second."""
ALIGNMENT = 64


def put(value: object) -> int:
    """Pickle plain data into memory, arrays as they are and beside the pickle, and return its descriptor.

    Raises `OverflowError` if there is too much besides arrays.
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    if len(pickled) > MOST_PICKLED_BYTES:
        raise OverflowError(f"what it holds besides arrays takes {len(pickled)} bytes")
    parts = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
    memory = os.memfd_create("motions", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(memory), "wb") as out:
            out.write(array("q", [len(parts), *(part.nbytes for part in parts)]))
            for part in parts:
                out.write(bytes(-out.tell() % ALIGNMENT))
                out.write(part)
    except BaseException:
        os.close(memory)
        raise
    return memory


def taken(memory: int) -> Any:
    """Return what `put` has written; the arrays are mapped, not copied, and read-only."""
    mapped = memoryview(mmap.mmap(memory, 0, access=mmap.ACCESS_READ))
    (count,) = mapped[:8].cast("q")
    parts, end = [], 8 * (1 + count)
    for size in mapped[8:end].cast("q"):
        start = end + -end % ALIGNMENT
        end = start + size
        parts.append(mapped[start:end])
    return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - of a process of ours; docs/decisions/reader-process.md


def serve(requests: socket.socket) -> None:
    """Read files until the other end is closed, or has gone while one is read."""
    with suppress(ConnectionError):
        while memories := socket.recv_fds(requests, len(READ), 1)[1]:
            kind, memory = _read(*_taken_once(memories[0]))
            try:
                socket.send_fds(requests, [kind], [memory])
            finally:
                os.close(memory)


def _taken_once(memory: int) -> Any:
    try:
        return taken(memory)
    finally:
        os.close(memory)


def _read(path: Path, how: ReadOptions | int) -> tuple[bytes, int]:
    try:
        if isinstance(how, int):
            return FOUND, put(load_run(path, points=how))
        return FOUND, put(load_motions(path, options=how))
    except FormatError as error:
        number = error.__cause__.errno if isinstance(error.__cause__, OSError) else None
        return REFUSED, put((error.problems, number))
    except MemoryError:
        reason, hint = "there is not enough memory for it", "split the motion"
    except OverflowError as error:
        reason, hint = str(error), "shorten all but its rows"
    except Exception as error:  # noqa: BLE001 - one file must not keep the others from being read
        reason, hint = f"its reader failed; {shortened(repr(error), 200)}", "report it"
    return REFUSED, put(((Problem(printable(str(path)), 0, "cannot be read", reason, hint),), None))


def _bound() -> None:
    """Let it end before anything else does, and take no more memory than half of what there is."""
    most = max(LEAST_MEMORY_BYTES, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    with suppress(OSError, ValueError):  # a lower limit stays
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    with suppress(OSError):  # where nobody may
        os.nice(NICENESS)
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)


if __name__ == "__main__":
    _bound()
    serve(socket.socket(fileno=int(sys.argv[1])))
