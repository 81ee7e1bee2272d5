"""What actuators report of their limits when they are opened, and what a robot then refuses to play."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.drivers.limits import ActuatorLimits
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import Rig, ask, refused
from tests.daemon.robots.stage import Stage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from motiond.daemon.api import Subscription

HELD = [0.1, 0.1]
OFF = messages.Changed("idle", torque=False, goal_id=None, reference=None)
ON = messages.Changed("idle", torque=True, goal_id=None, reference=HELD)
OWN = "servo 2's own max_position_limit"
WIDE = ActuatorLimits.none(2)
NARROW = WIDE.narrowed("upper", [float("inf"), 0.3], OWN)
CHECKED = "against the limits that the actuators have reported; wait until the motions are published"
CHANGED = "the robot's limits have changed since it was planned; its actuators reported others; play it again"
TOO_FAR = (
    "joint 'elbow' reaches 0.5 rad at 0.250 s (frame 50, the worst of 49); its upper limit is 0.3 rad "
    f"({OWN}); lower the motion or change that limit"
)


class Limited(Stage):
    """A robot whose motions are checked again only once `may_check` is set.

    Torque comes on as soon as it is asked for, unless `enables` says otherwise.
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        rig = Rig(folder)
        rig.robot["groups"] = ["duo"]
        super().__init__(rig, monkeypatch)
        self.may_check, self.enables = asyncio.Event(), True
        self.subscription: Subscription
        self._check = self.robot.motions.check_again
        monkeypatch.setattr(self.robot.motions, "check_again", self._check_when_it_may)

    def send(self, command: messages.Command, fds: tuple[int, ...] = ()) -> int:
        number = super().send(command, fds)
        if self.enables and isinstance(command, messages.Enable):
            asyncio.get_running_loop().call_soon(self.notify, ON)
        return number

    async def _check_when_it_may(self) -> None:
        await self.may_check.wait()
        await self._check()

    def open(self, allowed: ActuatorLimits) -> None:
        """Let the driver be open, with actuators that allow so much."""
        self.notify(messages.Ready(1000.0, [], allowed.as_lists()), OFF)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        checking = asyncio.create_task(self.robot.limits.watch())
        with self.hub.subscribe(frozenset({"motions", "description"})) as self.subscription:
            yield
        checking.cancel()
        await asyncio.wait((checking,))

    async def listed(self, motion: str) -> dict[str, Any]:
        """Wait for the next list of motions and return one of them."""
        async for report in self.subscription:
            if report.subject == "motions":
                return next(entry for entry in report.data["motions"] if entry["name"] == motion)
        raise AssertionError


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Limited:
    return Limited(tmp_path, monkeypatch)


async def test_motions_are_listed_again_with_the_limit_of_the_actuator_as_the_reason(stage: Limited) -> None:
    async with stage.running():
        stage.may_check.set()
        stage.open(NARROW)
        listed = await stage.listed("short")
        assert (listed["ok"], listed["reason"]) == (False, f"short: {TOO_FAR}")
        assert await refused(stage.registry, "play", motion="short") == (
            "INVALID_MOTION",
            f"short: {TOO_FAR}",
        )
        code, reason = await refused(stage.registry, "goto", joints={"elbow": 0.5})
        assert code == "INVALID_MOTION"
        assert f"its upper limit is 0.3 rad ({OWN}); lower the motion or change that limit" in reason
        assert stage.sent == []


async def test_a_play_while_motions_are_checked_again_waits_for_that(stage: Limited) -> None:
    async with stage.running():
        stage.open(NARROW)
        play = asyncio.create_task(refused(stage.registry, "play", motion="short"))
        await stage.settle()
        assert not play.done()
        stage.may_check.set()
        assert await play == ("INVALID_MOTION", f"short: {TOO_FAR}")
        assert stage.sent == []


async def test_a_play_is_refused_where_checking_takes_too_long(
    stage: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("motiond.daemon.robots.motions.learned_limits.WAIT_S", 0.001)
    async with stage.running():
        stage.open(NARROW)
        assert await refused(stage.registry, "play", motion="short") == (
            "BUSY",
            f"arm: short is being checked {CHECKED}",
        )
        assert stage.sent == []


@pytest.mark.parametrize("verb", ["play", "goto"])
async def test_what_was_planned_before_actuators_reported_less_does_not_begin(
    stage: Limited, verb: str
) -> None:
    async with stage.running():
        stage.may_check.set()
        stage.open(WIDE)
        stage.enables = False
        values: dict[str, Any] = {"motion": "short"} if verb == "play" else {"joints": {"elbow": 0.5}}
        asked = asyncio.create_task(refused(stage.registry, verb, **values))
        await stage.settle()
        assert [type(command) for command in stage.sent] == [messages.Enable]
        stage.open(NARROW)
        await stage.listed("short")
        stage.notify(ON)
        code, reason = await asked
        assert (code, reason) == ("INVALID_MOTION", f"{values.get('motion', 'goto')}: {CHANGED}")
        assert {type(command) for command in stage.sent} == {messages.Enable}


async def test_actuators_that_come_back_with_other_limits_are_heeded_and_the_same_ones_cost_nothing(
    stage: Limited,
) -> None:
    async with stage.running():
        stage.may_check.set()
        stage.open(NARROW)
        assert not (await stage.listed("short"))["ok"]
        read = stage.robot.library.files_read
        stage.notify(messages.Lost("the cable is out"))
        stage.open(NARROW)
        await stage.settle()
        assert stage.robot.library.files_read == read
        stage.notify(messages.Lost("the cable is out"))
        stage.open(WIDE)
        assert (await stage.listed("short"))["ok"]
        answer = await ask(stage.registry, "play", motion="short")
        assert set(answer) >= {"goal_id", "approach_s"}
        stage.robot.planner.close()


async def test_a_start_of_a_group_is_not_prepared_beyond_what_actuators_allow(stage: Limited) -> None:
    async with stage.running():
        stage.open(NARROW)
        prepare = asyncio.create_task(refused(stage.registry, "fleet/prepare", motion="short", start="s1"))
        await stage.settle()
        assert not prepare.done()
        stage.may_check.set()
        assert await prepare == ("INVALID_MOTION", f"short: {TOO_FAR}")


async def test_what_was_moved_goes_back_no_faster_than_its_actuator_may(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.robot["fault_requests"] = True
    rig.driver |= {"velocity_limit": {"elbow": 0.3}}
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await rig.has_held()
        await rig.push(registry, "elbow", 1.0)
        await ask(registry, "goto", joints={"shoulder": 0.1})
        await rig.until("event", lambda data: data["kind"] == "displaced")
        await rig.until("telemetry", lambda data: data["reference"]["velocity"][1] < -0.25)
        await ask(registry, "stop")
        await rig.until_state("stopping")
    assert np.nanmax(np.abs(read_trace(tmp_path / "trace.npy")["velocity"][:, 1])) <= 0.3 * (1 + 1e-6)
