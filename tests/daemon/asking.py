"""Asks a robot, as any client does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from motiond.client import connect
from motiond.daemon.config.client import brokers_of

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.config.mqtt import MqttSettings


async def ask(
    settings: MqttSettings,
    robot: str,
    verb: str,
    payload: dict[str, Any] | None = None,
    timeout_s: float = 5.0,
) -> dict[str, Any]:
    """Send one request at the brokers of a configuration, and return the data of its answer."""
    async with connect(brokers_of(settings), holder="a test") as daemon:
        return await daemon.robot(robot).request(verb, payload, timeout_s=timeout_s)


async def ask_here(config: Path, verb: str, **keys: Any) -> dict[str, Any]:
    """Send one request that concerns the whole daemon to its control socket."""
    async with connect(config=config) as daemon:
        return await daemon.ask("", verb, keys, 5.0)
