"""The subcommands for files, which need no daemon.

- `examine`: what is in files, and whether motions fit robots
- `compare`: two runs beside each other
- `convert`: from one file to another
- `edit`: changed step by step
- `plot`: a motion as a picture
- `recording`: recordings listed, shown, drawn, judged and written as motions
- `options`: what they share
"""

import typer

from . import compare, convert, edit, examine, plot, recording

app = typer.Typer()
for part in (examine, convert, edit, compare, plot, recording):
    app.add_typer(part.app)

__all__ = ["app"]
