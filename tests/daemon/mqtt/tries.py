"""What is logged of a bridge that tries in vain to connect."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from motiond.daemon.api import ReportHub
from tests.daemon.conftest import Robots, WatchedBridge, comes_true
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    import pytest

    from motiond.daemon.config.mqtt import MqttSettings

TRIES = 4


async def logged_while_failing(
    settings: MqttSettings,
    caplog: pytest.LogCaptureFixture,
    *,
    silent_s: float = 0.3,
    tries: int = TRIES,
) -> list[str]:
    """Return what is logged while a connection is tried again and again."""
    caplog.set_level(logging.INFO)
    silent = settings.model_copy(update={"stop_when_lost_s": silent_s})
    bridge = WatchedBridge(silent, Robots(), ReportHub())
    bridge.most_losses = tries
    task = asyncio.create_task(bridge.run())
    try:
        await comes_true("it has tried", lambda: bridge.losses == tries)
    finally:
        task.cancel()
        await asyncio.wait((task,), timeout=PATIENCE_S)
    assert not bridge.connected.is_set()
    return caplog.messages
