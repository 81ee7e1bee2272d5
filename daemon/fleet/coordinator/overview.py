"""All robots that a broker knows: what they do, which daemon has them, and why some are absent."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .conversation import conversing

if TYPE_CHECKING:
    from ...config.mqtt import MqttSettings
    from .roster import Robot, Roster

CLOCKS_S = 1.5
"""How long diagnostics are waited for, which come once a second."""


async def list_robots(
    settings: MqttSettings, group: str | None = None, *, clocks: bool = False
) -> list[dict[str, Any]]:
    """Return what is known of each robot, by name.

    Each has `robot`, `groups`, `online`, `absence` (why it is not), `state`, `motion`, `daemon`, `host`,
    `state_utc` (the time of its last state) and `clock` (null unless asked for and received).

    Parameters
    ----------
    group : str, optional
        Lists only its robots.
    clocks : bool
        Wait for reports of their clocks, at most `CLOCKS_S`.

    Raises
    ------
    RequestError
        UNKNOWN_GROUP if no robot is in it.
    NoAnswer
        If there is no broker, or no robot was ever at it.
    """
    async with conversing(settings) as conversation:
        subjects = ("description", "availability", "state", *(["diagnostics"] if clocks else []))
        await conversation.look_around(*subjects)
        roster = conversation.roster
        names = sorted(roster.robots) if group is None else roster.must_have(group)
        if clocks:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOCKS_S):
                    while not all(_clock(roster.robots[name]) or roster.absence(name) for name in names):
                        await conversation.news(CLOCKS_S)
        return [_row(roster, name) for name in names]


def _row(roster: Roster, name: str) -> dict[str, Any]:
    robot = roster.robots[name]
    absence = roster.absence(name)
    state = robot.last.get("state", {})
    return {
        "robot": name,
        "groups": list(robot.groups),
        "online": not absence,
        "absence": absence,
        "state": "offline" if absence else state.get("state"),
        "motion": None if absence else state.get("motion"),
        "daemon": robot.daemon,
        "host": roster.host(name),
        "state_utc": state.get("stamp_utc"),
        "clock": None if absence else _clock(robot),
    }


def _clock(robot: Robot) -> dict[str, Any] | None:
    clock = robot.last.get("diagnostics", {}).get("clock")
    return clock if isinstance(clock, dict) else None
