"""The connection to one broker of a program that asks daemons there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import aiomqtt

from motiond.client import NoAnswer

from .address import address_of
from .connection import MqttConnection
from .reasons import NotConnected, reason_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from ...config.mqtt import MqttSettings

CONNECT_TRIES, CONNECT_PAUSE_S = 3, 0.2
OPTIONS = {"mqtt.broker": "--broker or mqtt.broker", "mqtt.ca_file": "--ca-file or mqtt.ca_file"}
"""Which option of a command stands in for a key of the configuration."""


@asynccontextmanager
async def at_broker(broker: MqttSettings) -> AsyncIterator[MqttConnection]:
    """Connect to one broker for as long as the context lasts.

    Raises
    ------
    NoAnswer
        If it cannot be reached, or goes away.
    """
    try:
        async with AsyncExitStack() as stack:
            yield await _connected(broker, stack)
    except (aiomqtt.MqttError, OSError) as error:
        reason = reason_of(error)
        for key, either in OPTIONS.items():
            reason = reason.replace(key, either)
        raise NoAnswer(f"{address_of(broker)}: no connection to the broker; {reason}") from error


async def _connected(settings: MqttSettings, stack: AsyncExitStack) -> MqttConnection:
    """Connect; a broker that hangs up while it takes the connection is tried again, an absent one is not."""
    for tries_left in reversed(range(CONNECT_TRIES)):
        try:
            client = await stack.enter_async_context(MqttConnection(settings))
        except aiomqtt.MqttError as error:
            if not tries_left or (isinstance(error, NotConnected) and error.absent):
                raise
            await asyncio.sleep(CONNECT_PAUSE_S)
        else:
            client.logs_refusals = False
            return client
    raise AssertionError  # the last try returns or raises
