"""Behaviour of a robot that gets many motions at once: the newest counts, and each has one end."""

from __future__ import annotations

import asyncio
import random
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


def burst_of(registry: RobotRegistry, kind: str) -> list[asyncio.Task[dict[str, Any]]]:
    def play() -> asyncio.Task[dict[str, Any]]:
        return asked(registry, "play", motion="short", on_busy="replace")

    kinds = {"goto": [True] * BURST, "play": [False] * BURST, "mixed": [True, False] * (BURST // 2)}
    return [goto(registry, 0.001 * k) if goes else play() for k, goes in enumerate(kinds[kind])]


@pytest.mark.parametrize("kind", ["goto", "play", "mixed"])
async def test_of_a_burst_that_replaces_only_the_newest_begins(rig: Rig, kind: str) -> None:
    async with rig.running() as registry:
        playing = await playing_long(rig, registry)
        *older, newest = burst_of(registry, kind)
        assert await answers(older) == ["PREEMPTED"] * (BURST - 1)
        assert not newest.done(), "the others are answered before the robot is at rest"
        last = (await newest)["goal_id"]
        assert (await rig.result_of(playing))["code"] == "PREEMPTED"
        await rig.rest_after(last)
        assert registry.members["arm"].robot.session.rests
    assert rig.results() == ["PREEMPTED", "SUCCESSFUL"]


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


async def test_a_motion_that_waits_for_torque_is_replaced_too(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        first, second = asked(registry, "play", motion="short"), goto(registry, 0.2)
        assert await answers([first]) == ["PREEMPTED"]
        await rig.rest_after((await second)["goal_id"])
    assert rig.results() == ["SUCCESSFUL"]


@pytest.mark.parametrize(("verb", "code"), [("stop", "CANCELED"), ("estop", "ESTOPPED")])
async def test_a_stop_ends_all_that_were_about_to_begin_at_once(rig: Rig, verb: str, code: str) -> None:
    async with rig.running() as registry:
        playing = await playing_long(rig, registry)
        burst = burst_of(registry, "mixed")
        await asyncio.sleep(0)
        stop = asked(registry, verb)
        assert await answers(burst) == ["PREEMPTED"] * (BURST - 1) + [code]
        await stop
        await rig.result_of(playing)
        assert registry.members["arm"].robot.session.rests
    assert len(rig.results()) == 1


async def test_a_disable_ends_what_waits_for_torque(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        burst = burst_of(registry, "mixed")
        await asyncio.sleep(0)
        await ask(registry, "disable")
        assert await answers(burst) == ["PREEMPTED"] * (BURST - 1) + ["CANCELED"]
        assert registry.members["arm"].robot.session.rests
    assert rig.results() == []


async def test_what_is_queued_behind_a_replacing_motion_plays_after_it(rig: Rig) -> None:
    async with rig.running() as registry:
        playing = await playing_long(rig, registry)
        before = goto(registry, 0.1, "queue")
        replacing = goto(registry, 0.2)
        after = goto(registry, 0.3, "queue")
        goals = [(await one)["goal_id"] for one in (before, replacing, after)]
        codes = [(await rig.result_of(one))["code"] for one in (playing, *goals)]
    assert codes == ["PREEMPTED", "PREEMPTED", "SUCCESSFUL", "SUCCESSFUL"]
    assert len(rig.results()) == 4


@pytest.mark.parametrize("seed", range(4))
async def test_mixed_bursts_are_answered_once_and_each_accepted_goal_ends_once(rig: Rig, seed: int) -> None:
    rng = random.Random(seed)
    async with rig.running() as registry:
        playing = await playing_long(rig, registry)
        burst = []
        for k in range(BURST):
            how = rng.choice(["replace", "replace", "queue", "reject"])
            goes = rng.random() < 0.5
            burst.append(
                goto(registry, 0.001 * k, how)
                if goes
                else asked(registry, "play", motion="short", on_busy=how)
            )
            if rng.random() < 0.3:
                await asyncio.sleep(0)
        await ask(registry, "stop")
        told = await asyncio.gather(*burst, return_exceptions=True)
        assert all(isinstance(one, dict | RequestError) for one in told), told
        accepted = {playing, *(one["goal_id"] for one in told if isinstance(one, dict))}
        for goal_id in accepted:
            await rig.result_of(goal_id)
        ended = [report.data["goal_id"] for report in rig.reports if report.subject == "result"]
        assert len(ended) == len(accepted)
        assert set(ended) == accepted
        assert registry.members["arm"].robot.session.rests


ENDLESS: dict[str, dict[str, Any]] = {
    "a loop": {"loop": "forever"},
    "ping-pong": {"loop": "forever", "ping_pong": True},
}
REFUSED = "arm: short would wait for ever; long, before it, loops forever; stop that or send on_busy: replace"


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
