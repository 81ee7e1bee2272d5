"""The program's entry, by which a stop on the daemon's own machine loads next to nothing."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # `typing` takes a tenth of what a stop may
if TYPE_CHECKING:
    from typing import NoReturn


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the program; the exit code says how it went."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] in (["stop"], ["estop"]):
        from .stop_here import stop_here

        if (code := stop_here(arguments)) is not None:
            sys.exit(code)
    from .program import run_program

    run_program(arguments)
