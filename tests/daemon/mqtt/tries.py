"""A bridge that tries in vain to connect, and what is logged of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from motiond.daemon.api import Dispatcher, ReportHub
from motiond.daemon.mqtt.bridge import MqttBridge
from tests.daemon.conftest import Robots
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import pytest

    from motiond.daemon.config.mqtt import MqttSettings

TRIES = 4


class Tries(MqttBridge):
    """A bridge that counts in vain how often it has tried."""

    def __init__(self, settings: MqttSettings, hub: ReportHub | None = None, tries: int = TRIES) -> None:
        robots = Robots()
        super().__init__(settings, "d1", robots, Dispatcher(robots), hub or ReportHub())
        self.left = tries
        self.tried = asyncio.Event()

    async def _wait(self, wait_s: float, reason: BaseException | None) -> None:
        await super()._wait(wait_s, reason)
        self.left -= 1
        if not self.left:
            self.tried.set()


async def logged_while_failing(
    settings: MqttSettings,
    caplog: pytest.LogCaptureFixture,
    hub: ReportHub | None = None,
    *,
    silent_s: float = 0.3,
    tries: int = TRIES,
) -> list[str]:
    """Return what is logged while a connection is tried again and again."""
    caplog.set_level(logging.INFO)
    bridge = Tries(settings.model_copy(update={"stop_when_lost_s": silent_s}), hub, tries)
    task = asyncio.create_task(bridge.run())
    try:
        await asyncio.wait_for(bridge.tried.wait(), PATIENCE_S)
    finally:
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
    assert not bridge.connected.is_set()
    return caplog.messages
