"""All robots that have ever been at a broker and what they do: what `motiond status` shows."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from ..api import RequestError
from ..mqtt.topics import ANY_ROBOT
from .connection import NoAnswer, nobody_at
from .session import ask, retained

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..api import Subject
    from ..config.mqtt import MqttSettings

HEARD: tuple[Subject, ...] = ("availability", "motions")


async def overview(
    settings: MqttSettings, robot: str | None = None, meanwhile: Callable[[], object] | None = None
) -> list[dict[str, Any]]:
    """Ask one robot or all of them for their status.

    Parameters
    ----------
    robot : str, optional
        All by default; those whose daemon is gone come as `offline`.
    meanwhile : callable, optional
        Begins what can be done while the broker is listened to; called once a robot has answered.

    Raises
    ------
    NoAnswer
        If there is no broker, nobody has ever been at it, or the one robot does not answer.
    RequestError
        If the one robot refuses to tell.
    """
    heard, answered = await _heard(settings, robot, meanwhile)
    if robot is not None:
        return [_row(robot, heard, answered.get(robot) or await ask(settings, robot, "status"))]
    _refuse_empty(heard, settings.base)
    silent = [name for name in heard if name not in answered]
    answered |= zip(
        silent, await asyncio.gather(*(_ask_or_tell(settings, name) for name in silent)), strict=True
    )
    return [_row(name, heard, answered[name]) for name in heard]


async def robots_at(settings: MqttSettings) -> list[str]:
    """Return the names of all robots that have ever been at a broker.

    Raises
    ------
    NoAnswer
        If there is no broker, or nobody has ever been at it.
    """
    heard, _ = await _heard(settings, None)
    _refuse_empty(heard, settings.base)
    return list(heard)


def _refuse_empty(heard: Mapping[str, Any], base: str) -> None:
    if not heard:
        raise NoAnswer(nobody_at(base))


async def _ask_or_tell(settings: MqttSettings, robot: str) -> dict[str, Any]:
    try:
        return await ask(settings, robot, "status")
    except (NoAnswer, RequestError) as error:
        return {"state": "offline", "motion": None, "goal_id": None, "message": str(error)}


def _row(
    robot: str, heard: dict[str, dict[Subject, dict[str, Any]]], answer: dict[str, Any]
) -> dict[str, Any]:
    told = heard.get(robot, {}).get("motions", {})
    playable = [motion["name"] for motion in told.get("motions", []) if motion["ok"]]
    return {"robot": robot, **answer, "motions": playable, "more_motions": told.get("more", 0)}


async def _heard(
    settings: MqttSettings, robot: str | None, meanwhile: Callable[[], object] | None = None
) -> tuple[dict[str, dict[Subject, dict[str, Any]]], dict[str, dict[str, Any]]]:
    """Return what the broker has retained, by robot, and the status of those that have answered meanwhile."""
    told, answers = await retained(settings, robot or ANY_ROBOT, HEARD, meanwhile)
    heard: dict[str, dict[Subject, dict[str, Any]]] = {}
    for report in told:
        heard.setdefault(report.robot, {})[report.subject] = report.data
    return dict(sorted(heard.items())), answers
