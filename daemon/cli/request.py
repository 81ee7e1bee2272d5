"""One request of a subcommand: what is asked, and how a place on a motion is written."""

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..api.names import STOPS
from .broker import Client
from .words import own_words

if TYPE_CHECKING:
    from ..client.connection import NoAnswer


def ask(client: Client, robot: str, verb: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Send one request and return the data of its answer.

    Raises
    ------
    RequestError
        If it is refused, in the words of the command line.
    NoAnswer
        If nobody answers.
    """
    from ..client.connection import NoAnswer
    from ..client.session import ask as ask_over_mqtt

    try:
        with own_words(robot, verb):
            return asyncio.run(ask_over_mqtt(client.mqtt(), robot, verb, body))
    except NoAnswer as error:
        if verb in STOPS and (answer := _stopped_here(client.own_config, robot, verb, error)) is not None:
            return answer
        raise


def _stopped_here(config: Path | None, robot: str, verb: str, error: "NoAnswer") -> dict[str, Any] | None:
    """Stop a robot by its daemon here, which may be at another broker; None where there is none."""
    from ..client.connection import NoAnswer
    from ..client.local import ask_here
    from ..ipc.control import Refused

    try:
        return None if config is None else ask_here(config, verb, robot=robot)
    except Refused as refused:
        if "the robots here are" in str(error):  # that it is unknown is told already
            return None
        raise NoAnswer(f"{error}\n{refused}") from refused


def place_of(text: str) -> dict[str, Any]:
    """Read a frame, a time or the name of a marker."""
    if text.isdecimal():
        return {"frame": int(text)}
    if re.fullmatch(r"[0-9]*\.?[0-9]+s", text):
        return {"time": float(text[:-1])}
    return {"marker": text}
