"""How a motion is played: the options of all subcommands that play one, and what they ask for."""

from typing import Annotated, Any, Literal

import typer

from .request import place_of

FOREVER = "forever"
MOST_LOOPS, LONGEST_TOLD = 1_000_000_000, 60


def _checked_loop(text: str) -> str:
    """Refuse what is neither a count nor for ever."""
    from motiond.formats.errors import shortened

    if text != FOREVER and not (text.isdecimal() and 1 <= int(text) <= MOST_LOOPS):
        why = f"'{shortened(text, LONGEST_TOLD)}' is no count from 1 to {MOST_LOOPS}"
        raise typer.BadParameter(f"{why}; write --loop 3, or --loop forever")
    return text


Speed = Annotated[float, typer.Option(min=0.1, max=10.0, help="1 is the file's own.")]
Loop = Annotated[str, typer.Option(metavar="N|forever", callback=_checked_loop, help="How often.")]
PingPong = Annotated[bool, typer.Option("--ping-pong", help="Every second pass backwards.")]
PlaceText = Annotated[
    str | None, typer.Option(metavar="PLACE", help="A frame (120), a time (1.5s) or a marker of the motion.")
]
Seam = Annotated[Literal["reject", "approach"], typer.Option(help="Of a loop whose ends do not meet.")]
StartAt = Annotated[float | None, typer.Option(metavar="UNIX_TIME", help="When the first row is due, in s.")]


def playback_of(
    *, speed: float, loop: str, ping_pong: bool, first: str | None, last: str | None, seam: str
) -> dict[str, Any]:
    """Return what the options ask for, as a request to play has it."""
    asked = {
        "speed": speed,
        "loop": loop if loop == FOREVER else int(loop),
        "ping_pong": ping_pong,
        "first": None if first is None else place_of(first),
        "last": None if last is None else place_of(last),
        "seam": seam,
    }
    return {key: value for key, value in asked.items() if value is not None}
