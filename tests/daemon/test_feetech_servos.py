"""Behaviour of the whole daemon on Feetech servos: emulated ones, on a port in memory."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from motiond.drivers import registry as drivers
from motiond.drivers.feetech.emulator.chain import EmulatedChain
from motiond.drivers.feetech.errors import ANGLE_SENSOR, CURRENT, OVERLOAD
from motiond.drivers.testing.rig import Clock
from tests.daemon.rig import JOINTS, Rig, ask, refused, sweep, write_seq
from tests.daemon.shafts import take_lessons, teach_by_twenty_hands
from tests.drivers.feetech.bench import servo
from tests.drivers.feetech.memory_driver import MemoryFeetech
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.drivers.feetech.emulator.servo import EmulatedServo

pytestmark = pytest.mark.slow

RATE_HZ = 50


@pytest.fixture
def chain() -> EmulatedChain:
    return EmulatedChain([servo(1), servo(2)], time.monotonic)


@pytest.fixture
def rig(tmp_path: Path, chain: EmulatedChain, monkeypatch: pytest.MonkeyPatch) -> Rig:
    path = str(tmp_path / "ttyACM0")
    monkeypatch.setitem(drivers.OWN, "feetech", f"{MemoryFeetech.__module__}:{MemoryFeetech.__name__}")
    monkeypatch.setitem(MemoryFeetech.ports, path, MemoryPort(chain, Clock(), path))
    rig = Rig(tmp_path)
    port = {"port": path, "ids": {JOINTS[0]: 1, JOINTS[1]: 2}}
    rig.robot |= {"driver": {"type": "feetech", "ports": [port]}}
    for motion in (rig.folder / "motions").iterdir():
        motion.unlink()
    write_seq(rig.folder / "motions" / "nod.seq", sweep(1.0, RATE_HZ), JOINTS, RATE_HZ)
    return rig


async def plays(rig: Rig, registry: RobotRegistry) -> bool:
    goal_id = (await ask(registry, "play", motion="nod"))["goal_id"]
    code: str = (await rig.result_of(goal_id))["code"]
    return code == "SUCCESSFUL"


async def test_an_overloaded_servo_is_cleared_while_it_and_the_others_hold(
    rig: Rig, chain: EmulatedChain
) -> None:
    shoulder, elbow = chain.servos
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert await plays(rig, registry)
        elbow.fail(OVERLOAD)
        fault = await rig.until_state("fault")
        assert fault["message"] == (
            f"{rig.folder / 'ttyACM0'} servo 2 (elbow): reports overload; it bore too much for too long; "
            "it keeps little of its torque and follows no goal; "
            "take the load away, then `motiond clear ROBOT elbow`"
        )
        before = shoulder.position_ticks, elbow.position_ticks
        answer = await ask(registry, "servo/clear", servos=["elbow"])
        go_on = "elbow: cleared on request; reset the robot to go on"
        assert answer == {"actuators": ["elbow"], "state": "fault", "message": go_on}
        assert (shoulder.torque, elbow.torque, elbow.error_byte) == (True, True, 0)
        assert await ask(registry, "reset") == {"state": "idle"}
        assert (shoulder.position_ticks, elbow.position_ticks) == pytest.approx(before, abs=2)
        assert await plays(rig, registry)


async def test_a_servo_that_has_let_go_is_not_said_to_be_moved_from_where_it_is_held(
    rig: Rig, chain: EmulatedChain
) -> None:
    shoulder, elbow = chain.servos
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        elbow.fail(CURRENT)
        await rig.until("state", lambda data: data["state"] == "fault" and data["loose"] == ["elbow"])
        await rig.has_held()
        elbow.turn_to(1500)
        await asyncio.sleep(2.0)
        assert [one for one in rig.reports_on("event") if one["kind"] == "check_failed"] == []
        shoulder.fail(OVERLOAD)  # it does not go back by itself
        shoulder.turn_to(1500)
        told = await rig.until("event", lambda data: data["kind"] == "check_failed")
        assert told["message"].startswith("joint 'shoulder' is 0.8406 rad off where it is held, for ")


async def test_what_clearing_one_servo_leaves_wrong_is_named_and_ends_by_a_restart(
    rig: Rig, chain: EmulatedChain
) -> None:
    shoulder, elbow = chain.servos
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        shoulder.fail(CURRENT)
        elbow.fail(OVERLOAD)
        await rig.until_state("fault")
        answer = await ask(registry, "servo/clear", servos=["elbow"])
        still = "servo 1 (shoulder): reports overcurrent; it has switched its torque off and ignores goals; "
        assert answer["state"] == "fault"
        assert still in answer["message"]
        answer = await ask(registry, "servo/reboot", servos=["shoulder"])
        assert answer["message"] == "shoulder: restarted on request; reset the robot to go on"
        assert await ask(registry, "reset") == {"state": "idle"}
        assert await plays(rig, registry)


async def test_a_servo_that_has_restarted_holds_after_what_the_message_of_its_fault_advises(
    rig: Rig, chain: EmulatedChain
) -> None:
    elbow = chain.servos[1]
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        elbow.set("torque_enable", 0)
        state = await rig.until_state("fault")
        assert state["message"].endswith("check its power, then reset and enable the robot")
        assert (await refused(registry, "enable"))[0] == "FAULT"
        await ask(registry, "reset")
        assert await ask(registry, "enable") == {"state": "idle", "torque": True}
        assert elbow.torque


async def test_a_request_for_torque_that_a_servo_refuses_is_refused_with_its_reason(
    rig: Rig, chain: EmulatedChain
) -> None:
    elbow = chain.servos[1]
    elbow.set("max_position_limit", 3000)
    elbow.turn_to(3500)
    async with rig.running() as registry:
        await rig.until_state("idle")
        reason = (
            f"{rig.folder / 'ttyACM0'} servo 2 (elbow): is at 2.227 rad, beyond its own limits, "
            "-3.142 and 1.460 rad; it takes no goal there, and torque would move it to the limit at once; "
            "turn it back by hand, or widen the limits with Feetech's FD"
        )
        assert await refused(registry, "enable") == (
            "FAULT",
            f"arm: torque cannot be switched on; {reason}; reset it when it is fixed",
        )
        elbow.turn_to(2048)
        assert await ask(registry, "reset") == {"state": "idle"}
        assert await ask(registry, "enable") == {"state": "idle", "torque": True}


async def test_an_error_that_keeps_the_driver_from_opening_is_cleared_before_it_opens(
    rig: Rig, chain: EmulatedChain
) -> None:
    chain.servos[1].fail(OVERLOAD)
    async with rig.running() as registry:
        offline = await rig.until("state", lambda data: "reports overload" in data["message"])
        assert offline["state"] == "offline"
        answer = await ask(registry, "servo/clear", servos=["elbow"])
        assert answer == {"actuators": ["elbow"], "state": "idle", "message": ""}
        assert await plays(rig, registry)


async def test_a_bus_that_loses_an_answer_in_a_hundred_plays_on_and_says_so_once(
    rig: Rig, chain: EmulatedChain
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        answers = range(1, 3000)
        chain.faults.extend([(lambda _: b"") if one % 100 == 0 else (lambda data: data) for one in answers])
        for _ in range(3):
            assert await plays(rig, registry)
        told = await rig.until("event", lambda data: data["kind"] == "servo_errors")
        counted = await rig.until("diagnostics", lambda data: sum(data["errors"]["missed"]) > 3)
    assert told["message"].startswith("servo errors: ")
    assert sum(counted["errors"]["damaged"] + counted["errors"]["reported"]) == 0
    assert len([one for one in rig.reports_on("event") if one["kind"] == "servo_errors"]) == 1


async def test_a_servo_that_restarts_by_itself_is_named_and_the_others_hold_until_they_are_released(
    rig: Rig, chain: EmulatedChain
) -> None:
    shoulder, elbow = chain.servos
    elbow.torque_on_by_goal = True
    async with rig.running() as registry:
        await restarted(rig, registry, elbow, 1)
        before = shoulder.position_ticks
        await asyncio.sleep(1.0)
        assert (shoulder.torque, elbow.torque, shoulder.position_ticks) == (True, False, before)
        assert await ask(registry, "disable") == {"state": "idle", "torque": False}
        assert (shoulder.torque, elbow.torque) == (False, False)
        await restarted(rig, registry, elbow, 2)
        assert await plays(rig, registry)


@pytest.mark.parametrize("on_exit", ["hold", "release", "park"])
async def test_what_holds_as_it_was_left_is_left_so_by_a_robot_that_rests_or_ends(
    rig: Rig, chain: EmulatedChain, on_exit: str
) -> None:
    shoulder, elbow = chain.servos
    rig.robot |= {"on_exit": on_exit, "rest_after_s": 1.0, "rest": "release"}
    rig.robot["poses"] = {"park": dict.fromkeys(JOINTS, 0.1)}
    async with rig.running() as registry:
        await restarted(rig, registry, elbow, 1)
        await asyncio.sleep(3.0)
        assert (shoulder.torque, elbow.torque) == (True, False)
        before = shoulder.position_ticks
    assert (shoulder.torque, elbow.torque, shoulder.position_ticks) == (True, False, before)


async def restarted(rig: Rig, registry: RobotRegistry, elbow: EmulatedServo, times: int) -> None:
    """Let the elbow restart while both hold, and wait until the robot is back without it."""
    await rig.until_state("idle")
    await ask(registry, "enable")
    since = len(rig.reports)
    elbow.restart()
    lost = await rig.until("event", lambda data: data["kind"] == "stream_lost", since)
    back = await rig.until("event", lambda data: data["kind"] == "back", since)
    idle = await rig.until("state", lambda data: data["loose"] == ["elbow"], since)
    await rig.until("diagnostics", lambda data: data["errors"]["restarts"][1] == times, since)
    assert "servo 2 (elbow)" in lost["message"]
    assert (idle["state"], idle["torque"]) == ("idle", True)
    assert back["message"] == (
        "the actuators are back; torque is on in 1 of 2 actuators (shoulder), as it was left, "
        "and off in elbow; enable the robot to hold it, or disable it to release it"
    )


@pytest.mark.parametrize("state", ["fault", "offline"])
async def test_a_servo_that_does_not_know_where_it_is_is_restarted_while_the_others_hold(
    rig: Rig, chain: EmulatedChain, state: str
) -> None:
    shoulder, elbow = chain.servos
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        elbow.fail(ANGLE_SENSOR)
        fault = await rig.until_state("fault")
        assert fault["message"].endswith(
            "it does not know where it is; support the robot, as the joint goes limp, "
            "then `motiond reboot ROBOT elbow`; if that does not help, replace the servo"
        )
        assert fault["failed"] == ["elbow"]
        if state == "offline":
            assert (await refused(registry, "reset"))[0] == "OFFLINE"
            since = rig.place_of(fault)
            gone = await rig.until("state", lambda data: data["state"] == "offline" and data["failed"], since)
            assert gone["failed"] == ["elbow"]
        assert elbow.torque
        answer = await ask(registry, "servo/reboot", servos=["elbow"])
        if state == "fault":
            assert answer["message"] == "elbow: restarted on request; reset the robot to go on"
            assert await ask(registry, "reset") == {"state": "idle"}
        back = await rig.until("state", lambda data: data["loose"] == ["elbow"], rig.place_of(fault))
        assert back["failed"] == []
        assert (shoulder.torque, elbow.torque, elbow.error_byte) == (True, False, 0)
        assert await plays(rig, registry)


async def test_an_emergency_stop_stays_latched_over_a_loss_and_its_reset_drops_nothing(
    rig: Rig, chain: EmulatedChain
) -> None:
    shoulder, elbow = chain.servos
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await ask(registry, "estop")
        since = len(rig.reports)
        elbow.restart()
        await rig.until("event", lambda data: data["kind"] == "back", since)
        halted = await rig.until("state", lambda data: data["state"] == "estopped", since)
        assert halted["estop_latched"]
        reason = "the emergency stop is latched; reset it when it is safe"
        assert await refused(registry, "disable") == (
            "ESTOPPED",
            f"arm: torque cannot be switched off; {reason}",
        )
        assert await ask(registry, "reset") == {"state": "idle"}
        await asyncio.sleep(1.0)
        assert (shoulder.torque, elbow.torque) == (True, False)
        assert await ask(registry, "disable") == {"state": "idle", "torque": False}
        assert (shoulder.torque, elbow.torque) == (False, False)


async def test_what_twenty_hands_have_taught_is_played_within_bound_and_limits(
    rig: Rig, chain: EmulatedChain
) -> None:
    take_lessons(rig)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await teach_by_twenty_hands(rig, registry, chain.servos)
