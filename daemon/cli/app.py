"""The command line as typer knows it: all subcommands, in the order in which the help lists them."""

from typing import Annotated

import typer

from . import actuators, completion, doctor, files, init, monitor, run, teach
from .output import show_subcommands
from .requests import fleet, follow, forget, log_level, play, reload, robots

app = typer.Typer(
    add_completion=False,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Plays motion files on real actuators.",
    epilog=(
        "Exit codes: 0 done; 1 refused or failed; 2 wrong command line, configuration or file; "
        "3 nobody answers; 130 interrupted."
    ),
)
for part in (
    *(run, play, follow, robots, reload, monitor, teach, log_level, forget, fleet),
    *(files, actuators, doctor, init, completion),
):
    app.add_typer(part.app)


@app.callback()
def _options(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        from ..doctor.versions import own_version

        typer.echo(f"motiond {own_version()}")
        raise typer.Exit
    show_subcommands(context)
