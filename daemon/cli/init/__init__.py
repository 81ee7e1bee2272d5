"""The subcommands for a configuration to begin with: `motiond init`, which asks, and `motiond config`."""

from . import command, example

app = command.app
app.add_typer(example.config)

__all__ = ["app"]
