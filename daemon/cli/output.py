"""What all subcommands share: exit codes, common options, and how they write.

In come messages and data, out go lines on stderr and JSON on stdout.
"""

import sys
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

DEFAULT_CONFIG = Path("/etc/motiond/motiond.yaml")

DONE, FAILED, WRONG_INPUT, NOBODY_ANSWERS = 0, 1, 2, 3

ConfigFile = Annotated[
    Path, typer.Option("--config", "-c", envvar="MOTIOND_CONFIG", help="The daemon's configuration.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]


def tell(message: str, code: int) -> int:
    """Write a message to stderr and give the exit code."""
    print(message, file=sys.stderr)  # noqa: T201 - the one place where errors go to people
    return code


def print_json(data: Any) -> None:
    """Write data to stdout; infinities become null."""
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY))
