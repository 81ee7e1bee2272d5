"""Behaviour of a queue behind a motion that never ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.api import RequestError
from tests.daemon.rig import FULL_SWING, Rig, ask

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def playing_long(rig: Rig, registry: RobotRegistry, **how: Any) -> str:
    await rig.until_state("idle")
    goal_id: str = (await ask(registry, "play", **({"motion": "long"} | how)))["goal_id"]
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > FULL_SWING)
    return goal_id


REFUSED = "arm: short would wait for ever; long, before it, loops forever; stop that, or replace it"


@pytest.mark.parametrize("where", ["playing", "paused", "waiting", "replacing"])
async def test_what_would_never_begin_does_not_wait(rig: Rig, where: str) -> None:
    endless = {"motion": "long", "loop": "forever", "ping_pong": where == "paused"}
    async with rig.running() as registry:
        await playing_long(rig, registry, **(endless if where in {"playing", "paused"} else {}))
        replacing = None
        if where == "paused":
            await ask(registry, "pause")
        elif where == "waiting":
            await ask(registry, "play", on_busy="queue", **endless)
        elif where == "replacing":
            replacing = asyncio.create_task(ask(registry, "play", on_busy="replace", **endless))
            await asyncio.sleep(0)
        with pytest.raises(RequestError) as caught:
            await ask(registry, "play", motion="short", on_busy="queue")
        assert len((await ask(registry, "queue"))["queue"]) == (1 if where == "waiting" else 0)
        if replacing is not None:
            await replacing
        await ask(registry, "stop")
    assert (caught.value.code, str(caught.value)) == ("BUSY", REFUSED)


async def test_what_waits_is_not_moved_to_where_it_would_never_begin(rig: Rig) -> None:
    async with rig.running() as registry:
        await playing_long(rig, registry)
        first = (await ask(registry, "play", motion="short", on_busy="queue"))["goal_id"]
        last = (await ask(registry, "play", motion="long", on_busy="queue", loop="forever"))["goal_id"]
        for goal_id, place in ((first, 2), (last, 1)):
            with pytest.raises(RequestError) as caught:
                await ask(registry, "queue/move", goal_id=goal_id, place=place)
            assert (caught.value.code, str(caught.value)) == ("BUSY", REFUSED)
        waiting = (await ask(registry, "queue"))["queue"]
        assert [goal["goal_id"] for goal in waiting] == [first, last]
        await ask(registry, "stop")
