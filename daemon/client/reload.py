"""Has a daemon read its configuration and its motion files again: what `motiond reload` does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motiond.text import listed

from ..api import RequestError
from .connection import NoAnswer
from .local import ask_here
from .session import ask
from .status import robots_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ..config.mqtt import MqttSettings

READING_S = 35.0  # a daemon gives up after 30 s, and says so


@dataclass(frozen=True, slots=True)
class Reloaded:
    """What one robot has now.

    Attributes
    ----------
    motions : list of dict
        As the daemon lists them (docs/mqtt.md).
    more : int
        How many there are besides.
    error : RequestError or NoAnswer or None
        Why they were not read.
    """

    robot: str
    motions: list[dict[str, Any]]
    more: int = 0
    error: RequestError | NoAnswer | None = None

    def payload(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        told = {"robot": self.robot, "motions": self.motions, "more": self.more}
        return told | {"error": None if self.error is None else str(self.error)}

    def summary(self) -> str:
        """Return which motions can be played."""
        playable = [motion["name"] for motion in self.motions if motion["ok"]]
        return (
            f"plays {listed(playable, more=self.more, longest=None)}"
            if playable
            else "has no motion that can be played"
        )

    def unplayable(self) -> Iterator[str]:
        """Yield why motions cannot be played, a line for each reason."""
        for motion in self.motions:
            yield from motion.get("reason", "").splitlines()


@dataclass(frozen=True, slots=True)
class ReloadedHere:
    """What a daemon on this machine has made of a reload.

    Attributes
    ----------
    restart : list of str
        Keys of the configuration that have changed, and count from the next start on.
    answer : dict
        The daemon's own.
    """

    robots: list[Reloaded]
    restart: list[str]
    answer: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """Return it JSON-ready."""
        return self.answer


def reload_here(config: Path) -> ReloadedHere | None:
    """Have the daemon of a configuration on this machine reload; None where there is none.

    Raises
    ------
    Refused
        If the configuration is wrong, with all that is.
    NoAnswer
        If the daemon does not answer.
    """
    answer = ask_here(config, "reload")
    if answer is None:
        return None
    robots = [Reloaded(robot, one["motions"], one.get("more", 0)) for robot, one in answer["motions"].items()]
    return ReloadedHere(robots, answer["restart"], answer)


async def reload_motions(settings: MqttSettings, robot: str | None = None) -> list[Reloaded]:
    """Have one robot or all robots at the broker read their motions again; what one refuses is told of it.

    Raises
    ------
    NoAnswer
        If there is no broker, or no daemon has been at it.
    """
    robots = [robot] if robot is not None else await robots_at(settings)
    return await asyncio.gather(*(_reload(settings, name) for name in robots))


async def _reload(settings: MqttSettings, robot: str) -> Reloaded:
    try:
        await ask(settings, robot, "status")  # whether anybody is there is soon known
        answer = await ask(settings, robot, "motions/reload", timeout_s=READING_S)
    except (RequestError, NoAnswer) as error:
        return Reloaded(robot, [], error=error)
    return Reloaded(robot, answer["motions"], answer.get("more", 0))
