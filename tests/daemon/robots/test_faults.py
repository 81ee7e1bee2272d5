"""What motiond makes of each simulated fault: state, events and result, and that nothing lunges.

Robots of a real registry and stream process are taken through all of them in the middle of a motion; what
they did is then looked at fault by fault.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import ChainMap
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from motiond.daemon.api import RequestError
from motiond.drivers.sim.command_log import read_trace
from motiond.drivers.sim.faults import FAULTS
from motiond.drivers.sim.plant_file import read_plant
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, comes_to_rest_softly, sweep, write_seq
from tests.virtual import VirtualLoop

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from motiond.daemon.robots.registry import RobotRegistry

    Floats: TypeAlias = NDArray[np.float64]

pytestmark = pytest.mark.slow

LOWER, UPPER, VELOCITY = -0.2, 0.8, 2.0
AT_SPEED = 40  # the row of the swing from which on both joints are fast
AT_REST = {"idle", "fault", "offline"}
BEFORE_S = 0.05  # of the motion at full speed that is looked at as well
WATCHED_S = 0.35  # after the robot is ready again: longer than actuators hold that nobody commands any more
SOFTLY, HALTED, GONE = ("stopping", "idle"), ("fault", "offline", "idle"), ("offline", "idle")
BESIDE = {"driver", "torque", "warning", "servo_errors"}
BACK = "the actuators are back; they are not held until torque is enabled, or a motion plays"
LOST_BUS = "driver sim: the bus is lost; as a simulated fault; wait, or clear the fault"
CLEARED = "simulated faults are cleared"
NO_TORQUE = "there is no torque"
OVERLOADED = (
    "elbow: reports overload; it has switched its torque off; remove the cause, "
    "then `motiond clear ROBOT SERVO`"
)
MISSED = (
    r"a tick came 0\.\d{3} s late; max_lateness_s is 0.15 s; ease the load on the machine or grant SCHED_FIFO"
)
RELEASED = (
    r"driver sim: the actuators are released; no setpoint came for 0\.\d{3} s, "
    "and `command_lifetime_s` is 0.3; reset and enable the robot"
)


@dataclass(frozen=True, slots=True)
class Case:
    """A fault in the middle of a motion, and what must come of it; `events` are the kinds of those."""

    fault: dict[str, Any]
    code: str
    states: tuple[str, ...]
    message: str
    events: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return " ".join(str(value) for value in self.fault.values())

    @property
    def is_harmless(self) -> bool:
        return self.code == "SUCCESSFUL"


def soft(fault: dict[str, Any], code: str, message: str, details: dict[str, Any]) -> Case:
    """The motion is stopped on its path by a check, and the robot holds."""
    return Case(fault, code, SOFTLY, message, ("check_failed",), details)


def stale(fault: dict[str, Any], actuator: str) -> Case:
    """Feedback stops coming."""
    message = (
        rf"actuator '{actuator}' last reported 0\.\d{{3}} s ago; checks.stale_s is 0.15 s; "
        "check its cable and power"
    )
    return soft(fault, "COMM_LOST", message, {"check": "stale", "actuator": actuator})


def stalled(fault: dict[str, Any]) -> Case:
    """The joint stands still."""
    joint = fault["joint"]
    message = (
        rf"joint '{joint}' stands still for 0\.\d\d s, 0\.\d+ rad off; "
        "look for what blocks it, or set allow_stalling"
    )
    details = {"check": "stall", "joint": joint, "stalled": [joint]}
    return soft(fault, "PATH_TOLERANCE_VIOLATED", message, details)


def unharmed(fault: dict[str, Any]) -> Case:
    """The motion is played to its end all the same."""
    states = ("approaching", "playing", "idle")
    message = "the last row is out and held"
    return Case(fault, "SUCCESSFUL", states, message, details={"reached_goal": True})


def halted(fault: dict[str, Any], message: str, where: str) -> Case:
    """The robot is halted at once and waits for a reset."""
    return Case(fault, "HARDWARE_FAULT", HALTED, message, ("fault",), {"where": where})


def killed(fault: dict[str, Any], message: str) -> Case:
    """The process that drives the robot is gone, and with it what the fault would have said."""
    return Case(fault, "COMM_LOST", GONE, message, ("back", "stream_lost"))


STOPPED = [
    unharmed({"fault": "delay", "delay_s": 0.01, "jitter_s": 0.01}),
    stale({"fault": "lost_feedback", "joint": "elbow"}, "elbow"),
    stale({"fault": "stale_feedback", "joint": "elbow"}, "elbow"),
    unharmed({"fault": "packet_loss", "probability": 0.1}),
    stale({"fault": "packet_loss", "joint": "shoulder", "probability": 1.0}, "shoulder"),
    stale({"fault": "delay", "delay_s": 0.25}, "shoulder"),
    unharmed({"fault": "displaced", "joint": "elbow", "by": 0.03}),
    stalled({"fault": "stuck", "joint": "elbow"}),
    unharmed({"fault": "hand", "joint": "elbow", "to": 0.0, "for_s": 0.3}),
    stalled({"fault": "slipping", "joint": "elbow"}),
    Case({"fault": "blocks", "for_s": 0.22}, "DEADLINE_MISSED", SOFTLY, MISSED, ("deadline_missed",)),
    soft(
        {"fault": "overheating", "joint": "elbow", "rate_c_per_s": 500.0},
        "HARDWARE_FAULT",
        r"joint 'elbow' is at \d\d\.\d °C; checks.temperature_c is 60 °C; "
        "support the robot and disable it, or take its load away",
        {"check": "temperature", "joint": "elbow"},
    ),
]
HALTED_OR_GONE = [
    killed({"fault": "crash"}, r"the stream process ended unasked \(killed by signal 6\)"),
    halted(
        {"fault": "m_stop", "joint": "elbow"},
        f"elbow: m-stop is pressed; {NO_TORQUE}; release it, then reset and enable the robot",
        "elbow",
    ),
    halted(
        {"fault": "torque_drop", "joint": "elbow"},
        "elbow: its torque is off; it dropped by itself; find out why, then reset and enable the robot",
        "elbow",
    ),
    halted({"fault": "overload", "joint": "elbow"}, OVERLOADED, "elbow"),
    halted(
        {"fault": "reset", "joint": "elbow"},
        f"elbow: has restarted; {NO_TORQUE}; check its power, then reset and enable the robot",
        "elbow",
    ),
    halted(
        {"fault": "watchdog_trip", "joint": "elbow"},
        "elbow: its bus watchdog has tripped; it stopped, and ignores setpoints; "
        "look for what kept them from it, then reset and enable the robot",
        "elbow",
    ),
    killed({"fault": "blocks", "for_s": 5.0}, r"the stream process did not tick for \d\.\d s and was killed"),
    halted(
        {"fault": "power_cycle", "joint": "elbow", "for_s": 5.0},
        f"elbow: power is lost; {NO_TORQUE}; check the supply, then reset and enable the robot",
        "elbow",
    ),
    Case(
        {"fault": "bus_lost", "for_s": 0.3},
        "COMM_LOST",
        HALTED,
        LOST_BUS,
        ("back", "fault", "stream_lost"),
    ),
    halted({"fault": "lifetime_expiry"}, RELEASED, "driver sim"),
]
GROUPS = {"stopped": STOPPED, "others": HALTED_OR_GONE}
CASES = [*STOPPED, *HALTED_OR_GONE]


@dataclass(frozen=True, slots=True)
class Story:
    """What became of a motion with a fault in it; times are of the monotonic clock."""

    result: dict[str, Any]
    states: tuple[str, ...]
    events: list[tuple[str, str]]
    torque: bool
    holds: bool
    fault_s: float
    rest_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Chronicle:
    """The stories of all cases by their names, and the commands that the drivers received."""

    stories: dict[str, Story]
    traces: dict[str, NDArray[np.void]]

    def setpoints(self, case: Case, since_s: float, until_s: float) -> Floats:
        """Return those after a moment and up to another, shape (commands, joints)."""
        trace = self.traces[case.name]
        within = (trace["time"] > since_s) & (trace["time"] <= until_s)
        positions: Floats = trace["position"][within]
        return positions


def make_rig(folder: Path) -> Rig:
    rig = Rig(folder)
    limits = {"lower": LOWER, "upper": UPPER, "velocity": VELOCITY}
    rig.robot |= {
        "fault_requests": True,
        "joints": {name: {"limits": limits} for name in JOINTS},
        "on_late": "stretch",
        "max_lateness_s": 0.15,
        "stream_timeout_s": 0.5,
        "checks": {"temperature_c": 60.0, "stale_s": 0.15, "stall_s": 0.35},
        "tolerances": {"goal_time_s": 5.0},
    }
    rig.driver |= {"command_lifetime_s": 0.3, "effort_limit": 5.0}
    rig.daemon["mqtt"] = {"telemetry_hz": 100.0}
    write_seq(rig.folder / "motions" / "short.seq", sweep(0.8), JOINTS, RATE_HZ)
    write_seq(folder / "motions" / "swing.seq", sweep(20.0, swings=20), JOINTS, RATE_HZ)
    return rig


async def play(registry: RobotRegistry, motion: str) -> str:
    goal_id: str = (await ask(registry, "play", motion=motion))["goal_id"]
    return goal_id


async def play_to_full_swing(rig: Rig, registry: RobotRegistry) -> str:
    since = len(rig.reports)
    goal_id = await play(registry, "swing")
    await rig.until_state("playing", since)
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > AT_SPEED, len(rig.reports))
    return goal_id


async def go_through(rig: Rig, registry: RobotRegistry, case: Case) -> Story:
    """Let a motion meet a fault, and make the robot ready again as docs/faults.md says."""
    before = "idle" if case.is_harmless else "playing"
    goal_id = "" if case.is_harmless else await play_to_full_swing(rig, registry)
    since, fault_s = len(rig.reports), time.monotonic()
    await ask(registry, "fault", **case.fault)
    goal_id = goal_id or await play(registry, "short")
    result = await rig.until("result", lambda data: data["goal_id"] == goal_id, since)
    at_rest = await rig.until("state", lambda data: data["state"] in AT_REST, rig.place_of(result))
    rest_s = time.monotonic()
    await make_ready(rig, registry, at_rest, result["code"])
    ready_s = time.monotonic()
    await rig.until("telemetry", lambda data: data["stamp_s"] > ready_s + WATCHED_S, len(rig.reports))
    torque = (await ask(registry, "status"))["torque"]
    reported = rig.reports[since:]
    states = [before, *(report.data["state"] for report in reported if report.subject == "state")]
    return Story(
        result,
        tuple(state for state, _ in groupby(states))[1:],
        # Whether actuators still hold depends on how soon they are found, and errors of servos are told
        # once for several cases; the driver's own are its tests'.
        sorted(
            (report.data["kind"], report.data["message"])
            for report in reported
            if report.subject == "event" and report.data["kind"] not in BESIDE
        ),
        torque,
        read_plant(rig.folder / "plant.bin", time.monotonic()).torque,
        fault_s,
        rest_s,
        time.monotonic(),
    )


async def make_ready(rig: Rig, registry: RobotRegistry, at_rest: dict[str, Any], code: str) -> None:
    since = rig.place_of(at_rest)  # what follows may have been reported before this process looks
    if at_rest["state"] == "idle":
        if code != "SUCCESSFUL":
            await ask(registry, "disable")
        await ask(registry, "fault", fault="clear")
        await rig.until("event", lambda data: data["message"] == CLEARED, since)
    elif code == "HARDWARE_FAULT":
        await ask(registry, "reset")
    else:
        await rig.until_state("idle", since)


async def story_of(folder: Path, cases: list[Case]) -> dict[str, Story]:
    """Go through cases; each needs the robot that the one before has left ready."""
    rig = make_rig(folder)
    async with rig.running() as registry:
        await rig.until_state("idle")
        return {case.name: await go_through(rig, registry, case) for case in cases}


async def all_stories(folder: Path) -> dict[str, Story]:
    """Go through all cases, with two robots at once."""
    reported = await asyncio.gather(*(story_of(folder / name, cases) for name, cases in GROUPS.items()))
    return dict(ChainMap(*reported))


@pytest.fixture(scope="module")
def chronicle(tmp_path_factory: pytest.TempPathFactory) -> Chronicle:
    folder = tmp_path_factory.mktemp("faults")
    for name in GROUPS:
        (folder / name).mkdir()
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        stories = runner.run(all_stories(folder))
    traces = [(cases, read_trace(folder / name / "trace.npy")) for name, cases in GROUPS.items()]
    return Chronicle(stories, {case.name: trace for cases, trace in traces for case in cases})


every_fault = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_no_fault_is_left_out() -> None:
    assert {case.fault["fault"] for case in CASES} == FAULTS.keys() - {"clear"}


@every_fault
def test_the_result_tells_what_failed_and_where(chronicle: Chronicle, case: Case) -> None:
    result = chronicle.stories[case.name].result
    assert result["code"] == case.code
    assert re.fullmatch(case.message, result["message"])
    assert result["details"].items() >= case.details.items()


@every_fault
def test_states_and_events_tell_what_happens_until_the_robot_can_play_again(
    chronicle: Chronicle, case: Case
) -> None:
    story = chronicle.stories[case.name]
    assert story.states == case.states
    assert story.torque is story.holds is case.is_harmless
    why = story.result["message"]
    assert story.events == [(kind, BACK if kind == "back" else why) for kind in case.events]


@every_fault
def test_setpoints_stay_within_limits_and_end_without_a_lunge(chronicle: Chronicle, case: Case) -> None:
    story = chronicle.stories[case.name]
    setpoints = chronicle.setpoints(case, story.fault_s - BEFORE_S, story.rest_s)
    assert ((setpoints >= LOWER) & (setpoints <= UPPER)).all()
    steps = np.abs(np.diff(setpoints, axis=0))
    assert 0.0 < steps.max() <= VELOCITY / RATE_HZ + 1e-12
    if case.states == SOFTLY:
        assert comes_to_rest_softly(setpoints)
    later = chronicle.setpoints(case, story.rest_s, story.end_s)
    assert len(np.unique(later, axis=0)) <= 1


async def test_a_joint_that_comes_back_a_turn_off_is_not_turned_around(tmp_path: Path) -> None:
    rig = make_rig(tmp_path)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "fault", fault="power_cycle", joint="elbow", for_s=0.1)
        await rig.until(
            "event", lambda data: data["message"] == "simulated fault ends: power_cycle of elbow for 0.1 s"
        )
        with pytest.raises(RequestError) as refusal:
            await play(registry, "short")
        status = await ask(registry, "status")
    assert (refusal.value.code, str(refusal.value)) == (
        "INVALID_MOTION",
        (
            "short: arm: joint 'elbow' is at 6.283 rad, far outside its limits of -0.2 to 0.8 rad; "
            "check the actuator, its offset and its turns; if it is there, go to a posture with from_beyond"
        ),
    )
    assert (status["state"], rig.results()) == ("idle", [])
    assert len(np.unique(read_trace(tmp_path / "trace.npy")["position"], axis=0)) <= 1


async def test_a_robot_without_feedback_takes_no_torque(tmp_path: Path) -> None:
    rig = make_rig(tmp_path)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "fault", fault="lost_feedback", joint="elbow")
        with pytest.raises(RequestError) as refusal:
            await play(registry, "short")
        status = await ask(registry, "status")
    assert (refusal.value.code, str(refusal.value)) == (
        "FAULT",
        (
            "arm: short cannot be played; arm: no position feedback after enable; check the actuators; "
            "reset it when it is fixed"
        ),
    )
    assert (status["state"], status["torque"]) == ("fault", False)


async def test_torque_is_not_switched_on_by_feedback_of_long_ago(tmp_path: Path) -> None:
    rig = make_rig(tmp_path)
    async with rig.running() as registry:
        await rig.until_state("idle")
        goal_id = await play_to_full_swing(rig, registry)
        await ask(registry, "fault", fault="stale_feedback", joint="elbow")
        await rig.result_of(goal_id)
        await ask(registry, "disable")
        disabled_s = time.monotonic()
        with pytest.raises(RequestError) as refusal:
            await play(registry, "short")
        status = await ask(registry, "status")
    assert re.fullmatch(
        r"arm: short cannot be played; arm: actuator 'elbow' last reported \d\.\d{3} s ago; "
        "checks.stale_s is 0.15 s; check its cable and power; reset it when it is fixed",
        str(refusal.value),
    )
    assert (status["state"], status["torque"]) == ("fault", False)
    assert not (read_trace(tmp_path / "trace.npy")["time"] > disabled_s).any()
