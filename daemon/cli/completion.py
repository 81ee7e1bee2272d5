"""The subcommand that writes a shell's completion script: typer's."""

from typing import Annotated, Literal

import typer

app = typer.Typer()

FIRST_TAB_OF_ZSH = '[[ $funcstack[1] == _motiond ]] && _motiond_completion "$@"'
"""zsh loads the file at the first tab, which waits for an answer; typer's script gives none."""


@app.command()
def completion(
    shell: Annotated[
        Literal["bash", "zsh", "fish"],
        typer.Argument(help="The shell; docs/cli.md says where it looks for the script."),
    ],
) -> None:
    """Write the script by which a shell completes a command line.

    It completes subcommands, options and what they take.
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="motiond", complete_var="_MOTIOND_COMPLETE", shell=shell))
    if shell == "zsh":
        typer.echo(FIRST_TAB_OF_ZSH)
