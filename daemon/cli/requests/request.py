"""One request of a subcommand: what is asked, and how numbers and places on a motion are written."""

import asyncio
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from ...api import STOPS, RequestError
from ..output import as_listed
from .broker import Client

LEAST_SPEED, MOST_SPEED, LONGEST_TOLD = 0.1, 10.0, 60
LARGEST = 1e15  # that JSON certainly holds; the daemon says which of these it takes


def ask(client: Client, robot: str, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send one request and return the data of its answer.

    Raises
    ------
    Refused
    NoAnswer
        If nobody answers.
    """
    if verb in STOPS:
        return _stop(client, robot, verb)
    return asyncio.run(_ask(client, robot, verb, body))


async def _ask(client: Client, robot: str, verb: str, body: dict[str, Any] | None) -> dict[str, Any]:
    async with client.connect(verb) as daemon:
        return await daemon.robot(robot).request(verb, body)


def _stop(client: Client, robot: str, verb: str) -> dict[str, Any]:
    """Stop a robot by its daemon on this machine, and else by its brokers, whatever the configuration is."""
    from .stopping import stopped_at_brokers, stopped_here

    answer, failure = asyncio.run(stopped_here(client.own_config, robot, verb))
    if answer is not None:
        return answer
    settings, unread = client.known_mqtt()
    with or_nothing_stopped(robot, unread):
        return asyncio.run(stopped_at_brokers(settings, robot, verb, failure))


@contextmanager
def or_nothing_stopped(target: str, unread: Path | None) -> Iterator[None]:
    """Say plainly where a stop has not come that went out without what the configuration says."""
    from motiond.client import NoAnswer, Refused

    try:
        yield
    except (NoAnswer, Refused, RequestError) as error:
        if unread is None:
            raise
        message = f"{error}\n{nothing_stopped(target, unread)}"
        if isinstance(error, NoAnswer):
            raise NoAnswer(message) from error
        raise Refused(error.code, message, error.data) from error


def nothing_stopped(target: str, unread: Path) -> str:
    """Return that a stop has not come, and what to do now."""
    reason = f"what {unread} says of the broker is not known"
    return f"{target}: nothing was stopped; {reason}; use the robot's own switch"


def place_of(text: str) -> dict[str, Any]:
    """Read a frame, a time or the name of a marker."""
    if text.isdecimal():
        return {"frame": int(number_within(0, LARGEST)(text))}
    if re.fullmatch(r"[0-9]*\.?[0-9]+s", text):
        return {"time": number_within(0, LARGEST)(text[:-1])}
    return {"marker": as_listed(text)}


def number_within(least: float, most: float) -> Callable[[str | float], float]:
    """Return what reads a number from `least` to `most`."""

    def read(given: str | float) -> float:
        if least <= (number := number_of(given)) <= most:
            return number
        reason = f"{quoted(given)} is no number from {least:g} to {most:g}"
        raise typer.BadParameter(f"{reason}; write one")

    return read


def number_of(given: str | float) -> float:
    """Return a number; what is none as NaN."""
    try:
        return float(given)
    except ValueError:
        return math.nan


def quoted(given: str | float) -> str:
    """Return what was given as messages echo it."""
    from motiond.text import printable, shortened

    return f"'{shortened(printable(str(given)), LONGEST_TOLD)}'"


read_speed = number_within(LEAST_SPEED, MOST_SPEED)


def unreached(answer: Mapping[str, Any]) -> str:
    """Return what has to be known of a stop where no actuator is there to be stopped; '' where one is."""
    if answer.get("reached", answer.get("state") != "offline"):
        return ""
    reason = f" ({message})" if (message := answer.get("message")) else ""
    return f"it is offline{reason}, and no actuator was reached; use the robot's own switch"
