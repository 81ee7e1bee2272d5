"""Behaviour of the whole daemon on serial servos: emulated ones, on ports in memory."""

from __future__ import annotations

import asyncio
import math
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.stream.locks import DeviceLocks
from motiond.drivers import registry as drivers
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.testing.rig import Clock
from tests.daemon.rig import JOINTS, Rig, ask, refused, sweep, write_seq
from tests.daemon.shafts import take_lessons, teach_by_twenty_hands, turn
from tests.drivers.dynamixel.memory_driver import MemoryDynamixel
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

MODEL = models_by_name()["XM430-W350"]
RATE_HZ = 50


class Cable:
    """A port that can be unplugged, and plugged in again under the same name, then for another device."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.chain = EmulatedChain([EmulatedServo(1, MODEL), EmulatedServo(2, MODEL)], time.monotonic)
        self.port = MemoryPort(self.chain, Clock(), str(path))
        self._plugged_in = 0
        self.plug_in()

    def plug_in(self) -> None:
        self._plugged_in += 1
        node = self.path.with_name(f"ttyMEM{self._plugged_in}")
        node.touch()
        self.path.symlink_to(node)
        self.port.plug_in()

    def unplug(self) -> None:
        self.path.unlink()
        self.port.close()


@pytest.fixture
def cable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cable:
    cable = Cable(tmp_path / "ttyUSB0")
    in_memory = f"{MemoryDynamixel.__module__}:{MemoryDynamixel.__name__}"
    monkeypatch.setitem(drivers.OWN, "dynamixel", in_memory)
    monkeypatch.setitem(MemoryDynamixel.ports, str(cable.path), cable.port)
    return cable


@pytest.fixture
def rig(tmp_path: Path, cable: Cable) -> Rig:
    rig = Rig(tmp_path)
    port = {"port": str(cable.path), "baud_rate": 1_000_000, "ids": {JOINTS[0]: 1, JOINTS[1]: 2}}
    rig.robot |= {"driver": {"type": "dynamixel", "ports": [port]}}
    for motion in (rig.folder / "motions").iterdir():
        motion.unlink()
    write_seq(rig.folder / "motions" / "nod.seq", sweep(1.0, RATE_HZ), JOINTS, RATE_HZ)
    write_seq(rig.folder / "motions" / "sway.seq", sweep(20.0, RATE_HZ, swings=5), JOINTS, RATE_HZ)
    return rig


async def test_an_unplugged_cable_ends_the_motion_and_plugged_in_again_the_robot_holds_as_it_was_left(
    rig: Rig, cable: Cable
) -> None:
    servos = cable.chain.servos
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = (await ask(registry, "play", motion="sway"))["goal_id"]
        await rig.until_state("playing")
        since = len(rig.reports)
        before = cable.path.resolve()
        cable.unplug()
        result = await rig.result_of(goal_id)
        await rig.until_state("offline", since)
        cable.plug_in()
        back = await rig.until("event", lambda data: data["kind"] == "back")
        assert back["message"] == (
            "the actuators are back; torque is on in 2 of 2 actuators (shoulder, elbow), as it was left; "
            "enable the robot to hold it, or disable it to release it"
        )
        idle = await rig.until("state", lambda data: data["state"] == "idle" and data["torque"], since)
        assert idle["loose"] == []
        places = [one.position_ticks for one in servos]
        await asyncio.sleep(1.0)
        assert [one.torque for one in servos] == [True, True]
        assert [one.position_ticks for one in servos] == pytest.approx(places, abs=0.1)
        assert cable.path.resolve() != before
        device = f"serial:{cable.path.resolve()}"
        holder = DeviceLocks([device]).take()
        assert str(holder).startswith(f"{device}: held by process {os.getpid()}; ")
        assert holder is not None
        holder.close()
        goal_id = (await ask(registry, "play", motion="nod"))["goal_id"]
        again = await rig.result_of(goal_id)
    assert again["code"] == "SUCCESSFUL", again["message"]
    assert result["code"] == "COMM_LOST"
    assert str(cable.path) in result["message"]


OVERLOAD = 0x20
SHUT_DOWN = "reports overload; it has switched its torque off and ignores goals; remove the cause, then"


async def test_a_servo_that_has_shut_down_is_restarted_while_the_daemon_runs(rig: Rig, cable: Cable) -> None:
    servo = cable.chain.servos[1]
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        servo.fail(OVERLOAD)
        await rig.until_state("fault")
        reason = f"{cable.path} servo 2 (elbow): {SHUT_DOWN} `motiond reboot ROBOT elbow`"
        for state in ("fault", "offline"):
            with pytest.raises(RequestError) as caught:
                await ask(registry, "reset")
            assert caught.value.code == "OFFLINE", state
            assert reason in str(caught.value)
        answer = await ask(registry, "servo/reboot", servos=["elbow"])
        assert answer == {"actuators": ["elbow"], "state": "idle", "message": ""}
        event = await rig.until("event", lambda data: data["message"].startswith("restarted"))
        assert event["message"] == "restarted on request: elbow; torque is off there"
        await rig.until_state("idle", rig.place_of(event))
        assert servo.get("hardware_error") == 0
        goal_id = (await ask(registry, "play", motion="nod"))["goal_id"]
        assert (await rig.result_of(goal_id))["code"] == "SUCCESSFUL"


@pytest.mark.parametrize("register", ["torque_enable", "bus_watchdog"])
async def test_a_servo_that_has_restarted_holds_after_what_the_message_of_its_fault_advises(
    rig: Rig, cable: Cable, register: str
) -> None:
    servo = cable.chain.servos[1]
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        servo.set(register, 0)
        state = await rig.until_state("fault")
        assert state["message"].endswith("check its power, then reset and enable the robot")
        assert (await refused(registry, "enable"))[0] == "FAULT"
        await ask(registry, "reset")
        assert await ask(registry, "enable") == {"state": "idle", "torque": True}
        assert servo.torque


async def test_a_restart_in_fault_is_answered_with_the_servos_that_have_still_shut_down(
    rig: Rig, cable: Cable
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        for servo in cable.chain.servos:
            servo.fail(OVERLOAD)
        await rig.until_state("fault")
        answer = await ask(registry, "servo/reboot", servos=["elbow"])
        still = f"{cable.path} servo 1 (shoulder): {SHUT_DOWN} `motiond reboot ROBOT shoulder`"
        assert (answer["state"], answer["message"].split(", or, where")[0]) == ("fault", still)
        answer = await ask(registry, "servo/reboot", servos=["shoulder"])
        go_on = "shoulder: restarted on request; reset the robot to go on"
        assert answer == {"actuators": ["shoulder"], "state": "fault", "message": go_on}
        assert (await ask(registry, "reset"))["state"] == "idle"
        goal_id = (await ask(registry, "play", motion="nod"))["goal_id"]
        assert (await rig.result_of(goal_id))["code"] == "SUCCESSFUL"


async def test_errors_that_go_by_a_restart_alone_are_not_cleared(rig: Rig, cable: Cable) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        cable.chain.servos[1].fail(OVERLOAD)
        await rig.until_state("fault")
        assert await refused(registry, "servo/clear", servos=["elbow"]) == (
            "NOT_ALLOWED",
            (
                "arm: driver dynamixel: cannot clear errors of elbow; "
                "its actuators take no such command; "
                "restart them: `motiond reboot ROBOT elbow`"
            ),
        )
        assert cable.chain.servos[1].get("hardware_error") == OVERLOAD


async def test_a_servo_that_holds_is_not_restarted(rig: Rig, cable: Cable) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        caught = await refused(registry, "servo/reboot", servos=["elbow"])
        cannot = "arm: servos cannot be restarted"
        assert caught == (
            "NOT_ALLOWED",
            f"{cannot}; the robot is idle with torque on; disable it first, as it may drop",
        )
        cable.chain.servos[1].fail(OVERLOAD)
        await rig.until_state("fault")
        assert await refused(registry, "servo/reboot", servos=["elbow", "shoulder"]) == (
            "FAULT",
            (
                f"{cannot}; {cable.path} servo 1 (shoulder): its torque is on; a restart would let it drop; "
                "support it, reset and disable the robot, then restart it"
            ),
        )
        assert cable.chain.servos[1].get("hardware_error") == OVERLOAD, "none is restarted"


async def test_servos_of_a_cable_that_is_unplugged_cannot_be_restarted(rig: Rig, cable: Cable) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        since = len(rig.reports)
        cable.unplug()
        await rig.until_state("offline", since)
        with pytest.raises(RequestError) as caught:
            await ask(registry, "servo/reboot", servos=["elbow"])
        cannot = f"arm: servos cannot be restarted; {cable.path}: cannot be opened; there is no such port; "
        assert caught.value.code == "FAULT"
        assert str(caught.value).startswith(cannot)
        cable.plug_in()
        since = len(rig.reports)
        with suppress(RequestError):
            await ask(registry, "reset")
        await rig.until_state("idle", since)


async def test_servos_are_taught_by_hand_and_play_what_they_were_taught(rig: Rig, cable: Cable) -> None:
    rig.robot["motions"] = [{"folder": "motions", "upload": True}]
    rig.robot["joints"]["elbow"] |= {"reduction": -2.0, "offset": 0.25}
    shoulder, elbow = cable.chain.servos
    async with rig.running() as registry:
        await rig.until_state("idle")
        begin = shoulder.position_ticks
        await ask(registry, "teach/start")
        await turn(shoulder, 0.6)
        pose = await ask(registry, "teach/pose")
        await asyncio.gather(turn(shoulder, -0.3), turn(elbow, 0.5))
        stopped = await ask(registry, "teach/stop")
        assert (stopped["problems"], stopped["holds"]) == ([], True)
        assert stopped["ended_because"] == "ended on request; the robot holds"
        saved = await ask(registry, "teach/save", name="wave")
        assert max(saved["deviation"].values()) <= 0.005
        ways = {peak["joint"]: peak["highest"] - peak["lowest"] for peak in saved["peaks"]}
        assert ways == pytest.approx({"shoulder": 0.6, "elbow": 0.25}, abs=0.01)
        assert pose["joints"]["shoulder"] == pytest.approx(0.6, abs=0.01)
        shoulder.hand_ticks_s = elbow.hand_ticks_s = None
        goal_id = (await ask(registry, "play", motion="wave"))["goal_id"]
        played = await rig.result_of(goal_id)
    assert played["code"] == "SUCCESSFUL", played["message"]
    assert (shoulder.position_ticks - begin) * MODEL.rad_per_tick == pytest.approx(0.3, abs=0.02)


async def test_what_twenty_hands_have_taught_is_played_within_bound_and_limits(
    rig: Rig, cable: Cable
) -> None:
    take_lessons(rig)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await teach_by_twenty_hands(rig, registry, cable.chain.servos)


URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.15 0 0"/><mass value="0.4"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"
      ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <link name="lower">
    <inertial><origin xyz="0.1 0 0"/><mass value="0.2"/><inertia ixx="1e-3" iyy="1e-3" izz="1e-3"
      ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="4"/>
  </joint>
  <joint name="elbow" type="revolute">
    <parent link="upper"/><child link="lower"/><origin xyz="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" velocity="3" effort="4"/>
  </joint>
</robot>
"""
CURRENT_MODE, POSITION_MODE = 0, 3
TORQUE_NM_PER_A = 1.8


