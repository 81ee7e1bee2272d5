"""The subcommands that hand out what a configuration begins with: the example, and the schema for editors."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from motiond.text import printable

from ..output import DONE, show_subcommands

config = typer.Typer(
    name="config",
    invoke_without_command=True,
    callback=show_subcommands,
    help="Begin a configuration of your own.",
)


@config.command()
def example(
    name: Annotated[Path, typer.Argument(metavar="[NAME]", help="demo, the default, or so101.")] = Path(
        "demo"
    ),
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Where; here by default. May stand alone.")
    ] = None,
    *,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace files that are there already.")
    ] = False,
) -> int:
    """Lay down an example.

    A configuration, its robot and motions, and the schema for editors: of a six-axis arm, or of an SO-101.
    """
    from ...tools.example import EXAMPLES, lay_down

    which = str(name)
    if which not in EXAMPLES:
        if folder is not None:
            raise typer.BadParameter(
                f"there is no example '{printable(which)}'; there are {', '.join(EXAMPLES)}",
                param_hint="NAME",
            )
        which, folder = "demo", name
    written = lay_down(which, folder or Path(), forced=force)
    for path in written:
        typer.echo(path)
    typer.echo(f"Try it: motiond check -c {shlex.quote(str(written[0]))}")
    return DONE


@config.command()
def schema() -> int:
    """Write the schema of configurations to stdout.

    For an editor: after an update, say.
    """
    from ...tools.example import example_config

    typer.echo(example_config().with_name("schema.json").read_text(encoding="utf-8"), nl=False)
    return DONE
