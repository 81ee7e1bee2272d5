"""Behaviour of a robot's goals beyond one play: loops, seeking, queue, appointments, checks."""

from __future__ import annotations

import errno
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import GotoRequest, PlayRequest, RequestError
from motiond.daemon.robots.session import shared_tracks
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import RATE_HZ, Rig, ask, refused

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.daemon.trajectory.track import Track

pytestmark = pytest.mark.slow


async def start(rig: Rig, registry: RobotRegistry, **asked: Any) -> str:
    await rig.until_state("idle")
    accepted = await ask(registry, "play", **asked)
    goal_id: str = accepted["goal_id"]
    return goal_id


async def test_a_seek_goes_to_the_place_and_plays_on_to_the_end(rig: Rig) -> None:
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        with pytest.raises(RequestError) as caught:
            await ask(registry, "seek", frame=4001)
        assert (await ask(registry, "status"))["state"] == "playing"
        answer = await ask(registry, "seek", time=19.5)
        result = await rig.result_of(goal_id)
    assert caught.value.code == "UNKNOWN_PLACE"
    assert answer["goal_id"] == goal_id
    assert answer["state"] in {"approaching", "playing"}
    assert result["code"] == "SUCCESSFUL"
    assert result["played_s"] < 10.0
    positions = read_trace(rig.folder / "trace.npy")["position"]
    assert np.abs(np.diff(positions, axis=0)).max() <= 3.0 / RATE_HZ + 1e-9


NO_MEMORY = (
    "arm: there is no shared memory for short; Too many open files; check how many descriptors and how much "
    "memory the daemon may have"
)


def no_more_files(_track: Track) -> int:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


