"""One request of a subcommand: what is asked, and how numbers and places on a motion are written."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from ..output import as_listed, awaited
from .broker import Client

LEAST_SPEED, MOST_SPEED, LONGEST_QUOTED = 0.1, 10.0, 60
LARGEST = 1e15  # that JSON certainly holds; the daemon says which of these it takes


def ask(client: Client, robot: str, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send one request and return the data of its answer.

    Raises
    ------
    Refused
    NoAnswer
        If nobody answers.
    """
    return awaited(_ask(client, robot, verb, body))


async def _ask(client: Client, robot: str, verb: str, body: dict[str, Any] | None) -> dict[str, Any]:
    async with client.connect(verb) as daemon:
        return await daemon.robot(robot).request(verb, body)


async def ask_daemon_here(config: Path, verb: str, body: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """Ask the daemon of a configuration on this machine for what concerns it as a whole; raises as `ask`."""
    from motiond.client import connect

    async with connect(config=config) as daemon:
        return await daemon.ask("", verb, body, timeout_s)


def place_of(text: str) -> dict[str, Any]:
    """Read a frame, a time or the name of a marker."""
    if text.isdecimal():
        return {"frame": int(number_within(0, LARGEST)(text))}
    if re.fullmatch(r"[0-9]*\.?[0-9]+s", text):
        return {"time": number_within(0, LARGEST)(text[:-1])}
    return {"marker": as_listed(text)}


def number_within(least: float, most: float) -> Callable[[str | float], float]:
    """Return what reads a number from `least` to `most`."""

    def read(value: str | float) -> float:
        if least <= (number := number_of(value)) <= most:
            return number
        reason = f"{quoted(value)} is no number from {least:g} to {most:g}"
        raise typer.BadParameter(f"{reason}; write one")

    return read


def number_of(value: str | float) -> float:
    """Return a number; what is none as NaN."""
    try:
        return float(value)
    except ValueError:
        return math.nan


def quoted(value: str | float) -> str:
    """Return what was given as messages echo it."""
    from motiond.text import printable, shortened

    return f"'{shortened(printable(str(value)), LONGEST_QUOTED)}'"


read_speed = number_within(LEAST_SPEED, MOST_SPEED)
