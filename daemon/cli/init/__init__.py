"""`motiond init`, which writes a first configuration.

- `command`: the subcommand; `interview`, `actuator_questions`: what it asks; `questions`: how
"""

from .command import app

__all__ = ["app"]
