"""The subcommand that writes a shell's completion script, and the service that such a script asks.

The scripts are ours, as typer's for zsh does nothing at a shell's first tab; the service is typer's.
"""

import os
from enum import StrEnum
from typing import Annotated

import typer

app = typer.Typer()

ASKED_BY = "_MOTIOND_COMPLETE"
"""The variable by which a script asks, in place of running a subcommand."""


class Shell(StrEnum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


SCRIPTS = {
    Shell.BASH: r"""_motiond_completion() {
    local IFS=$'\n'
    COMPREPLY=($(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \
        _MOTIOND_COMPLETE=complete_bash "$1"))
}
complete -o default -F _motiond_completion motiond
""",
    Shell.ZSH: r"""#compdef motiond
compdef _motiond motiond
_motiond() {
    local answer twice="''" quoted="'\\''"
    answer="$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _MOTIOND_COMPLETE=complete_zsh "${words[1]}")"
    # It has an apostrophe twice, which only the option RC_QUOTES reads as one.
    eval "${answer//$twice/$quoted}"
}
# Where this file was loaded by the first tab, that tab waits for an answer.
if [[ $funcstack[1] == _motiond ]]; then
    _motiond
fi
""",
    Shell.FISH: r"""function _motiond_asks
    env _MOTIOND_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] \
        _TYPER_COMPLETE_ARGS=(commandline -cp) motiond
end
complete --command motiond --no-files --arguments "(_motiond_asks get-args)" \
    --condition "_motiond_asks is-args"
""",
}


@app.command()
def completion(
    shell: Annotated[
        Shell, typer.Argument(help="The shell; docs/cli.md says where it looks for the script.")
    ],
) -> None:
    """Write the script by which a shell completes subcommands, options and what they take."""
    typer.echo(SCRIPTS[shell], nl=False)


def serve_scripts() -> bool:
    """Let typer answer where a script asks, once its classes are known to it; return whether one does."""
    if ASKED_BY not in os.environ:
        return False
    from typer._completion_classes import completion_init

    completion_init()
    return True
