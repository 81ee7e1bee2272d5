"""A process that reads motions for another one, whose threads go on meanwhile, whatever is in the files.

It is asked on a socket (SOCK_SEQPACKET): a packet is a path. It answers with a packet of one byte and a
descriptor of memory: `MOTIONS`, of which the memory holds an `entry`; or `REFUSED`, of which it holds JSON
with the parts of each problem. What takes more memory than there is, or what it fails over, is refused as
well; the time is bounded by the one who asks.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from motiond.text import printable, shortened

from ..errors import FormatError, Problem
from .entry import pack
from .store import MotionCache

if TYPE_CHECKING:
    from collections.abc import Sequence

MOTIONS, REFUSED = b"m", b"r"
LONGEST_PATH = 4096
LEAST_MEMORY_BYTES = 2 << 30
NICENESS = 5
"""Others, a stop among them, come first."""
FIRST_TO_GO = "1000"
"""Where memory runs out (proc_pid_oom_score_adj(5))."""


def serve(requests: socket.socket, cache: MotionCache) -> None:
    """Read motions until the other end is closed, or has gone while one is read."""
    with suppress(ConnectionError):
        while path := requests.recv(LONGEST_PATH):
            kind, memory = _read(Path(os.fsdecode(path)), cache)
            try:
                socket.send_fds(requests, [kind], [memory])
            finally:
                os.close(memory)


def _read(path: Path, cache: MotionCache) -> tuple[bytes, int]:
    name = printable(str(path))
    try:
        return MOTIONS, _motions(path, name, cache)
    except FormatError as error:
        return REFUSED, _problems(error.problems, error.__cause__)
    except MemoryError:
        reason, hint = "there is not enough memory for it", "split the motion"
    except TypeError as error:
        reason, hint = (
            f"what it holds cannot be kept; {shortened(str(error), 200)}",
            "shorten all but its rows",
        )
    except Exception as error:  # noqa: BLE001 - one file must not keep the others from being read
        reason, hint = f"its reader failed; {shortened(repr(error), 200)}", "report it"
    return REFUSED, _problems([Problem(name, 0, "cannot be read", reason, hint)], None)


def _motions(path: Path, name: str, cache: MotionCache) -> int:
    """Return a descriptor of memory that holds the motions of a file."""
    packed = pack(cache.load_motions(path), name)
    memory = os.memfd_create("motions", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(memory), "wb") as out:
            packed.write(out)
    except BaseException:
        os.close(memory)
        raise
    return memory


def _problems(problems: Sequence[Problem], cause: BaseException | None) -> int:
    told = [[one.file, one.line, one.problem, one.reason, one.hint] for one in problems]
    number = cause.errno if isinstance(cause, OSError) else None
    memory = os.memfd_create("problems", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(memory), "wb") as out:
        out.write(orjson.dumps({"problems": told, "errno": number}))
    return memory


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
    serve(socket.socket(fileno=int(sys.argv[1])), MotionCache(Path(sys.argv[2]) if sys.argv[2] else None))
