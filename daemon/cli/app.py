"""The command line as typer knows it: all subcommands, in the order in which the help lists them."""

from typing import Annotated

import typer

from . import actuators, completion, doctor, files, init, monitor, run
from .requests import fleet, forget, log_level, play, reload, robots

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Plays motion files on real actuators.",
    epilog=(
        "Exit codes: 0 done; 1 refused or failed; 2 wrong command line, configuration or file; "
        "3 nobody answers; 130 interrupted."
    ),
)
for part in (
    *(run, play, robots, reload, monitor, log_level, forget, fleet),
    *(files, actuators, doctor, init, completion),
):
    app.add_typer(part.app)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        from ..doctor.versions import own_version

        typer.echo(f"motiond {own_version()}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version.")
    ] = False,
) -> None:
    pass
