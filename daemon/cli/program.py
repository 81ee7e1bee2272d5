"""The program `motiond`: runs the command line, and turns errors into lines on stderr and exit codes.

An error that a subcommand may end with is printed as `subject: problem; reason; hint`, and has its exit code
in `exit_code` (docs/cli.md); any other is a defect, and a traceback.
"""

import atexit
import gc
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from .streams import Unwritable, cause_of, flush_stdout, prepare_streams

if TYPE_CHECKING:
    from typer import TyperException

INTERRUPTED = 130
OBJECTS_A_PASS = 200_000
"""So many new objects start the garbage collector: loaded modules are no garbage, which is slow to search."""


def run_program(arguments: list[str]) -> NoReturn:
    """Run a subcommand; the exit code says how it went."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # else it searches all installed packages
    gc.set_threshold(OBJECTS_A_PASS)
    atexit.register(gc.freeze)
    prepare_streams()
    sys.exit(_written(_exit_code(arguments)))


def _written(code: int) -> int:
    """Return the exit code once all is written; what stdout did not take is reported in one line."""
    if (failure := flush_stdout()) is None:
        return code
    from .output import report

    return report(str(failure), code or failure.exit_code)


def _exit_code(arguments: list[str]) -> int:
    import typer

    from motiond.text import quoted_briefly

    if arguments[:1] == ["run"]:  # the daemon's start waits for no other subcommand
        from .run import app
    else:
        from .app import app
    from .output import DONE, FAILED, WRONG_INPUT, report

    if "_MOTIOND_COMPLETE" in os.environ:  # a shell asks
        from typer._completion_classes import completion_init

        completion_init()
    try:
        return app(arguments, prog_name="motiond", standalone_mode=False) or DONE
    except typer.TyperException as error:
        problem = _problem_of(error)
        return report(f"motiond: {problem[:1].lower()}{problem[1:]}; see `motiond --help`", WRONG_INPUT)
    except typer.Abort as abort:
        if isinstance(abort.__context__, KeyboardInterrupt):
            return INTERRUPTED
        problem, hint = (
            "standard input has ended before the answer",
            "answer, or take all defaults with --yes",
        )
        return report(f"motiond: {problem}; nothing is written; {hint}", WRONG_INPUT)
    except Exception as error:
        cause = cause_of(error)
        # The one is reported at the end, as also where it was swallowed; by the other, nobody reads any more,
        # as where a shell wants no completion now.
        if isinstance(cause, Unwritable) or isinstance(error, BrokenPipeError):
            return FAILED
        exit_code = getattr(cause, "exit_code", None)
        if exit_code is None:
            raise
        return report(quoted_briefly(str(cause)), exit_code)


def _problem_of(error: "TyperException") -> str:
    """Return what is wrong with the command line, on one line."""
    from pydantic import ValidationError

    from motiond.text import quoted_briefly

    if isinstance(error.__cause__, ValidationError) and getattr(error, "param", None):  # typer's own check
        first = error.__cause__.errors()[0]
        error.message = str(first.get("ctx", {}).get("error", first["msg"]))
    return quoted_briefly(" ".join(error.format_message().split())).rstrip(".")
