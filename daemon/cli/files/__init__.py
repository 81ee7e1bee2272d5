"""The subcommands for files, which need no daemon.

- `examine`: what is in files, and whether motions fit robots
- `convert`: from one file to another
- `plot`: a motion as a picture
- `options`: what they share
"""

import typer

from . import convert, examine, plot

app = typer.Typer()
for part in (examine, convert, plot):
    app.add_typer(part.app)

__all__ = ["app"]
