"""All robots that have ever been at a broker and what they do: what `motiond status` shows."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from ..api.errors import RequestError
from .session import NoAnswer, ask, nobody_at, watch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..api.reports import Subject
    from ..config.mqtt import MqttSettings

FIRST_S = 3.0
MORE_S = 0.3
HEARD: tuple[Subject, ...] = ("availability", "motions")


async def overview(settings: MqttSettings, robot: str | None = None) -> list[dict[str, Any]]:
    """Ask one robot or all of them for their status.

    Parameters
    ----------
    robot : str, optional
        All by default; those whose daemon is gone come as `offline`.

    Raises
    ------
    NoAnswer
        If there is no broker, nobody has ever been at it, or the one robot does not answer.
    RequestError
        If the one robot refuses to tell.
    """
    heard = await _heard(settings, robot)
    if robot is not None:
        return [_row(robot, heard, await ask(settings, robot, "status"))]
    _refuse_empty(heard, settings.base)
    answers = await asyncio.gather(*(_ask_or_tell(settings, name) for name in heard))
    return [_row(name, heard, answer) for name, answer in zip(heard, answers, strict=True)]


async def robots_at(settings: MqttSettings) -> list[str]:
    """Return the names of all robots that have ever been at a broker.

    Raises
    ------
    NoAnswer
        If there is no broker, or nobody has ever been at it.
    """
    heard = await _heard(settings, None)
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


async def _heard(settings: MqttSettings, robot: str | None) -> dict[str, dict[Subject, dict[str, Any]]]:
    """Listen to what the broker has retained, until it falls silent."""
    heard: dict[str, dict[Subject, dict[str, Any]]] = {}
    loop = asyncio.get_running_loop()
    async with aclosing(watch(settings, robot or "+", HEARD)) as reports:
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_S) as limit:
                async for report in reports:
                    heard.setdefault(report.robot, {})[report.subject] = report.data
                    limit.reschedule(loop.time() + MORE_S)
    return dict(sorted(heard.items()))
