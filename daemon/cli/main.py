"""The command line: puts the subcommands together, and turns errors into lines on stderr and exit codes.

An error that a subcommand may end with is told as `where: problem; reason; hint`, and names its exit code in
`exit_code` (docs/cli.md); any other is a defect, and a traceback. What only some subcommands need is imported
by these, so that a request is sent at once.
"""

import atexit
import gc
import os
import re
import sys
from contextlib import suppress
from typing import NoReturn

from ..service.interpreter import few_passes
from .help import quick_help
from .later import load_later
from .streams import Unwritable, cause_of, flush_stdout, prepare_streams
from .subcommands import SUBCOMMANDS


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program; the exit code tells how it went."""
    os.environ.setdefault(
        "PYDANTIC_DISABLE_PLUGINS", "__all__"
    )  # it would look through all that is installed
    atexit.register(gc.freeze)  # nobody needs a search for garbage then
    prepare_streams()
    with few_passes():
        sys.exit(_written(_exit_code(sys.argv[1:] if arguments is None else arguments)))


def _written(code: int) -> int:
    """Return the exit code once all is written; what stdout did not take is told in one line."""
    if (failure := flush_stdout()) is None:
        return code
    from .output import tell

    return tell(str(failure), code or failure.exit_code)


def _exit_code(arguments: list[str]) -> int:
    if arguments == ["--help"] and (page := quick_help()) is not None:
        with suppress(Unwritable, BrokenPipeError):  # the first is told at the end
            sys.stdout.write(page)
        return 0
    load_later("importlib.metadata", "entry_points")  # pydantic's, to look for plugins
    load_later("urllib.request")  # the MQTT library's, for proxies
    import typer

    from motiond.text import quoted_briefly

    from .completion import serve_scripts
    from .output import DONE, WRONG_INPUT, tell
    from .tree import make_app

    asked = None if serve_scripts() else next(iter(arguments), None)
    app = make_app(asked if asked in SUBCOMMANDS else None)
    try:
        return app(arguments, prog_name="motiond", standalone_mode=False) or DONE
    except typer.TyperException as error:
        what = _in_plain_words(_in_brief(error.format_message(), arguments))
        if not what:  # the help that it stands for was written instead
            return WRONG_INPUT
        return tell(f"motiond: {what[:1].lower()}{what[1:]}; see `motiond --help`", WRONG_INPUT)
    except Exception as error:
        cause = cause_of(error)
        if isinstance(cause, Unwritable):  # told at the end, as also where it was swallowed
            return cause.exit_code
        exit_code = getattr(cause, "exit_code", None)
        if exit_code is None:
            raise
        return tell(quoted_briefly(str(cause)), exit_code)


def _in_brief(message: str, arguments: list[str]) -> str:
    """Return what typer says as one line that repeats no long argument whole, in quotes or without."""
    from motiond.text import echoed, quoted_briefly

    line = quoted_briefly(" ".join(message.split()))
    for argument in arguments:
        for given in (" ".join(part.split()) for part in argument.split("=", 1)):
            if not given.startswith("/"):  # a path is told whole
                line = line.replace(given, echoed(given))
    return line


def _in_plain_words(line: str) -> str:
    """Return a line without what pydantic, which looks at values for typer, says of itself."""
    line = line.replace(": Value error, ", ": ").rstrip(".")
    return re.sub(r": Input should (.*?)(, unable to parse string as an? \w+)?$", r": it must \1", line)