def modes(cable: Cable) -> list[tuple[int, int]]:
    return [(one.get("operating_mode"), one.get("torque_enable")) for one in cable.chain.servos]


async def move_by_hand(cable: Cable, way: float, over_s: float) -> None:
    """Turn both servos by so many rad, and there and back in the end."""
    begun_s = time.monotonic()
    while (passed_s := time.monotonic() - begun_s) < over_s:
        speed = way * math.pi / over_s * math.sin(2.0 * math.pi * passed_s / over_s)
        for one in cable.chain.servos:
            one.hand_ticks_s = speed / MODEL.rad_per_tick
        await asyncio.sleep(0.01)
    for one in cable.chain.servos:
        one.hand_ticks_s = 0.0


async def test_servos_that_carry_a_model_s_masses_are_taught_a_motion_and_play_it(
    rig: Rig, cable: Cable
) -> None:
    (rig.folder / "arm.urdf").write_text(URDF)
    (rig.folder / "taught").mkdir()
    options = {"gravity": {"from_model": True}, "torque_constant_nm_per_a": TORQUE_NM_PER_A}
    rig.robot["driver"] |= options
    rig.robot |= {"model": "arm.urdf", "motions": ["motions", {"folder": "taught", "upload": True}]}
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert await ask(registry, "teach/start", mode="gravity") == {"state": "teaching", "mode": "gravity"}
        assert modes(cable) == [(CURRENT_MODE, 1)] * 2
        assert MODEL.current_unit_a is not None
        carried_nm = [
            one.get("goal_current") * MODEL.current_unit_a * TORQUE_NM_PER_A for one in cable.chain.servos
        ]
        # Masses times arms, of both links for the shoulder; a joint about y lifts against its direction.
        expected = [-9.80665 * (0.4 * 0.15 + 0.2 * 0.4), -9.80665 * 0.2 * 0.1]
        assert carried_nm == pytest.approx(expected, abs=MODEL.current_unit_a * TORQUE_NM_PER_A)
        await move_by_hand(cable, 0.6, 2.0)
        taught = await ask(registry, "teach/stop")
        assert taught["ended_because"] == "ended on request; the robot holds"
        assert taught["holds"]
        assert modes(cable) == [(POSITION_MODE, 1)] * 2
        saved = await ask(registry, "teach/save", name="hand")
        assert saved["saved"], saved
        assert max(saved["deviation"].values()) <= 0.005
        goal_id = (await ask(registry, "play", motion="hand"))["goal_id"]
        result = await rig.result_of(goal_id)
        assert result["code"] == "SUCCESSFUL", result["message"]
