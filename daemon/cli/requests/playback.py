"""How a motion is played: the options of all subcommands that play one, and what they ask for."""

import math
from typing import Annotated, Any, Literal

import typer

from .request import number_of, place_of, quoted, read_speed

FOREVER = "forever"
MOST_LOOPS = 1_000_000_000


def _unix_time(given: str | float) -> float:
    """Read a moment; JSON has no NaN, and would ask for none in its place."""
    if math.isfinite(time_s := number_of(given)):
        return time_s
    raise typer.BadParameter(f"{quoted(given)} is no time; write Unix time in s, as `date +%s` prints it")


def _checked_loop(text: str) -> str:
    """Refuse what is neither a count nor `forever`."""
    if text != FOREVER and not (text.isdecimal() and 1 <= int(text) <= MOST_LOOPS):
        reason = f"{quoted(text)} is no count from 1 to {MOST_LOOPS}"
        raise typer.BadParameter(f"{reason}; write --loop 3, or --loop forever")
    return text


Speed = Annotated[
    float,
    typer.Option(parser=read_speed, metavar="FACTOR", help="0.1 to 10; 1 is the file's own."),
]
Loop = Annotated[str, typer.Option(metavar="N|forever", callback=_checked_loop, help="How often.")]
PingPong = Annotated[bool, typer.Option("--ping-pong", help="Every second pass backwards.")]
PlaceText = Annotated[
    str | None, typer.Option(metavar="PLACE", help="A frame (120), a time (1.5s) or a marker of the motion.")
]
Seam = Annotated[Literal["reject", "approach"], typer.Option(help="Of a loop whose ends do not meet.")]
StartAt = Annotated[
    float | None,
    typer.Option(parser=_unix_time, metavar="UNIX_TIME", help="When the first row is due, in s."),
]


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
