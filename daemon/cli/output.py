"""What all subcommands share: exit codes, common options, and how they write to stdout and stderr."""

import sys
from collections.abc import Iterable, Sequence
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
    """Write a message to stderr and return the exit code."""
    print(message, file=sys.stderr)  # noqa: T201 - the one place where errors go to people
    return code


def print_json(data: Any) -> None:
    """Write data to stdout; infinities become null."""
    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to stdout."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
