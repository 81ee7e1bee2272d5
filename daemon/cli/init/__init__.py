"""`motiond init`, which writes a first configuration.

- `command`: the subcommand; `robot`, `actuators`: what it asks; `questions`: how
- `hardware`: actuators and files that are there; `document`: the text of a configuration
"""

from .command import app

__all__ = ["app"]
