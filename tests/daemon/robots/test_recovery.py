"""Behaviour of stops and resets that meet a stream process or a driver that does not do as it is asked."""

from __future__ import annotations

import asyncio
import errno
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.daemon.rig import Rig, ask, refused
from tests.daemon.virtual_forks import VirtualForks

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow

MAY_COME = "is still awaited; it may come yet; its state shows it"
AWAITED = {
    "stop": "an answer of its stream process is still awaited; use the robot's own switch",
    "estop": f"the halt {MAY_COME}",
    "reset": f"the end of the emergency stop {MAY_COME}",
}


def stream_pid(registry: RobotRegistry) -> int:
    pid = registry.members["arm"].robot.stream.pid
    assert pid is not None
    return pid


# -- stops --------------------------------------------------------------------------------------------------


async def test_a_stop_of_a_stream_process_that_hangs_is_not_said_to_be_obeyed(rig: Rig) -> None:
    rig.robot["stream_timeout_s"] = 600.0
    async with rig.running() as registry:
        await rig.swings(registry)
        pid = stream_pid(registry)
        rig.send_signal(pid, signal.SIGSTOP)
        try:
            for verb, awaited in AWAITED.items():
                assert await refused(registry, verb) == (
                    "TIMEOUT",
                    f"arm: not done in 4.5 s; the robot is playing with torque on, and {awaited}",
                )
        finally:
            rig.send_signal(pid, signal.SIGCONT)
        await rig.until("result", lambda data: data["code"] == "ESTOP")
        await rig.until_state("idle")


async def test_a_stop_tells_that_a_stream_process_that_hung_was_killed(rig: Rig) -> None:
    rig.robot["stream_timeout_s"] = 0.5
    async with rig.running() as registry:
        goal_id = await rig.swings(registry)
        rig.send_signal(stream_pid(registry), signal.SIGSTOP)
        answer = await ask(registry, "stop")
        result = await rig.result_of(goal_id)
    assert (answer["state"], answer["reached"], answer["goal_id"]) == ("offline", False, goal_id)
    assert answer["message"] == result["message"]
    assert "did not tick for" in answer["message"]
    assert result["code"] == "COMM_LOST"


async def test_a_fork_that_the_system_refuses_is_reported_and_tried_again(rig: Rig) -> None:
    with VirtualForks() as forks:
        forks.refusals = [errno.EAGAIN, errno.EAGAIN]
        async with rig.running(forks):
            lost = await rig.until("event", lambda data: data["kind"] == "stream_lost")
            await rig.until_state("idle")
    hint = "check how many descriptors, processes and how much memory the daemon may have"
    why = "the stream process cannot be started; Resource temporarily unavailable; tried again"
    assert lost["message"] == f"{why}; {hint}"


# -- resets -------------------------------------------------------------------------------------------------


async def test_a_reset_of_a_robot_whose_driver_does_not_open_tells_why_at_once(rig: Rig) -> None:
    rig.driver["trace"] = "missing/trace.npy"
    async with rig.running() as registry:
        lost = await rig.until("event", lambda data: data["kind"] == "stream_lost")
        for _ in range(3):
            began_s = time.monotonic()
            caught = await refused(registry, "reset")
            assert time.monotonic() - began_s < 5.0  # after which a client gives up
            assert caught == (
                "OFFLINE",
                f"arm: offline after the reset; {lost['message']}; it is tried again by itself",
            )
        (rig.folder / "missing").mkdir()
        assert await ask(registry, "reset") == {"state": "idle"}
        await rig.until("event", lambda data: data["kind"] == "back")


@pytest.mark.parametrize("fault", ["m_stop", "power_cycle", "torque_drop", "reset", "watchdog_trip"])
async def test_actuators_that_a_fault_has_switched_off_hold_after_what_its_message_advises(
    rig: Rig, fault: str
) -> None:
    rig.robot["fault_requests"] = True
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await ask(registry, "fault", fault=fault, joint="elbow")
        state = await rig.until_state("fault")
        assert state["message"].endswith("reset and enable the robot")
        assert (await refused(registry, "enable"))[0] == "FAULT"
        await ask(registry, "reset")
        assert await ask(registry, "enable") == {"state": "idle", "torque": True}


async def test_a_reset_that_meets_the_fault_again_says_so(rig: Rig) -> None:
    rig.robot["fault_requests"] = True
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await ask(registry, "estop")
        await ask(registry, "fault", fault="m_stop", joint="elbow")
        code, message = await refused(registry, "reset")
    assert code == "FAULT"
    assert message.startswith("arm: in fault after the reset; ")


async def test_an_emergency_stop_in_fault_is_latched_in_what_is_reported_too(rig: Rig) -> None:
    rig.robot["fault_requests"] = True
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await ask(registry, "fault", fault="m_stop", joint="elbow")
        await rig.until_state("fault")
        answer = await ask(registry, "estop")
        (*_, state) = [one.data for one in rig.reports if one.subject == "state"]
        assert (
            [answer["state"], answer["latched"]]
            == [state["state"], state["estop_latched"]]
            == ["fault", True]
        )


async def test_a_reset_that_an_emergency_stop_follows_at_once_says_that_it_is_halted_again(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await ask(registry, "estop")
        resetting = asyncio.create_task(refused(registry, "reset"))
        await asyncio.sleep(0)
        assert (await ask(registry, "estop"))["latched"]
        refusal = await resetting
        status = await ask(registry, "status")
    reason = "an emergency stop came after the reset; reset it when it is safe"
    assert refusal == ("ESTOPPED", f"arm: halted again; {reason}")
    assert (status["state"], status["estop_latched"]) == ("estopped", True)
