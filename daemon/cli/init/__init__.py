"""The subcommands for a configuration to begin with.

- `command`: `motiond init`; `robot`, `actuators`: what it asks; `questions`: how
- `hardware`: actuators and files that are there; `document`: the text of a configuration
- `example`: `motiond config`, which lays down the example
"""

from . import command, example

app = command.app
app.add_typer(example.config)

__all__ = ["app"]
