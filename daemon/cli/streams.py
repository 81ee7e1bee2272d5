"""What stdout and stderr can take: what an encoding lacks is escaped, and a full disk is reported.

It holds for all subcommands, however they write: a failure to write stdout is known by its stream, and by no
`OSError` of something else.
"""

import io
import os
import sys
from typing import Any, ClassVar

OTHERWISE = "backslashreplace"
_STDOUT = 1


class Unwritable(Exception):
    """Stdout takes nothing more."""

    exit_code: ClassVar[int] = 1


class _Stdout(io.FileIO):
    """The descriptor of stdout; what is written after a failure goes nowhere, so that it fails once."""

    failed: Unwritable | None = None

    def write(self, data: Any, /) -> int:
        if not data:  # as typer tries whether a stream takes bytes
            return 0
        try:
            return super().write(data)
        except (BrokenPipeError, BlockingIOError):
            raise
        except OSError as error:
            self.silence()
            reason = error.strerror or str(error)
            message = f"stdout: cannot be written; {reason}; what was written there is not whole; make room"
            self.failed = Unwritable(message)
            raise self.failed from error

    def silence(self) -> None:
        """Let what is written from now on go nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def prepare_streams() -> None:
    """Let stdout and stderr take all that is written; called once, before anything is."""
    if _is_of_the_process(sys.stdout):
        sys.stdout = _reporting_when_full(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        # `reconfigure` seeks, which a stream whose descriptor was exchanged may not.
        if isinstance(stream, io.TextIOWrapper) and stream.errors != OTHERWISE:
            stream.reconfigure(errors=OTHERWISE)


def flush_stdout() -> Unwritable | None:
    """Write what is left, while a failure can still be reported; return the first failure, if any."""
    if not isinstance(sys.stdout, io.TextIOWrapper) or sys.stdout.closed:
        return None
    raw = getattr(sys.stdout.buffer, "raw", sys.stdout.buffer)
    ours = raw if isinstance(raw, _Stdout) else None
    try:
        sys.stdout.flush()
    except Unwritable:  # `ours` knows
        pass
    except BrokenPipeError:  # who read it has gone
        if ours:
            ours.silence()
    return ours.failed if ours else None


def cause_of(error: BaseException) -> BaseException:
    """Return what stands alone in groups of errors, as tasks raise them."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _is_of_the_process(stream: object) -> bool:
    """Whether it is stdout as Python opens it, and none that a test or a program has put there."""
    return isinstance(stream, io.TextIOWrapper) and stream is sys.__stdout__ and stream.fileno() == _STDOUT


def _reporting_when_full(stream: Any) -> io.TextIOWrapper:
    stream.flush()
    raw = _Stdout(_STDOUT, "wb", closefd=False)
    return io.TextIOWrapper(
        raw if isinstance(stream.buffer, io.RawIOBase) else io.BufferedWriter(raw),  # by `python -u`
        encoding=stream.encoding,
        errors=OTHERWISE,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
