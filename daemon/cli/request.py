"""One request of a subcommand: what is asked, and how a place on a motion is written."""

import asyncio
import re
from typing import Any

from .broker import Client
from .words import own_words


def ask(client: Client, robot: str, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send one request and return the data of its answer.

    Raises
    ------
    RequestError
        If it is refused, in the words of the command line.
    NoAnswer
        If nobody answers.
    """
    from ..client.session import ask as ask_over_mqtt

    with own_words(robot, verb):
        return asyncio.run(ask_over_mqtt(client.mqtt(), robot, verb, body))


def place_of(text: str) -> dict[str, Any]:
    """Read a frame, a time or the name of a marker."""
    if text.isdecimal():
        return {"frame": int(text)}
    if re.fullmatch(r"[0-9]*\.?[0-9]+s", text):
        return {"time": float(text[:-1])}
    return {"marker": text}
