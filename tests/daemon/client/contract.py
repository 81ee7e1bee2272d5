"""What the client does on each way to a daemon whose robot `arm` is idle: at a broker, the socket, the page.

`test_contract.py` runs it in the test's process, and `tests/system/client` on real programs.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from motiond.client import NoAnswer, Refused
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from motiond.client import Daemon, Follow, Robot

    Step = Callable[["Daemon", "Daemon"], Awaitable[None]]


async def until(robot: Robot, holds: Callable[[dict[str, Any]], bool]) -> None:
    """Wait until the state of a robot holds."""
    async with asyncio.timeout(PATIENCE_S), robot.states() as states:
        async for state in states:
            if holds(state):
                return


async def a_motion_is_played_to_its_result(daemon: Daemon, _: Daemon) -> None:
    result = await daemon.robot("arm").play("short", speed=0.5)
    assert (result.code, result.motion, result.is_successful) == ("SUCCESSFUL", "short", True)


async def a_goal_is_accepted_and_waited_for_later(daemon: Daemon, _: Daemon) -> None:
    goal = await daemon.robot("arm").goto(joints={"elbow": 0.2}, wait=False)
    result = await goal.result()
    assert (result.goal_id, result.code) == (goal.goal_id, "SUCCESSFUL")
    assert await goal.result() is result


async def a_stop_by_another_client_ends_the_motion(daemon: Daemon, other: Daemon) -> None:
    playing = asyncio.create_task(daemon.robot("arm").play("long"))
    await until(other.robot("arm"), lambda state: state["state"] == "playing")
    await other.robot("arm").stop()
    assert (await playing).code == "CANCELED"
    await until(daemon.robot("arm"), lambda state: state["state"] == "idle")


async def a_refusal_has_code_message_and_data(daemon: Daemon, _: Daemon) -> None:
    with pytest.raises(Refused) as caught:
        await daemon.robot("arm").play("shord")
    assert caught.value.code == "UNKNOWN_MOTION"
    assert caught.value.message.endswith("did you mean 'short'?")


async def a_cancelled_play_leaves_the_robot_playing(daemon: Daemon, _: Daemon) -> None:
    arm = daemon.robot("arm")
    playing = asyncio.create_task(arm.play("long"))
    await until(arm, lambda state: state["state"] == "playing")
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert (await arm.status())["motion"] == "long"
    await arm.stop()
    await until(arm, lambda state: state["state"] == "idle" and state["goal_id"] is None)


async def robots_states_and_descriptions_are_known(daemon: Daemon, _: Daemon) -> None:
    (arm,) = await daemon.robots()
    assert (arm.name, (await arm.status())["state"], await arm.queue()) == ("arm", "idle", [])
    assert [joint["name"] for joint in (await arm.report("description"))["joints"]] == ["shoulder", "elbow"]


async def a_recording_is_started_stopped_and_listed(daemon: Daemon, other: Daemon) -> None:
    arm = daemon.robot("arm")
    file = await arm.start_recording("wave")
    result = await arm.play("short")
    stopped = await other.robot("arm").stop_recording()
    listed = await arm.recordings()
    assert (stopped["file"], stopped["gaps"], result.recording) == (file, 0, file)
    assert listed[0]["file"] == file
    assert (listed[0]["ticks"], listed[0]["codes"]) == (stopped["ticks"], ["SUCCESSFUL"])


async def any_number_of_requests_is_answered(daemon: Daemon, other: Daemon) -> None:
    robots = [daemon.robot("arm") for _ in range(300)]
    states = await asyncio.gather(other.robot("arm").status(), *(robot.status() for robot in robots))
    assert {state["state"] for state in states} == {"idle"}


async def a_slow_reader_gets_the_newest_telemetry_or_every_sample(daemon: Daemon, _: Daemon) -> None:
    async with (
        asyncio.timeout(PATIENCE_S),
        daemon.reports("telemetry", robot="arm", every=True) as every,
        daemon.robot("arm").telemetry() as samples,
    ):
        first = await anext(samples)
        assert len(first["reference"]["position"]) == len(first["feedback"]["effort"]) == 2
        await asyncio.sleep(0.5)
        while not samples.dropped:  # noqa: ASYNC110 - nobody reports it
            await asyncio.sleep(0.05)
        assert (await anext(samples))["stamp_s"] > first["stamp_s"] + 0.2
        stamps = [report.data["stamp_s"] for report in iter(every.get_nowait, None)]
    assert every.dropped == 0
    assert len(stamps) > samples.dropped
    assert stamps == sorted({*stamps})


async def a_robot_follows_targets_until_the_context_ends(daemon: Daemon, other: Daemon) -> None:
    arm = daemon.robot("arm")
    async with arm.follow(["elbow"], timeout_s=5.0) as follow:
        assert (follow.joints, follow.rate_hz) == (("elbow",), 200.0)
        for step in range(20):
            follow.send([0.005 * step])
            await asyncio.sleep(0.02)
        await until(other.robot("arm"), lambda state: state.get("follow", {}).get("targets", 0) > 0)
    result = await follow.result()
    assert (result.code, result.motion, result.goal_id) == ("SUCCESSFUL", "follow", follow.goal_id)
    assert result.details["follow"]["refused"] == 0
    with pytest.raises(Refused, match="it follows no more; it ended with SUCCESSFUL"):
        follow.send([0.1])


async def a_follow_that_somebody_stops_takes_no_more_targets(daemon: Daemon, other: Daemon) -> None:
    async def stopped() -> None:
        async with daemon.robot("arm").follow(mode="velocity", timeout_s=5.0) as follow:
            for values in ([0.1], [0.1, float("nan")]):
                with pytest.raises(ValueError, match=r"joints are followed|no target"):
                    follow.send(values)
            follow.send([0.1, None])
            await until(other.robot("arm"), lambda state: state["state"] == "following")
            await other.robot("arm").stop()
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    follow.send([0.1, -0.1])
                    await asyncio.sleep(0.02)

    with pytest.raises(Refused) as caught:
        await stopped()
    assert caught.value.code == "UNKNOWN_GOAL"
    assert caught.value.message == "arm: it follows no more; it ended with CANCELED; stopped on request"


async def an_error_in_its_context_cancels_a_follow_although_another_does_not_answer(
    daemon: Daemon, _: Daemon
) -> None:
    async def failed() -> None:
        async with daemon.robot("arm").follow(timeout_s=10.0) as follow:
            follows.append(follow)
            raise NoAnswer("hand: no answer")

    follows: list[Follow] = []
    with pytest.raises(NoAnswer):
        await failed()
    result = await follows[0].result()
    assert (result.code, result.message) == ("CANCELED", "stopped on request")


async def a_closed_client_answers_nothing_and_closes_twice(daemon: Daemon, _: Daemon) -> None:
    events = daemon.robot("arm").events()
    await daemon.close()
    await daemon.close()
    assert [event async for event in events] == []
    with pytest.raises(Exception, match="closed"):
        await daemon.robot("arm").status()


STEPS: list[Step] = [
    a_motion_is_played_to_its_result,
    a_goal_is_accepted_and_waited_for_later,
    a_stop_by_another_client_ends_the_motion,
    a_refusal_has_code_message_and_data,
    a_cancelled_play_leaves_the_robot_playing,
    robots_states_and_descriptions_are_known,
    a_recording_is_started_stopped_and_listed,
    any_number_of_requests_is_answered,
    a_slow_reader_gets_the_newest_telemetry_or_every_sample,
    a_robot_follows_targets_until_the_context_ends,
    a_follow_that_somebody_stops_takes_no_more_targets,
    an_error_in_its_context_cancels_a_follow_although_another_does_not_answer,
    a_closed_client_answers_nothing_and_closes_twice,
]
