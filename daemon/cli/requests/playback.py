"""How a motion is played: the options of all subcommands that play one, and what they ask for."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer

from ..output import as_listed
from .request import number_of, place_of, quoted, read_speed

FOREVER = "forever"
MOST_LOOPS = 1_000_000_000


def _unix_time(value: str | float) -> float:
    """Read a moment; JSON has no NaN, and would ask for none in its place."""
    if math.isfinite(time_s := number_of(value)):
        return time_s
    raise typer.BadParameter(f"{quoted(value)} is no time; write Unix time in s, as `date +%s` prints it")


def checked_loop(text: str) -> str:
    """Refuse what is neither a count nor `forever`."""
    if text != FOREVER and not (text.isdecimal() and 1 <= int(text) <= MOST_LOOPS):
        reason = f"{quoted(text)} is no count from 1 to {MOST_LOOPS}"
        raise typer.BadParameter(f"{reason}; write --loop 3, or --loop forever")
    return text


def loop_of(text: str) -> int | str:
    """Return a count, or `forever`, as requests have it."""
    return text if text == FOREVER else int(text)


STEP_KEYS: dict[str, Callable[[str], float]] = {
    "blend_s": number_of,
    "pause_s": number_of,
    "repeat": int,
    "speed": number_of,
}


def steps_of(texts: list[str], *, blend_s: float, pause_s: float) -> list[dict[str, Any]]:
    """Read the steps of a sequence: `nod`, or `nod,repeat=2,speed=0.5`; the first flows from nothing."""
    steps = []
    for number, text in enumerate(texts):
        motion, *keys = text.split(",")
        step: dict[str, Any] = {"motion": as_listed(motion)}
        step |= {key: of_all for key, of_all in (("blend_s", blend_s), ("pause_s", pause_s)) if of_all}
        if number == 0:
            step.pop("blend_s", None)
        steps.append(step | dict(_step_key(text, key) for key in keys))
    return steps


def _step_key(step: str, text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    try:
        return key, STEP_KEYS[key](value)
    except (KeyError, ValueError):
        known = f"write MOTION, with {', '.join(STEP_KEYS)} behind it as in nod,repeat=2,speed=0.5"
        raise typer.BadParameter(f"{quoted(step)} is no step; {known}") from None


Speed = Annotated[
    float,
    typer.Option(parser=read_speed, metavar="FACTOR", help="0.1 to 10; 1 is the file's own."),
]
Loop = Annotated[str, typer.Option(metavar="N|forever", callback=checked_loop, help="How often.")]
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
        "loop": loop_of(loop),
        "ping_pong": ping_pong,
        "first": None if first is None else place_of(first),
        "last": None if last is None else place_of(last),
        "seam": seam,
    }
    return {key: value for key, value in asked.items() if value is not None}
