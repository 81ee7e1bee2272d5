"""Who is in control of a robot, and taking control from them: what `motiond control` does."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from .connection import NoAnswer
from .session import ask, holder_of, watch

if TYPE_CHECKING:
    from ..config.mqtt import MqttSettings

TOLD_S = 5.0


async def who_controls(settings: MqttSettings, robot: str) -> dict[str, Any]:
    """Return what a robot's daemon tells of its control (docs/mqtt.md).

    Raises
    ------
    NoAnswer
        If nobody answers.
    RequestError
        If the robot refuses to tell.
    """
    await ask(settings, robot, "status")  # what a broker keeps may be of a daemon that is gone
    try:
        async with asyncio.timeout(TOLD_S), aclosing(watch(settings, robot, ("lease",))) as reports:
            lease: dict[str, Any] = (await anext(reports)).data
            return lease
    except TimeoutError as error:
        reason = "its daemon may be older than this command"
        raise NoAnswer(f"{robot}: nothing is told of its control in {TOLD_S:g} s; {reason}") from error


async def free(settings: MqttSettings, robot: str) -> str | None:
    """Take control from whoever has it and return it at once; return who had it.

    Raises
    ------
    NoAnswer
        If nobody answers.
    RequestError
        If it may not be taken.
    """
    before: str | None = (await who_controls(settings, robot))["holder"]
    taken = await ask(settings, robot, "lease/take", {"holder": holder_of("control")})
    await ask(settings, robot, "lease/release", {"lease": taken["lease"]})
    return before
