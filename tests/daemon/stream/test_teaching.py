"""Behaviour of a robot that is moved by hand: how it begins, what ends it, and how it is caught."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.ring import COLUMN
from motiond.daemon.ipc.states import State
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.drivers.base import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    Driver,
    DriverError,
    DriverOptions,
)
from motiond.drivers.limits import ActuatorLimits
from tests.daemon.stream.test_loop import JOINTS, START, UNLIMITED, WAYS, Bench, setup_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

FASTEST = [1.0, 2.0]
REACH = [1.5, 1.5]
BOUNDS = replace(
    WAYS,
    lower=[-REACH[0], -REACH[1]],
    upper=[*REACH],
    velocity_limit=[*FASTEST],
    acceleration_limit=[8.0, None],
    start_tolerance=[0.002] * 2,
)
LIMITS = replace(UNLIMITED, stale_s=0.25, temperature_c=80.0)
BEYOND_SPEED = {"check": "velocity_limit", "joint": "shoulder", "limit": 1.0, "unit": "rad/s"}
SOFTLY = "teaching ends; move it more slowly, or less far"
HOLDS = "the robot holds"
DROPS = "the robot has no torque: go on holding it"
MAY_DROP = "nobody knows whether the robot holds: go on holding it"
IN_FAULT = {"released": DROPS, "gravity": MAY_DROP}


class Arm(Driver):
    """Two joints that a hand moves, and that hold where they are sent once they are enabled.

    `hand` (actuators,): how fast somebody moves them, in rad/s. `calls`: what was asked of the driver.
    `failing`: what raises next, by the name of the call. `sag` (actuators,): how far weight pulls them from
    where they are held, in rad. `drop`, `lurch` (actuators,): how far they go, and how fast they are, when
    they take hold, in rad and rad/s.
    """

    max_rate_hz = 1000.0
    devices = ()

    def __init__(self, clock: VirtualClock, upper: Sequence[float] | None) -> None:
        super().__init__(JOINTS, DriverOptions(), clock.now)
        self._limits = ActuatorLimits.none(2).narrowed("upper", upper or [np.inf] * 2, "its own")
        self.position, self.velocity = np.array(START), np.zeros(2)
        self.hand, self.temperature_c = np.zeros(2), 30.0
        self.mode = "released"
        self.calls: list[str] = []
        self.written: list[list[float]] = []
        self.failing: dict[str, Exception] = {}
        self.sag, self.lurch, self.drop = (np.zeros(2) for _ in range(3))
        self.frozen_s: float | None = None
        self.can_guide = self.has_velocity = True
        self._read_s = clock.now()

    @property
    def limits(self) -> ActuatorLimits:
        return self._limits

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if error := self.failing.pop(call, None):
            raise error

    def open(self) -> None:
        """Nothing has to be opened."""

    def close(self) -> None:
        self.calls.append("close")

    def read(self, state: ActuatorState) -> None:
        if error := self.failing.pop("read", None):
            raise error
        passed_s, self._read_s = self.now() - self._read_s, self.now()
        if self.mode in {"released", "guided"}:
            self.velocity[:] = self.hand
            self.position += self.velocity * passed_s
        state.position[:] = self.position
        state.velocity[:] = self.velocity if self.has_velocity else np.nan
        state.temperature_c.fill(self.temperature_c)
        state.torque.fill(float(self.mode != "released"))
        state.stamp_s.fill(self.now() if self.frozen_s is None else self.frozen_s)

    def write(self, command: ActuatorCommand) -> None:
        self._note("write")
        self.written.append(command.position.tolist())
        if self.mode == "held":
            self.position[:], self.velocity[:] = command.position - self.sag, command.velocity
        else:
            assert np.isnan(command.values).all(), command.values

    def enable(self) -> None:
        self._note("enable")
        if self.mode == "guided":
            self.position -= self.drop
            self.velocity[:] = self.lurch
        self.mode = "held"

    def disable(self) -> None:
        self._note("disable")
        self.mode = "released"

    def halt(self) -> None:
        self.calls.append("halt")
        self.mode = "held" if self.mode == "guided" else self.mode

    def refuse_guiding(self) -> None:
        if not self.can_guide:
            super().refuse_guiding()

    def guide(self) -> None:
        self._note("guide")
        self.mode = "guided"


class Taught(Bench):
    """A robot whose joints a hand moves."""

    def __init__(self, folder: Path, upper: Sequence[float] | None = None, **setup: Any) -> None:
        clock = VirtualClock(100.0)
        self.arm = Arm(clock, upper)
        super().__init__(folder, setup_of(**({"limits": LIMITS, "ways": BOUNDS} | setup)), self.arm, clock)
        self.step()

    def teach(self, mode: Any = "released") -> None:
        """Begin to teach, and forget what was reported and asked before."""
        self.channel.send(messages.Teach(mode))
        self.step()
        assert self.state() is State.TEACHING
        self.notices.clear()
        self.arm.calls.clear()
        self.arm.written.clear()
        self.reader.take()

    def move(self, *hand: float, ticks: int = 10) -> None:
        self.arm.hand[:] = hand
        self.step(ticks)

    def send(self, *commands: messages.Command) -> None:
        for command in commands:
            self.channel.send(command)

    def rest(self) -> None:
        """Let it come to rest, wherever it does."""
        self.step_until(lambda: self.state() not in {State.TEACHING, State.STOPPING}, most=300)

    def taught(self) -> list[messages.TeachingEnded]:
        return [ended for changed in self.notices_of(messages.Changed) for ended in changed.taught]

    def events(self) -> list[tuple[str, str]]:
        return [(one.kind, one.message) for one in self.notices_of(messages.Happened)]


@pytest.fixture
def robot(tmp_path: Path) -> Iterator[Taught]:
    robot = Taught(tmp_path)
    yield robot
    robot.close()


MODES = pytest.mark.parametrize("mode", ["released", "gravity"])


# -- its beginning ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [False, True])
def test_it_is_released_whether_torque_was_on_or_off(robot: Taught, *, held: bool) -> None:
    if held:
        robot.enable()
    robot.send(messages.Teach("released"))
    robot.step()
    changed = robot.notices_of(messages.Changed)[-1]
    assert (changed.state, changed.torque, changed.reference) == (State.TEACHING, False, None)
    assert robot.arm.mode == "released"
    assert robot.taught() == []


@pytest.mark.parametrize("held", [False, True])
def test_it_carries_its_own_weight_with_torque_on(robot: Taught, *, held: bool) -> None:
    if held:
        robot.enable()
    robot.send(messages.Teach("gravity"))
    robot.step()
    changed = robot.notices_of(messages.Changed)[-1]
    assert (changed.state, changed.torque) == (State.TEACHING, True)
    robot.move(0.5, 0.5)
    assert robot.arm.mode == "guided"


@MODES
def test_the_reference_is_what_is_measured_in_every_tick(robot: Taught, mode: str) -> None:
    robot.teach(mode)
    robot.move(0.5, -0.7, ticks=30)
    records = robot.records()
    assert (records["state"] == State.TEACHING).all()
    assert (records["torque"] == (mode == "gravity")).all()
    assert records["reference_position"].tobytes() == records["position"].tobytes()
    assert records["reference_velocity"].tobytes() == records["velocity"].tobytes()
    assert np.ptp(records["position"], axis=0) == pytest.approx([0.145, 0.203])


def test_a_released_robot_receives_no_setpoint(robot: Taught) -> None:
    robot.enable()
    robot.teach()
    robot.move(0.5, 0.5)
    assert robot.arm.calls == []


def test_a_guided_robot_receives_setpoints_without_a_position(robot: Taught) -> None:
    robot.teach("gravity")
    robot.move(0.5, 0.5, ticks=7)
    assert robot.arm.calls == ["write"] * 7
    assert np.isnan(robot.arm.written).all()


def test_records_are_one_idle_period_apart_on_a_grid(robot: Taught) -> None:
    robot.teach()
    for _ in range(20):
        robot.send(messages.Heartbeat())
        robot.step()
    deadlines = robot.reader.take()[:, COLUMN["deadline_s"]]
    assert np.diff(deadlines) == pytest.approx(np.full(len(deadlines) - 1, 0.01), abs=1e-9)


def test_after_a_fast_motion_ticks_are_those_of_a_robot_at_rest(robot: Taught) -> None:
    robot.enable()
    robot.play(np.linspace(START, [0.2, 0.3], 200))
    robot.step_until(robot.ended)
    robot.teach()
    robot.step(10)
    deadlines = robot.reader.take()[:, COLUMN["deadline_s"]]
    assert np.diff(deadlines) == pytest.approx(np.full(9, 0.01), abs=1e-9)


def busy(robot: Taught) -> None:
    robot.enable()
    robot.play(np.linspace(START, [0.2, 0.3], 400))
    robot.step(3)


def far_away(robot: Taught) -> None:
    robot.arm.position[1] = 1.51
    robot.step()


def falling(robot: Taught) -> None:
    robot.move(-1.5, 0.0, ticks=1)


def silent(robot: Taught) -> None:
    robot.arm.frozen_s = robot.clock.now()
    robot.step(40)


def without_position(robot: Taught) -> None:
    robot.arm.position[1] = np.nan
    robot.step()


def unable(robot: Taught) -> None:
    robot.arm.can_guide = False


def halted(robot: Taught) -> None:
    robot.send(messages.Estop())
    robot.step()


def taught_already(robot: Taught) -> None:
    robot.teach()


REFUSED: list[tuple[Callable[[Taught], None], str, str]] = [
    (busy, "released", "the robot is playing; it cannot be taught now"),
    (halted, "released", "the robot is estopped; it cannot be taught now"),
    (taught_already, "gravity", "the robot is teaching; it cannot be taught now"),
    (
        far_away,
        "released",
        "joint 'elbow' is at 1.51 rad; its limit is 1.5 rad; move it back first",
    ),
    (
        falling,
        "released",
        "joint 'shoulder' moves at 1.5 rad/s; its limit is 1 rad/s; move it back first",
    ),
    (
        silent,
        "released",
        "actuator 'shoulder' last reported 0.400 s ago; checks.stale_s is 0.25 s; check its cable and power",
    ),
    (without_position, "released", "joint 'elbow' has no measured position; check the actuators"),
    (
        unable,
        "gravity",
        (
            "driver: cannot carry the robot's weight; "
            "its actuators take no efforts for that; teach with torque off"
        ),
    ),
]


@pytest.mark.parametrize(("before", "mode", "reason"), REFUSED, ids=[one.__name__ for one, _, _ in REFUSED])
def test_it_is_refused_with_the_reason_and_nothing_changes(
    robot: Taught, before: Callable[[Taught], None], mode: Any, reason: str
) -> None:
    before(robot)
    was = robot.state(), robot.loop.player.torque, robot.arm.mode
    robot.notices.clear()
    robot.send(messages.Teach(mode))
    robot.step()
    assert [(ended.code, ended.message) for ended in robot.taught()] == [("INVALID_GOAL", reason)]
    assert (robot.state(), robot.loop.player.torque, robot.arm.mode) == was
    assert robot.events() == []
    if robot.loop.player.execution is not None:
        robot.send(messages.Estop())  # what plays lies in shared memory
        robot.step()


def test_it_is_refused_at_an_idle_rate_that_makes_no_brake(tmp_path: Path) -> None:
    robot = Taught(tmp_path, idle_rate_hz=20.0)
    robot.send(messages.Teach("released"))
    robot.step()
    reason = "idle_rate_hz is 20; teaching needs 50 ticks a second to catch the robot softly; raise it"
    assert [ended.message for ended in robot.taught()] == [reason]
    robot.close()


@pytest.mark.parametrize("in_s", [-0.5, 60.0], ids=["late", "in time"])
def test_what_nobody_waits_for_any_more_does_not_begin(robot: Taught, in_s: float) -> None:
    robot.send(messages.Teach("released", time.time() + in_s))
    robot.step()
    assert (robot.state() is State.TEACHING) == (in_s > 0.0)
    assert [ended.code for ended in robot.taught()] == ([] if in_s > 0.0 else ["INVALID_GOAL"])


def test_a_robot_that_shuts_down_is_not_taught_any_more(robot: Taught) -> None:
    robot.send(messages.Shutdown(), messages.Teach("released"))
    assert not robot.loop.step()
    robot.hear()
    assert [ended.message for ended in robot.taught()] == ["the robot shuts down"]


@pytest.mark.parametrize(("mode", "call"), [("released", "disable"), ("gravity", "guide")])
def test_a_driver_that_fails_at_it_is_a_fault(robot: Taught, mode: Any, call: str) -> None:
    robot.enable()
    robot.arm.failing[call] = DriverError("servo 2", "overload")
    robot.send(messages.Teach(mode))
    robot.step()
    assert robot.state() is State.FAULT
    (ended,) = robot.taught()
    assert (ended.code, ended.message, ended.holds) == (
        "HARDWARE_FAULT",
        f"servo 2: overload; {MAY_DROP}",
        False,
    )
    robot.step(3)
    assert robot.arm.calls[-1] == "halt"


# -- what ends it -----------------------------------------------------------------------------------------


def stop(robot: Taught) -> None:
    robot.send(messages.Stop(message="stopped on request"))


def too_fast(robot: Taught) -> None:
    robot.arm.hand[:] = -1.2, 0.0


def too_far(robot: Taught) -> None:
    robot.arm.position[1] = 1.4999
    robot.arm.hand[:] = 0.0, 0.4


def too_low(robot: Taught) -> None:
    robot.arm.position[1] = -1.4999
    robot.arm.hand[:] = 0.0, -0.4


def suspended(robot: Taught) -> None:
    robot.clock.suspends_s += 30.0


def shuts_down(robot: Taught) -> None:
    robot.send(messages.Shutdown())


def is_gone(robot: Taught) -> None:
    robot.channel.close()


STOPS: list[tuple[Callable[[Taught], None], str, str]] = [
    (stop, "CANCELED", "stopped on request"),
    (
        too_fast,
        "PATH_TOLERANCE_VIOLATED",
        f"joint 'shoulder' moves at 1.2 rad/s; its limit is 1 rad/s; {SOFTLY}",
    ),
    (too_far, "PATH_TOLERANCE_VIOLATED", f"joint 'elbow' is at 1.504 rad; its limit is 1.5 rad; {SOFTLY}"),
    (too_low, "PATH_TOLERANCE_VIOLATED", f"joint 'elbow' is at -1.504 rad; its limit is -1.5 rad; {SOFTLY}"),
    (
        suspended,
        "DEADLINE_MISSED",
        "the machine was suspended for 30.0 s; no motion goes on after that; play it again",
    ),
]


@MODES
@pytest.mark.parametrize(("end", "code", "message"), STOPS, ids=[one.__name__ for one, _, _ in STOPS])
def test_it_ends_holding_where_the_joints_are(
    robot: Taught, mode: str, end: Callable[[Taught], None], code: str, message: str
) -> None:
    robot.teach(mode)
    robot.move(0.3, 0.3)
    end(robot)
    robot.rest()
    robot.step(5)
    message = f"{message}; {HOLDS}"
    assert [(one.code, one.message, one.holds) for one in robot.taught()] == [(code, message, True)]
    assert ("teaching", message) in robot.events()
    assert robot.arm.calls.count("enable") == 1
    assert "disable" not in robot.arm.calls
    last = robot.notices_of(messages.Changed)[-1]
    assert (last.state, last.torque) == (State.IDLE, True)
    assert last.reference == pytest.approx(robot.arm.position.tolist())
    assert robot.arm.velocity.tolist() == [0.0, 0.0]


def test_a_limit_is_reported_with_its_facts(robot: Taught) -> None:
    robot.teach()
    too_fast(robot)
    robot.rest()
    (ended,) = robot.taught()
    assert ended.details == BEYOND_SPEED | {"value": pytest.approx(1.2)}


def test_the_end_is_reported_in_the_tick_in_which_it_holds(robot: Taught) -> None:
    robot.teach()
    too_fast(robot)
    robot.step()
    (changed,) = robot.notices_of(messages.Changed)
    assert (changed.state, changed.torque) == (State.STOPPING, True)
    assert len(changed.taught) == 1
    assert robot.arm.mode == "held"


@MODES
def test_a_daemon_that_is_silent_ends_it_holding(tmp_path: Path, mode: str) -> None:
    robot = Taught(tmp_path, daemon_timeout_s=2.0)
    robot.teach(mode)
    robot.step(150)
    robot.send(messages.Heartbeat())
    robot.step(199)
    assert robot.state() is State.TEACHING
    robot.step(3)
    reason = "nothing was received from the daemon for more than 2 s (daemon_timeout_s)"
    advice = "nobody could stop the robot; look at what kept the daemon busy, or raise it"
    assert [one.message for one in robot.taught()] == [f"{reason}; {advice}; {HOLDS}"]
    robot.rest()
    assert (robot.state(), robot.arm.mode) == (State.IDLE, "held")
    robot.close()


@MODES
@pytest.mark.parametrize("end", [shuts_down, is_gone])
def test_a_loop_that_is_to_leave_holds_first(robot: Taught, mode: str, end: Callable[[Taught], None]) -> None:
    robot.teach(mode)
    robot.arm.hand[:] = 0.4, 0.0
    end(robot)
    for _ in range(300):
        if not robot.loop.step():
            break
    else:
        pytest.fail("the loop never left")
    assert (robot.state(), robot.arm.mode) == (State.IDLE, "held")
    assert robot.arm.velocity.tolist() == [0.0, 0.0]


@MODES
def test_feedback_that_stops_ends_it(robot: Taught, mode: str) -> None:
    """Where the joints are is not known then, so nothing can hold them there."""
    robot.teach(mode)
    robot.move(0.1, 0.1)
    robot.arm.frozen_s = robot.clock.now()
    robot.step_until(lambda: robot.state() is not State.TEACHING, most=40)
    (ended,) = robot.taught()
    assert (ended.code, ended.holds, ended.details["check"]) == ("COMM_LOST", False, "stale")
    assert ended.message.endswith(f"; {IN_FAULT[mode]}")
    assert robot.state() is State.FAULT
    robot.step(2)
    # What was carried is not dropped: its actuators hold by themselves.
    assert (robot.arm.calls[-1], robot.loop.player.torque) == ("halt", mode == "gravity")
    assert ("disable" in robot.arm.calls) == (mode == "released")


@MODES
def test_a_joint_without_a_position_ends_it(robot: Taught, mode: str) -> None:
    robot.teach(mode)
    robot.arm.position[0] = np.nan
    robot.step_until(lambda: robot.state() is not State.TEACHING, most=60)
    (ended,) = robot.taught()
    assert (ended.code, ended.details["check"], ended.details["joint"]) == (
        "COMM_LOST",
        "position",
        "shoulder",
    )
    assert (ended.holds, ended.message.endswith(f"; {IN_FAULT[mode]}")) == (False, True)
    assert robot.state() is State.FAULT


def test_feedback_that_stops_again_is_reported_again(robot: Taught) -> None:
    robot.enable()
    robot.arm.frozen_s = robot.clock.now()
    robot.step(60)
    robot.arm.frozen_s = None
    robot.step(3)
    robot.teach()
    robot.arm.frozen_s = robot.clock.now()
    robot.step_until(lambda: robot.state() is not State.TEACHING, most=40)
    assert [kind for kind, _ in robot.events()].count("check_failed") == 1


def test_a_joint_that_was_off_where_it_was_held_is_not_once_a_hand_guides_it(tmp_path: Path) -> None:
    robot = Taught(tmp_path, limits=replace(LIMITS, stall_s=0.1))
    robot.enable()
    robot.step(60)
    robot.arm.sag[:] = 0.2, 0.0
    robot.step(60)
    robot.teach("gravity")
    robot.step(150)
    stop(robot)
    robot.rest()
    told = [kind for kind, _ in robot.events() if kind != "teaching"]
    robot.close()
    assert told == ["check_passed"]


def test_heat_ends_it_only_where_actuators_carry(robot: Taught) -> None:
    robot.teach()
    robot.arm.temperature_c = 90.0
    robot.step(50)
    assert robot.state() is State.TEACHING
    stop(robot)
    robot.rest()
    robot.teach("gravity")
    robot.rest()
    (ended,) = robot.taught()
    assert (ended.code, ended.details["check"], ended.details["value"]) == (
        "HARDWARE_FAULT",
        "temperature",
        90.0,
    )
    assert (robot.state(), robot.arm.mode) == (State.IDLE, "held")


@MODES
def test_an_emergency_stop_latches_and_switches_no_torque_on(robot: Taught, mode: str) -> None:
    robot.teach(mode)
    robot.move(0.3, 0.3)
    robot.send(messages.Estop())
    robot.step(5)
    (ended,) = robot.taught()
    assert (ended.code, ended.holds) == ("ESTOP", mode == "gravity")
    reset = "reset when it is safe"
    assert ended.message == (
        f"emergency stop; halted at once; {reset}; {HOLDS}"
        if mode == "gravity"
        else f"emergency stop; {reset}; {DROPS}"
    )
    assert robot.state() is State.ESTOPPED
    assert {*robot.arm.calls} - {"write"} == {"halt"}
    assert robot.arm.mode == ("held" if mode == "gravity" else "released")
    robot.send(messages.Reset())
    robot.step()
    assert (robot.state(), robot.loop.player.torque) == (State.IDLE, mode == "gravity")
    assert robot.arm.mode == ("held" if mode == "gravity" else "released")


@MODES
@pytest.mark.parametrize(
    "error", [DriverError("servo 2", "overload"), CommunicationLost("bus", "it is gone")]
)
def test_a_failure_of_the_driver_ends_it_as_elsewhere(robot: Taught, mode: str, error: DriverError) -> None:
    robot.teach(mode)
    robot.move(0.3, 0.3)
    robot.arm.failing["read"] = error
    robot.step()
    is_lost = isinstance(error, CommunicationLost)
    code = "COMM_LOST" if is_lost else "HARDWARE_FAULT"
    (ended,) = robot.taught()
    assert (ended.code, ended.message, ended.holds) == (code, f"{error}; {IN_FAULT[mode]}", False)
    assert robot.state() is State.FAULT
    assert robot.loop.lost == (messages.Lost(str(error)) if is_lost else None)
    assert robot.arm.calls.count("enable") == 0


@MODES
def test_actuators_that_do_not_take_hold_are_a_fault(robot: Taught, mode: str) -> None:
    robot.teach(mode)
    robot.move(0.3, 0.3)
    robot.arm.failing["enable"] = DriverError("servo 2", "overload")
    stop(robot)
    robot.step()
    assert robot.state() is State.FAULT
    (ended,) = robot.taught()
    message = f"stopped on request; {IN_FAULT[mode]}"
    assert (ended.code, ended.message, ended.holds) == ("CANCELED", message, False)
    assert robot.events() == [("fault", "servo 2: overload"), ("teaching", message)]
    robot.step(2)
    assert robot.arm.calls[-1] == "halt"
    assert "disable" not in robot.arm.calls


def test_torque_that_goes_off_by_itself_ends_what_is_guided(robot: Taught) -> None:
    robot.teach("gravity")
    robot.step(60)
    robot.arm.mode = "released"
    robot.step(3)
    reason = "arm: torque is off in shoulder, elbow; it went off by itself; check the actuators"
    assert [one.message for one in robot.taught()] == [
        f"{reason}, then reset and enable the robot; {MAY_DROP}"
    ]
    assert robot.state() is State.FAULT


IGNORED: list[messages.Command] = [
    messages.Enable(),
    messages.Disable(),
    messages.Pause(),
    messages.Resume(),
    messages.Speed(0.5, 2.0),
    messages.Reset(),
    messages.Heartbeat(),
    messages.Recover(["elbow"], "reboot"),
    messages.Inject({"fault": "stuck"}),
]


@MODES
@pytest.mark.parametrize("command", IGNORED, ids=lambda command: type(command).__name__)
def test_what_is_for_other_states_changes_nothing(
    robot: Taught, mode: str, command: messages.Command
) -> None:
    robot.teach(mode)
    robot.send(command)
    robot.move(0.3, 0.3)
    assert (robot.state(), robot.taught()) == (State.TEACHING, [])
    assert {*robot.arm.calls} <= {"write"}


def test_a_play_is_refused_meanwhile(robot: Taught) -> None:
    robot.teach()
    robot.play(start=START)
    robot.step()
    assert [one.message for one in robot.ends()] == ["the robot is teaching, released; it cannot play now"]
    assert robot.state() is State.TEACHING


def test_it_ends_once_whatever_comes_together(robot: Taught) -> None:
    robot.teach()
    too_fast(robot)
    robot.send(messages.Stop(), messages.Stop(), messages.Estop(), messages.Reset(), messages.Shutdown())
    robot.loop.step()
    robot.hear()
    assert [(one.code, one.holds) for one in robot.taught()] == [("CANCELED", False)]


def test_it_begins_and_ends_again_in_one_tick(robot: Taught) -> None:
    robot.send(messages.Teach("released"), messages.Stop(), messages.Teach("released"))
    robot.step()
    assert [one.code for one in robot.taught()] == ["INVALID_GOAL", "CANCELED"]
    robot.rest()
    assert (robot.state(), robot.arm.mode) == (State.IDLE, "held")


def test_after_it_the_robot_plays_from_where_it_was_moved(robot: Taught) -> None:
    robot.teach()
    robot.move(0.5, 0.5, ticks=50)
    stop(robot)
    robot.rest()
    robot.play(np.linspace(robot.loop.player.position, [0.0, 0.0], 300))
    robot.step_until(robot.ended)
    assert [one.code for one in robot.ends()] == ["SUCCESSFUL"]


# -- how it is caught -------------------------------------------------------------------------------------


@MODES
def test_it_is_braked_within_its_limits_from_where_it_is(robot: Taught, mode: str) -> None:
    robot.teach(mode)
    robot.move(0.9, -1.8, ticks=20)
    stop(robot)
    robot.rest()
    records = robot.records()
    braking = np.flatnonzero(records["state"] == State.STOPPING)
    reference, velocity = records["reference_position"][braking], records["reference_velocity"][braking]
    assert reference[0].tolist() == records["position"][braking[0]].tolist()
    assert velocity[0] == pytest.approx([0.9, -1.8])
    assert (np.abs(np.diff(velocity, axis=0)) <= np.array([8.0, np.inf]) * 0.01 + 1e-9).all()
    assert (np.diff(np.abs(velocity), axis=0) <= 1e-12).all()
    assert np.diff(reference, axis=0) == pytest.approx((velocity[:-1] + velocity[1:]) * 0.005, abs=1e-4)
    assert (records["torque"][braking] == 1).all()


def test_a_setpoint_is_no_faster_than_the_joint_may_be(robot: Taught) -> None:
    robot.teach()
    robot.move(-5.0, 0.0, ticks=1)
    robot.rest()
    assert np.abs(robot.records()["reference_velocity"][1:, 0]).max() <= 1.0


@pytest.mark.parametrize("room", [0.5, 0.1, 0.02, 0.001, 0.0])
def test_a_joint_that_is_caught_before_a_limit_stays_before_it(robot: Taught, room: float) -> None:
    robot.arm.position[:] = REACH[0] - room - 0.05, 0.0
    robot.step()
    robot.teach()
    robot.move(1.0, 0.0, ticks=5)
    stop(robot)
    robot.rest()
    records = robot.records()
    held = records["state"] != State.TEACHING
    caught = records["position"][held][0, 0]
    assert caught > REACH[0] - room - 1e-9
    assert records["reference_position"][held, 0].max() <= max(REACH[0], caught)
    assert np.abs(np.diff(records["reference_velocity"][held, 0])).max() <= 8.0 * 0.01 + 1e-9


def test_a_joint_beyond_its_limit_stays_where_the_hand_has_left_it(robot: Taught) -> None:
    robot.arm.position[:] = REACH[0] - 0.001, 0.0
    robot.step()
    robot.teach()
    robot.move(0.8, 0.0, ticks=1)
    robot.rest()
    records = robot.records()
    caught = records["position"][np.flatnonzero(records["state"] == State.STOPPING)[0], 0]
    assert REACH[0] < caught < REACH[0] + 0.01
    assert records["reference_position"][-1, 0] == caught


def test_a_setpoint_is_within_what_its_actuator_takes(tmp_path: Path) -> None:
    """Such as a servo that has limits of its own, and would fail at a goal beyond."""
    robot = Taught(tmp_path, ways=WAYS, upper=[0.5, 0.5])
    robot.teach()
    robot.move(5.0, 0.1, ticks=9)
    robot.rest()
    records = robot.records()
    held = records["state"] != State.TEACHING
    assert records["position"][held][0, 0] > 0.5
    assert records["reference_position"][held, 0].max() <= 0.5
    robot.close()


def test_an_emergency_stop_while_it_is_braked_halts_at_once(robot: Taught) -> None:
    robot.teach()
    robot.move(0.9, 0.9)
    stop(robot)
    robot.step(3)
    robot.send(messages.Estop())
    robot.step(2)
    assert robot.state() is State.ESTOPPED
    assert robot.loop.player.velocity.tolist() == [0.0, 0.0]
    assert len(robot.taught()) == 1
    robot.send(messages.Reset())
    robot.step(20)
    assert (robot.state(), robot.arm.mode) == (State.IDLE, "held")
    assert robot.arm.velocity.tolist() == [0.0, 0.0]


def test_velocities_that_are_not_measured_are_derived(robot: Taught) -> None:
    robot.arm.has_velocity = False
    robot.teach()
    robot.move(0.9, 0.5)
    records = robot.records()
    assert records["reference_velocity"][2:] == pytest.approx(np.tile([0.9, 0.5], (8, 1)))
    robot.reader.take()
    too_fast(robot)
    robot.rest()
    assert [one.details["check"] for one in robot.taught()] == ["velocity_limit"]
    records = robot.records()
    braking = np.flatnonzero(records["state"] == State.STOPPING)
    assert records["reference_velocity"][braking[0], 0] == -1.0


# -- what stays where it is -------------------------------------------------------------------------------


def repeat(robot: Taught, times: int = 20) -> None:
    """Begin to teach and end it again, so often, with nobody at the robot."""
    for _ in range(times):
        robot.teach("gravity")
        robot.move(0.0, 0.0)
        stop(robot)
        robot.rest()
        robot.step(30)


def test_what_taking_hold_does_is_not_taken_for_the_hand(robot: Taught) -> None:
    robot.enable()
    robot.arm.lurch[:], robot.arm.drop[:] = [-0.5, 0.3], [0.004, 0.0]
    robot.teach("gravity")
    robot.move(0.0, 0.9)
    stop(robot)
    robot.step()
    caught = robot.arm.position.copy()
    robot.rest()
    records = robot.records()
    braking = records["state"] == State.STOPPING
    assert (records["reference_velocity"][braking, 0] == 0.0).all()
    assert records["reference_velocity"][braking][0, 1] == pytest.approx(0.9)
    assert robot.loop.player.position[0] == pytest.approx(START[0])
    assert robot.loop.player.position[1] > caught[1] + 0.05


def test_a_robot_that_nobody_moves_is_where_it_was_however_often_it_is_caught(robot: Taught) -> None:
    robot.arm.sag[:], robot.arm.drop[:] = [0.0025, -0.033], [0.004, 0.0]
    robot.enable()
    robot.step(10)
    began = robot.arm.position.copy()
    repeat(robot)
    assert robot.arm.position == pytest.approx(began, abs=1e-12)


def test_it_is_where_it_was_caught_once_where_torque_was_off_before(robot: Taught) -> None:
    robot.arm.sag[:] = 0.0025, -0.033
    robot.step(10)
    began = robot.arm.position.copy()
    repeat(robot)
    assert began - robot.arm.position == pytest.approx(robot.arm.sag)


def test_what_was_moved_by_more_than_its_tolerance_is_held_where_it_is(robot: Taught) -> None:
    robot.enable()
    robot.arm.sag[:] = 0.0025, -0.033
    robot.step(10)
    robot.teach("gravity")
    robot.move(0.15, 0.0, ticks=2)
    robot.move(0.0, 0.0, ticks=2)
    where = robot.arm.position.copy()
    stop(robot)
    robot.rest()
    assert robot.loop.player.position == pytest.approx([where[0], START[1]])


def test_what_was_pressed_against_something_is_not_pressed_again(robot: Taught) -> None:
    robot.arm.sag[:] = 0.06, 0.0
    robot.enable()
    robot.step(10)
    where = robot.arm.position.copy()
    repeat(robot, times=1)
    assert robot.loop.player.position[0] == where[0]


@pytest.mark.parametrize(("speed", "goes_on"), [(0.039, False), (0.041, True)])
def test_a_joint_that_hardly_moves_is_held_where_it_is(robot: Taught, speed: float, *, goes_on: bool) -> None:
    robot.teach("gravity")
    robot.move(0.0, speed, ticks=30)
    stop(robot)
    robot.step()
    caught = robot.arm.position[1]
    robot.rest()
    assert (robot.loop.player.position[1] > caught + 1e-4) == goes_on


# -- joints that follow others ----------------------------------------------------------------------------


@MODES
@pytest.mark.parametrize(("ratio", "fastest"), [(-0.5, 0.6), (0.02, 0.6), (-0.5, 1.3)])
def test_coupled_joints_are_caught_in_step_also_where_one_hardly_moves_or_is_too_fast(
    tmp_path: Path, mode: str, ratio: float, fastest: float
) -> None:
    robot = Taught(tmp_path, ways=replace(BOUNDS, leaders=[0, 0], acceleration_limit=[8.0, 0.5]))
    robot.enable()
    robot.teach(mode)
    robot.move(0.6, ratio * 0.6, ticks=20)
    robot.move(fastest, ratio * fastest, ticks=1)
    offset = robot.arm.position[1] - ratio * robot.arm.position[0]
    robot.send(messages.Stop())
    robot.rest()
    records = robot.records()
    braked = ~np.isin(records["state"], [State.TEACHING])
    reference = records["reference_position"][braked]
    assert np.ptp(reference[:, 0]) > 0.05
    np.testing.assert_allclose(reference[:, 1] - ratio * reference[:, 0], offset, atol=1e-9)
    robot.close()
