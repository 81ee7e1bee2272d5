"""What all subcommands share: exit codes, common options, and how they write to stdout and stderr."""

import shutil
import sys
from collections.abc import Container, Coroutine, Iterable, Sequence
from importlib import import_module
from os.path import samestat
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, TypeVar

import typer

T = TypeVar("T")

DEFAULT_CONFIG = Path("/etc/motiond/motiond.yaml")

HERE = Path("motiond.yaml")  # where `motiond init` writes it
NAME_HERE = f"for the one here, add `-c {HERE}`"

DONE, FAILED, WRONG_INPUT, NOBODY_ANSWERS = 0, 1, 2, 3
STATE_STYLES = {
    **dict.fromkeys(("playing", "following"), "green"),
    "approaching": "cyan",
    **dict.fromkeys(("pausing", "paused", "stopping", "teaching"), "yellow"),
    **dict.fromkeys(("estopped", "fault", "offline"), "red"),
}


def as_listed(name: str) -> str:
    """Return a name as robots list it: printable also where a shell completes a file that is no UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        from motiond.text import printable

        return printable(name)
    return name


def _robot_name(name: str | None) -> str | None:
    """Refuse what no robot or group can be called, before it becomes a part of a topic."""
    from ..config.section import SettingError
    from ..config.types import topic_safe

    try:
        return name and topic_safe(as_listed(name))
    except SettingError as error:
        raise typer.BadParameter(str(error)) from error


RobotName = Annotated[
    str, typer.Argument(help="The robot, as the configuration names it.", callback=_robot_name)
]
GroupName = Annotated[str, typer.Argument(help="The group, as configurations name it.", callback=_robot_name)]
AnyGroupName = Annotated[str | None, typer.Argument(help="The group; all by default.", callback=_robot_name)]
AnyRobotName = Annotated[str | None, typer.Argument(help="The robot; all by default.", callback=_robot_name)]
ShownRobotName = Annotated[
    str | None, typer.Argument(help="Who is shown first; the first by name.", callback=_robot_name)
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="MOTIOND_CONFIG",
        help="The daemon's configuration.",
        show_default=str(DEFAULT_CONFIG),
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON to stdout.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Replace a file that is there already.")]


def config_of(named: Path | None) -> Path:
    """Return the configuration that is named, else that of the machine.

    One in the current folder is never taken unnamed: a service, and who asks it or stops it from elsewhere,
    must mean the same file. It is pointed out instead.

    Raises FormatError if none is named and the machine has none.
    """
    if named is not None:
        return named
    try:
        there = DEFAULT_CONFIG.stat()
    except FileNotFoundError as error:
        from motiond.formats import FormatError, Problem

        hint = NAME_HERE if HERE.is_file() else "write one by `motiond init`, or name yours with -c"
        problem = Problem(str(DEFAULT_CONFIG), 0, "cannot be read", "no such file", hint)
        raise FormatError([problem]) from error
    except OSError:  # reading it reports why
        return DEFAULT_CONFIG
    if HERE.is_file() and not samestat(HERE.stat(), there):
        report(f"warning: {HERE}: is not read, but {DEFAULT_CONFIG}; {NAME_HERE}", DONE)
    return DEFAULT_CONFIG


def awaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end."""
    import asyncio

    return asyncio.run(coroutine)


def show_subcommands(context: typer.Context) -> None:
    """Show the help of a command line that ends before a subcommand, which is wrong."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(WRONG_INPUT)


def report(message: str, code: int) -> int:
    """Write a message to stderr and return the exit code."""
    print(message, file=sys.stderr)  # noqa: T201 - the one place where errors go to people
    return code


def own_name() -> str:
    """Return how another terminal calls this program: by name where that finds the same one."""
    here = Path(sys.argv[0]).absolute()
    found = shutil.which(here.name)
    return here.name if found and Path(found).resolve() == here.resolve() else str(here)


def print_json(data: Any) -> None:
    """Write data to stdout; infinities become null."""
    import orjson

    typer.echo(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY))


def say(data: Any, text: str, *, json: bool) -> None:
    """Write an answer to stdout: as JSON, or in words."""
    if json:
        print_json(data)
    else:
        typer.echo(text)


def load_tables_meanwhile() -> None:
    """Load what tables are printed with while the caller waits for an answer."""
    Thread(target=_load_tables, name="cli.tables").start()


def _load_tables() -> None:
    for module in ("rich.console", "motiond.daemon.tools.tables"):
        import_module(module)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], texts: Container[str] | None = None
) -> None:
    """Write a table to stdout; cells of columns besides `texts` are numbers, where that is given."""
    from rich.console import Console

    from ..tools.tables import Column, print_rows

    titled = [Column(title, right=texts is not None and title not in texts) for title in columns]
    print_rows(Console(), titled, rows)
