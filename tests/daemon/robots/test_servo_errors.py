"""Behaviour of robots whose servos keep errors, until they are cleared or the servos restarted on request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.daemon.rig import Rig, ask, refused

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow

VERBS = {
    "servo/clear": ("errors of servos cannot be cleared", "cleared", "errors cleared on request: elbow"),
    "servo/reboot": (
        "servos cannot be restarted",
        "restarted",
        "restarted on request: elbow; torque is off there",
    ),
}
EACH = pytest.mark.parametrize("verb", VERBS)


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot["fault_requests"] = True
    return rig


async def overload(rig: Rig, registry: RobotRegistry, joint: str) -> None:
    """Overload a joint, and wait until that is so."""
    since = len(rig.reports)
    await ask(registry, "fault", fault="overload", joint=joint)
    await rig.until("event", lambda data: "begins: overload" in data["message"], since)


async def plays(rig: Rig, registry: RobotRegistry) -> bool:
    goal_id = (await ask(registry, "play", motion="short"))["goal_id"]
    code: str = (await rig.result_of(goal_id))["code"]
    return code == "SUCCESSFUL"


@EACH
async def test_an_error_ends_in_fault_and_the_way_back_is_to_let_it_go_and_reset(rig: Rig, verb: str) -> None:
    _, done, event = VERBS[verb]
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        await overload(rig, registry, "elbow")
        result = await rig.result_of(goal_id)
        assert (result["code"], result["message"]) == (
            "HARDWARE_FAULT",
            (
                "elbow: reports overload; it has switched its torque off; remove the cause, "
                "then `motiond clear ROBOT SERVO`"
            ),
        )
        since = len(rig.reports)
        go_on = f"elbow: {done} on request; reset the robot to go on"
        assert await ask(registry, verb, servos=["elbow"]) == {
            "actuators": ["elbow"],
            "state": "fault",
            "message": go_on,
        }
        assert (await rig.until_state("fault", since))["message"] == go_on
        reported = await rig.until("event", lambda data: "on request" in data["message"], since)
        assert reported["message"] == event
        assert await ask(registry, "reset") == {"state": "idle"}
        assert await plays(rig, registry)


@EACH
async def test_a_robot_at_rest_without_torque_holds_again_once_the_error_is_gone(rig: Rig, verb: str) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await overload(rig, registry, "elbow")
        for _ in range(2):
            answer = await ask(registry, verb, servos=["elbow"])
            assert answer == {"actuators": ["elbow"], "state": "idle", "message": ""}
        assert (await ask(registry, "enable"))["torque"]
        assert await plays(rig, registry)


async def test_an_error_that_is_kept_ends_in_fault_when_torque_is_switched_on(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await overload(rig, registry, "elbow")
        assert await refused(registry, "enable") == (
            "FAULT",
            (
                "arm: torque cannot be switched on; elbow: reports overload; it has switched its torque off; "
                "remove the cause, then `motiond clear ROBOT SERVO`; reset it when it is fixed"
            ),
        )
        assert (await ask(registry, "servo/clear", servos=["elbow"]))["state"] == "fault"


@EACH
async def test_the_servos_that_hold_meanwhile_are_left_alone(rig: Rig, verb: str) -> None:
    problem, _, _ = VERBS[verb]
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        holds = f"arm: {problem}; the robot is idle with torque on; disable it first, as it may drop"
        assert await refused(registry, verb, servos=["elbow"]) == ("NOT_ALLOWED", holds)
        await overload(rig, registry, "elbow")
        await rig.until_state("fault")
        assert await refused(registry, verb, servos=["elbow", "shoulder"]) == (
            "FAULT",
            (
                f"arm: {problem}; shoulder: its torque is on; it would drop; "
                "support it, reset and disable the robot, then try again"
            ),
        )
        assert (await ask(registry, verb, servos=["elbow"]))["state"] == "fault"


@EACH
async def test_servos_are_left_alone_while_the_robot_moves_or_is_taught(rig: Rig, verb: str) -> None:
    problem, _, _ = VERBS[verb]
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        busy = "arm: busy with long; one motion plays at a time; stop it first"
        assert await refused(registry, verb, servos=["elbow"]) == ("BUSY", busy)
        await ask(registry, "stop")
        await rig.result_of(goal_id)
        await rig.until_state("idle")
        await ask(registry, "teach/start")
        code, message = await refused(registry, verb, servos=["elbow"])
        assert (code, message.split(";")[0]) == ("BUSY", f"arm: {problem}")


@EACH
async def test_a_second_request_is_refused_while_one_is_under_way(rig: Rig, verb: str) -> None:
    problem, _, _ = VERBS[verb]
    async with rig.running() as registry:
        await rig.until_state("idle")
        await overload(rig, registry, "elbow")
        first = asyncio.create_task(ask(registry, verb, servos=["elbow"]))
        await asyncio.sleep(0)
        underway = f"arm: {problem}; another such request is under way; wait for its answer"
        assert await refused(registry, verb, servos=["shoulder"]) == ("BUSY", underway)
        assert (await first)["actuators"] == ["elbow"]


@EACH
async def test_an_unknown_servo_is_named_with_the_nearest(rig: Rig, verb: str) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert await refused(registry, verb, servos=["elbow", "sholder"]) == (
            "INVALID_REQUEST",
            "arm: no joint 'sholder'; it has shoulder, elbow; did you mean 'shoulder'?",
        )


async def test_without_its_bus_nothing_is_cleared_and_later_nothing_is_cleared_by_itself(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        since = len(rig.reports)
        await ask(registry, "fault", fault="bus_lost", for_s=1.0)
        await rig.until_state("offline", since)
        answer: dict[str, Any] = await ask(registry, "servo/clear", servos=["elbow"])
        assert answer["state"] == "offline"
        assert (
            answer["message"] == "driver sim: the bus is lost; as a simulated fault; wait, or clear the fault"
        )


async def test_a_robot_that_loses_an_answer_in_a_hundred_plays_on_counts_them_and_says_so_once(
    rig: Rig,
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "fault", fault="packet_loss", joint="elbow", probability=0.01)
        for _ in range(2):
            assert await plays(rig, registry)
        told = await rig.until("event", lambda data: data["kind"] == "servo_errors")
        first = await rig.until("diagnostics", lambda data: data["errors"]["missed"][1] > 0)
        await rig.until(
            "diagnostics", lambda data: data["errors"]["missed"][1] > first["errors"]["missed"][1]
        )
    assert told["message"].startswith("servo errors: elbow (")
    assert first["errors"]["missed"][0] == 0
    assert len([one for one in rig.reports_on("event") if one["kind"] == "servo_errors"]) == 1


async def test_counts_outlast_the_stream_process_that_a_reset_replaces(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await overload(rig, registry, "elbow")
        await rig.until_state("fault")
        await ask(registry, "servo/clear", servos=["elbow"])
        since = len(rig.reports)
        await ask(registry, "reset")
        after = await rig.until("diagnostics", lambda _: True, since)
    assert after["errors"]["reported"] == [0, 1]
