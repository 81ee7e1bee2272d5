"""Behaviour of a robot that gets many motions at once: the newest counts, and each has one end."""

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

BURST = 50


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


def asked(registry: RobotRegistry, verb: str, **values: Any) -> asyncio.Task[dict[str, Any]]:
    return asyncio.create_task(ask(registry, verb, **values))


def goto(registry: RobotRegistry, place: float, on_busy: str = "replace") -> asyncio.Task[dict[str, Any]]:
    return asked(registry, "goto", joints={"elbow": place}, on_busy=on_busy)


async def playing_long(rig: Rig, registry: RobotRegistry, **how: Any) -> str:
    await rig.until_state("idle")
    goal_id: str = (await ask(registry, "play", motion="long", **how))["goal_id"]
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > FULL_SWING)
    return goal_id


async def answers(tasks: list[asyncio.Task[dict[str, Any]]]) -> list[str]:
    """Return the code of each answer; 'ok' where it is none."""
    told = await asyncio.gather(*tasks, return_exceptions=True)
    return [answer.code if isinstance(answer, RequestError) else "ok" for answer in told]


async def test_a_replaced_motion_is_answered_with_what_came_before_it(rig: Rig) -> None:
    async with rig.running() as registry:
        await playing_long(rig, registry)
        first, second = goto(registry, 0.1), goto(registry, 0.2)
        with pytest.raises(RequestError) as caught:
            await first
        await second
    assert (caught.value.code, str(caught.value)) == (
        "PREEMPTED",
        "arm: goto did not begin; a newer request replaced it; send it again after that",
    )


ENDLESS: dict[str, dict[str, Any]] = {
    "a loop": {"loop": "forever"},
    "ping-pong": {"loop": "forever", "ping_pong": True},
}
REFUSED = "arm: short would wait for ever; long, before it, loops forever; stop that, or replace it"


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("where", ["playing", "paused", "waiting", "replacing"])
async def test_what_would_never_begin_does_not_wait(rig: Rig, kind: str, where: str) -> None:
    async with rig.running() as registry:
        await playing_long(rig, registry, **(ENDLESS[kind] if where in {"playing", "paused"} else {}))
        replacing = None
        if where == "paused":
            await ask(registry, "pause")
        elif where == "waiting":
            await ask(registry, "play", motion="long", on_busy="queue", **ENDLESS[kind])
        elif where == "replacing":
            replacing = asked(registry, "play", motion="long", on_busy="replace", **ENDLESS[kind])
            await asyncio.sleep(0)
        with pytest.raises(RequestError) as caught:
            await ask(registry, "play", motion="short", on_busy="queue")
        assert (await ask(registry, "queue"))["queue"] == (
            [] if where != "waiting" else [{"goal_id": caught.value.data["goal_id"], "motion": "long"}]
        )
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
        assert [one["goal_id"] for one in waiting] == [first, last]
        await ask(registry, "stop")
