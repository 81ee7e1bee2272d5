"""The connection that is kept: when it ends."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext, suppress
from typing import Any, Self

from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.client import BackOff, Link
from tests.waiting import PATIENCE_S


class HidesCancellation:
    """A client that is just connected when it is cancelled, so that the cancellation is lost."""

    def __init__(self) -> None:
        self.connects = asyncio.Event()

    async def __aenter__(self) -> Self:
        self.connects.set()
        with suppress(asyncio.CancelledError):
            await asyncio.get_running_loop().create_future()
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


async def test_a_cancellation_that_is_lost_while_it_connects_ends_it_all_the_same() -> None:
    client: Any = HidesCancellation()
    served: list[Any] = []

    async def serve(client: Any) -> None:
        served.append(client)
        await asyncio.get_running_loop().create_future()

    async def wait(_wait_s: float, _reason: BaseException | None) -> None:
        raise AssertionError

    link = asyncio.create_task(
        Link(nullcontext, lambda: client, serve, wait, BackOff(MqttSettings()).after).run()
    )
    async with asyncio.timeout(PATIENCE_S):
        await client.connects.wait()
    link.cancel()
    await asyncio.wait((link,), timeout=5.0)
    ended = link.cancelled()
    link.cancel()
    await asyncio.wait((link,), timeout=PATIENCE_S)
    assert (ended, served) == (True, [])