async def test_what_waits_ends_where_there_is_no_memory_for_it_and_the_robot_stays_on_line(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        goals = [await start(rig, registry, motion="short")]
        goals += [(await ask(registry, "play", motion="short", on_busy="queue"))["goal_id"] for _ in range(2)]
        with monkeypatch.context() as patched:
            patched.setattr(shared_tracks, "share", no_more_files)
            results = [await rig.result_of(goal) for goal in goals]
            caught = await refused(registry, "play", motion="short")
        last = await start(rig, registry, motion="short")
        await rig.result_of(last)
    assert [result["code"] for result in results] == ["SUCCESSFUL", "INVALID_GOAL", "CANCELED"]
    assert results[1]["message"] == NO_MEMORY
    assert caught == ("BUSY", NO_MEMORY)
    assert rig.results() == ["SUCCESSFUL", "INVALID_GOAL", "CANCELED", "SUCCESSFUL"]
    assert "stream_lost" not in [report.data["kind"] for report in rig.reports if report.subject == "event"]


async def test_what_waits_is_moved_and_taken_out_by_its_goal(rig: Rig) -> None:
    async with rig.running() as registry:
        playing = await rig.swings(registry)
        goals = [
            (await ask(registry, "goto", joints={"elbow": place}, on_busy="queue"))["goal_id"]
            for place in (0.1, 0.2, 0.3)
        ]
        moved = await ask(registry, "queue/move", goal_id=goals[2], place=1)
        assert [goal["goal_id"] for goal in moved["queue"]] == [goals[2], goals[0], goals[1]]
        moved = await ask(registry, "queue/move", goal_id=goals[2], place=99)
        assert [goal["goal_id"] for goal in moved["queue"]] == goals
        left = await ask(registry, "queue/remove", goal_id=goals[1])
        assert [goal["goal_id"] for goal in left["queue"]] == [goals[0], goals[2]]
        out = await rig.result_of(goals[1])
        events = [report.data for report in rig.reports if report.data.get("kind") == "queue_moved"]
        for verb, more in (("queue/remove", {}), ("queue/move", {"place": 1})):
            with pytest.raises(RequestError) as caught:
                await ask(registry, verb, goal_id=playing, **more)
            assert caught.value.code == "UNKNOWN_GOAL"
        assert (await ask(registry, "status"))["queued"] == 2
        assert await ask(registry, "queue/clear") == {"cleared": [goals[0], goals[2]]}
        assert (await ask(registry, "status"))["state"] == "playing"
    assert [(event["message"], event["goal_id"]) for event in events] == [
        ("goto waits as number 1 of 3", goals[2]),
        ("goto waits as number 3 of 3", goals[2]),
    ]
    assert (out["code"], out["message"]) == (
        "CANCELED",
        "it was taken out of the queue on request; it had not begun",
    )
    assert str(caught.value) == (
        f"arm: no goal '{playing}' waits; it plays, has ended or never was; list those that do by `queue`"
    )


async def test_an_appointment_that_cannot_be_kept_is_refused_with_by_how_much(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        with pytest.raises(RequestError) as caught:
            await ask(registry, "play", motion="short", start_at=time.time() - 10.0)
        assert (await ask(registry, "status"))["goal_id"] is None
    assert caught.value.code == "TOO_LATE"
    assert caught.value.data["too_late_s"] > 10.0
    assert "; set it later" in str(caught.value)


LATER = "a robot waits no longer than 86400 s; send the request later"


async def test_a_start_further_ahead_than_a_day_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.swings(registry)
        for on_busy in ("reject", "queue", "replace"):
            values = {"motion": "short", "start_at": time.time() + 90_000.0, "on_busy": on_busy}
            assert await refused(registry, "play", **values) == (
                "INVALID_REQUEST",
                f"arm: start_at is 90000 s ahead; {LATER}",
            )
            assert (await ask(registry, "status"))["state"] == "playing"


# -- what a result has to say --------------------------------------------------------------------------------


async def test_a_result_has_who_asked_and_what_motiond_does_by_itself_says_why(rig: Rig) -> None:
    rig.robot |= {"on_end": "park", "on_exit": "park", "poses": {"park": {"shoulder": 1.0}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await registry.handle("arm", "play", PlayRequest(motion="short"), "ana, 10.0.0.7 over HTTP")
        await rig.until("result", lambda data: data["motion"] == "park")
        goal = await registry.handle("arm", "goto", GotoRequest(joints={"elbow": 0.3}))
        await rig.result_of(goal["goal_id"])
        await rig.until("result", lambda data: data["motion"] == "park", len(rig.reports) - 1)
    asked_by = [(one.data["motion"], one.data["asked_by"]) for one in rig.reports if one.subject == "result"]
    assert asked_by == [
        ("short", "ana, 10.0.0.7 over HTTP"),
        ("park", "motiond, by on_end"),
        ("goto", None),
        ("park", "motiond, by on_end"),
        ("park", "motiond, by on_exit"),
    ]


async def test_a_result_has_the_worst_error_and_the_peak_effort_of_its_own_motion(rig: Rig) -> None:
    limits = rig.robot["joints"]["elbow"]["limits"] | {"effort": 50.0}
    rig.robot |= {"fault_requests": True, "joints": rig.robot["joints"] | {"elbow": {"limits": limits}}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "fault", fault="stuck", joint="elbow")
        stuck = await rig.rest_after(await start(rig, registry, motion="short"))
        await ask(registry, "fault", fault="clear")
        free = await rig.rest_after(await start(rig, registry, motion="short"))
    assert stuck["worst_error"]["joint"] == "elbow"
    assert free["worst_error"]["value"] < 0.05 < stuck["worst_error"]["value"]
    assert {result["peak_effort"]["joint"] for result in (stuck, free)} == {"elbow"}


async def test_what_had_not_begun_has_neither_error_nor_effort(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.swings(registry)
        waits = (await ask(registry, "play", motion="short", on_busy="queue"))["goal_id"]
        await ask(registry, "queue/clear")
        result = await rig.result_of(waits)
    assert (result["played_s"], result["worst_error"], result["peak_effort"]) == (None, None, None)
