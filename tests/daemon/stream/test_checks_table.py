"""What is watched while torque is on, how soon, in which state, with what outcome: tables of checks.md."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.drivers.base import ActuatorState, CommunicationLost, DriverError
from motiond.drivers.sim import SimDriver, SimOptions
from tests.daemon.stream.test_loop import JOINTS, START, UNLIMITED, LateClock
from tests.daemon.stream.watched import RATE_HZ, STATES, Robot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[3] / "docs" / "explanations" / "checks.md").read_text(encoding="utf-8")
NOTHING, OTHERWISE = "\N{EN DASH}", "otherwise "
LOST = "the bus or a module lost"
TICK_S = 1 / RATE_HZ
HOW_SOON_S = {"a tick": TICK_S, "40 ms": 0.04}
LASTS_S = 0.2
SILENT_S = 0.2
LATE_S = 0.15
PUSH = 0.3  # rad
AFTERWARDS_S = 0.3


class Table(NamedTuple):
    """A table of the page: its columns after the first, and the cells of each row by the first one."""

    columns: list[str]
    rows: dict[str, list[str]]


def table() -> Table:
    """Return the first table of the section."""
    section = PAGE.split("\n## While torque is on\n")[1].split("\n## ")[0]
    lines = next(block for block in section.split("\n\n") if block.startswith("| ")).splitlines()
    cells = [[cell.strip().replace("`", "") for cell in line.strip("|").split("|")] for line in lines]
    return Table(cells[0][1:], {row[0]: row[1:] for row in cells[2:]})


CHECKED = table()


def cell_of(row: str, state: str) -> str:
    """Return what the page says of a row in a state; a cell may say it of each."""
    column = next(i for i, title in enumerate(CHECKED.columns) if state in title.split(", "))
    *named, last = CHECKED.rows[row][column].split("; ")
    for part in (*named, last):
        states, _, outcome = part.rpartition(": ")
        if not states or state in states.split(", "):
            return outcome.removeprefix(OTHERWISE)
    pytest.fail(f"the cell of {row} says nothing of {state}")


# -- the actuators ----------------------------------------------------------------------------------------


class Simulated:
    """Simulated actuators, and ways to make the checks fail at the second one."""

    def __init__(self) -> None:
        self.clock = LateClock(100.0)
        initial = dict(zip(JOINTS, START, strict=True))
        self.driver = SimDriver(
            JOINTS, SimOptions(position_state_following_offset=0.001, initial=initial), self.clock.now
        )

    def _inject(self, fault: str, **more: float) -> None:
        self.driver.inject({"fault": fault, "actuator": "elbow", **more})

    def heat(self) -> None:
        self._inject("overheating", rate_c_per_s=1e4)

    def stale(self) -> None:
        self._inject("stale_feedback")

    def push(self) -> None:
        """Push it away from its setpoint, to which it pushes back."""
        assert self.driver._plant is not None
        self.driver._plant.position[-1] += PUSH
        self._inject("stuck")


# -- what fails -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failure:
    """How to make a row happen: the `limits` of the check, and the `event` with its check and code."""

    make: Callable[[Robot, Any], None]
    limits: dict[str, Any] = field(default_factory=dict)
    event: tuple[str, ...] = ()
    lasts_s: float = 0.0
    play: dict[str, Any] = field(default_factory=dict)


def _fails(call: str, kind: type[DriverError]) -> Callable[[Robot, Any], None]:
    def fail(*_: object) -> None:
        raise kind("servo 7", "broken")

    def make(robot: Robot, _actuators: Any) -> None:
        for name in (call, "halt") if call == "write" else (call,):
            vars(robot.driver)[name] = fail

    return make


def _blind(robot: Robot, _actuators: Any) -> None:
    read = robot.driver.read

    def read_fresh(state: ActuatorState) -> None:
        read(state)
        state.position[1] = np.nan

    vars(robot.driver)["read"] = read_fresh


def _oversleep(_robot: Robot, actuators: Any) -> None:
    actuators.clock.oversleep_s = LATE_S


def _fall_silent(robot: Robot, _actuators: Any) -> None:
    assert isinstance(robot, Spoken)
    robot.talks = False


WIDE = replace(UNLIMITED, temperature_c=1e3, effort=[None, 1e6], effort_s=1e3, stale_s=1e3, stall_s=1e3)
"""All checks are made, and take their turns, but fail only where a failure has a limit of its own."""
PATH = {"path_tolerance": [messages.OFF, 0.02]}
FAILURES = {
    "temperature beyond temperature_c": Failure(
        lambda _, actuators: actuators.heat(),
        {"temperature_c": 80.0},
        ("check_failed", "temperature", "HARDWARE_FAULT"),
    ),
    "effort beyond its limit for effort_s": Failure(
        lambda _, actuators: actuators.push(),
        {"effort": [None, 4.0], "effort_s": LASTS_S},
        ("check_failed", "effort", "HARDWARE_FAULT"),
        LASTS_S,
    ),
    "feedback older than stale_s": Failure(
        lambda _, actuators: actuators.stale(),
        {"stale_s": LASTS_S},
        ("check_failed", "stale", "COMM_LOST"),
        LASTS_S,
    ),
    "no position in the feedback for stale_s": Failure(
        _blind, {"stale_s": LASTS_S}, ("check_failed", "position", "COMM_LOST"), LASTS_S
    ),
    "position stall_error away for stall_s": Failure(
        lambda _, actuators: actuators.push(),
        {"stall_s": LASTS_S},
        ("check_failed", "stall", "PATH_TOLERANCE_VIOLATED"),
        LASTS_S,
    ),
    "path tolerance": Failure(lambda _, actuators: actuators.push(), play=PATH),
    "an error of the driver in a read": Failure(_fails("read", DriverError)),
    "an error of the driver in a write or halt": Failure(_fails("write", DriverError)),
    LOST: Failure(_fails("read", CommunicationLost)),
    "a tick later than max_lateness_s": Failure(
        _oversleep, event=("deadline_missed", "", ""), lasts_s=LATE_S
    ),
    "the daemon silent for daemon_timeout_s": Failure(_fall_silent, lasts_s=SILENT_S),
}

# -- what follows -----------------------------------------------------------------------------------------


class Spoken(Robot):
    """A robot with a daemon that sends heartbeats."""

    talks = True
    _heard = 0

    def hear(self) -> None:
        super().hear()
        self._heard += 1
        if self.talks and self._heard % 5 == 0:
            self.channel.send(messages.Heartbeat())


@contextmanager
def robot_of(folder: Path, failure: Failure) -> Iterator[tuple[Robot, Simulated]]:
    """Make a robot with the limits of a failure, and switch its torque on."""
    actuators = Simulated()
    robot = Spoken(
        folder,
        limits=replace(WIDE, **failure.limits),
        driver=actuators.driver,
        clock=actuators.clock,
        setup={"daemon_timeout_s": SILENT_S},
    )
    robot.always = failure.play
    try:
        robot.enable()
        yield robot, actuators
    finally:
        for name in ("read", "write", "halt"):
            vars(robot.driver).pop(name, None)
        robot.leave()


def what_follows(robot: Robot, actuators: Any, failure: Failure, most_s: float) -> tuple[str, float]:
    """Return what a failure leads to, in the words of the page, and after what time, in s."""
    before = robot.state(), robot.loop.player.torque
    robot.notices.clear()
    begun_s, reacted_s = robot.clock.now(), 0.0
    failure.make(robot, actuators)
    kind = failure.event[0] if failure.event else "fault"
    while not reacted_s and robot.clock.now() < begun_s + most_s + AFTERWARDS_S:
        robot.loop.step()
        robot.hear()
        if robot.loop.lost or robot.ended() or robot.events(kind) or robot.state() is not before[0]:
            reacted_s = robot.clock.now()
    robot.run_for(AFTERWARDS_S)
    assert not actuators.clock.oversleep_s
    if before[0] is not State.STOPPING and robot.state() is State.STOPPING:
        robot.step_until(robot.ended)
    return _in_words(robot, failure, before), reacted_s - begun_s


def _in_words(robot: Robot, failure: Failure, before: tuple[State, bool]) -> str:
    ends = robot.ends()
    assert not any(ended.details.get("reached_goal") for ended in ends)
    found, after = _found(robot), (robot.state(), robot.loop.player.torque)
    assert found in ([], [failure.event])
    if robot.loop.lost or (after[0] is not before[0] and after[0] is State.FAULT):
        return ", ".join(["offline" if robot.loop.lost else "fault", *(ended.code for ended in ends)])
    if ends:
        assert after == (State.IDLE, True)
        return ", ".join(["soft stop", *(ended.code for ended in ends)])
    assert after == before
    return "event" if found else NOTHING


def _found(robot: Robot) -> list[tuple[str, ...]]:
    return [
        (one.kind, (one.details or {}).get("check", ""), (one.details or {}).get("code", ""))
        for one in robot.notices_of(messages.Happened)
        if one.kind in {"check_failed", "deadline_missed"}
    ]


def hold(row: str, state: str, folder: Path) -> str:
    """Make a row happen in a state; return what follows, which has to come as soon as the page says."""
    failure = FAILURES[row]
    soon_s = HOW_SOON_S[CHECKED.rows[row][0]]
    looks = 2 if failure.lasts_s else 1  # from which its time counts, and in which it is over
    most_s = failure.lasts_s + looks * soon_s + TICK_S
    with robot_of(folder, failure) as (robot, actuators):
        STATES[state](robot)
        outcome, after_s = what_follows(robot, actuators, failure, most_s)
        if outcome != NOTHING:
            assert after_s <= most_s + 1e-9
        if outcome.startswith(("soft stop", "event")):
            assert after_s >= failure.lasts_s - TICK_S - 1e-9
        if state == "stopping" and robot.loop.player.execution is not None:
            robot.step_until(robot.ended)
            assert [ended.code for ended in robot.ends()] == ["CANCELED"]
    return outcome


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("row", CHECKED.rows)
def test_each_cell_is_so(tmp_path: Path, row: str, state: str) -> None:
    assert hold(row, state, tmp_path) == cell_of(row, state)
