"""What each driver watches, in which states and how soon: the table of docs/explanations/checks.md."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import ActuatorCommand, ActuatorState, CommunicationLost, DriverError
from motiond.drivers.registry import make_driver
from motiond.drivers.testing.rig import Clock
from tests.drivers.dynamixel import bench as dynamixel
from tests.drivers.feetech import bench as feetech
from tests.drivers.hebi.arm import Arm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from motiond.drivers.base import Driver

PAGE = (Path(__file__).parents[2] / "docs" / "explanations" / "checks.md").read_text(encoding="utf-8")
STATES = ("holds", "halted", "released")
BENCHES: dict[str, Any] = {"dynamixel": dynamixel, "feetech": feetech}
TICK_S = 0.01
MOST_TICKS = 100
NOTHING = "\N{EN DASH}"


class Rehearsal:
    """One driver on a clock that stands still between ticks, and ways to make its actuators fail."""

    def __init__(self, driver: Driver, clock: Clock, wait: Callable[[], None] = lambda: None) -> None:
        self.driver, self.clock = driver, clock
        self._wait = wait
        self._command = ActuatorCommand(len(driver.actuators))
        self._state = ActuatorState(len(driver.actuators))

    def begin(self, state: str) -> None:
        """Bring the actuators into a state, in which all is well for a while."""
        self.driver.open()
        if state == "released":
            self.driver.disable()
        else:
            self.driver.enable()
        self.driver.notices.clear()
        for _ in range(20):
            assert self.tick(state) == ""
        if state == "holds":
            self.driver.verify()

    def tick(self, state: str) -> str:
        """Do what the loop does in one tick; return what follows from an error, or `event` of a notice."""
        try:
            if state == "holds":
                self.driver.write(self._command)
            elif state == "halted":
                self.driver.halt()
            self._wait()
            self.clock.now_s += TICK_S
            self.driver.read(self._state)
        except CommunicationLost:
            return "offline"
        except DriverError:
            return "fault"
        notices = [one for one in self.driver.notices if "simulated fault" not in one]
        self.driver.notices.clear()
        return "event" if notices and state == "released" else ""

    def verify(self) -> str:
        """Return whether the driver finds it out when it is asked."""
        try:
            self.driver.verify()
        except DriverError:
            return "yes"
        return NOTHING


@contextmanager
def simulated(kind: str, failure: str) -> Iterator[tuple[Rehearsal, Callable[[], None]]]:
    clock = Clock()
    options: dict[str, Any] = {"command_lifetime_s": 0.5}
    if kind == "composite":
        part = {"type": "sim", "command_lifetime_s": 0.5}
        options = {"parts": {"arm": {**part, "actuators": ["a"]}, "hand": {**part, "actuators": ["b"]}}}
    driver = make_driver(kind, options, ("a", "b"), clock)
    fault = (
        {"fault": failure}
        if failure in {"bus_lost", "lifetime_expiry"}
        else {"fault": failure, "actuator": "b"}
    )
    yield Rehearsal(driver, clock), lambda: driver.inject(fault)
    driver.close()


def _fail(one: Any, failure: str) -> None:
    match failure:
        case "torque off":
            one.set("torque_enable", 0)
        case "bus watchdog tripped":
            one.set("bus_watchdog", 0xFF)
        case "restarted":
            one.restart() if hasattr(one, "restart") else one.reboot()
            one._booted_s = -1.0
        case "shut down by a hardware error" | "reports overload":
            one.fail(0x20)
        case "no answer":
            one.mute = True


@contextmanager
def emulated(kind: str, failure: str) -> Iterator[tuple[Rehearsal, Callable[[], None]]]:
    maker = BENCHES[kind]
    servos = [maker.servo(number) for number in (1, 2, 7)]
    with maker.Bench(servos, command_lifetime_s=2.0) as bench:
        yield Rehearsal(bench.driver, bench.clock), lambda: _fail(servos[2], failure)


@contextmanager
def imitated(_kind: str, failure: str) -> Iterator[tuple[Rehearsal, Callable[[], None]]]:
    pytest.importorskip("hebi", reason="hebi-py is not installed")
    arm = Arm(Clock())
    failures: dict[str, dict[str, Any]] = {
        "m-stop pressed": {"mstop_state": 0},
        "too hot": {"temperature_state": 2},
        "commanded by another program": {"commanded_by_other": True},
        "no living command": {"deaf": True},
        "no feedback": {"lost": True},
    }

    def fail() -> None:
        for name, value in failures[failure].items():
            setattr(arm.elbow, name, value)

    yield Rehearsal(arm.driver, arm.clock), fail
    arm.driver.close()


MAKERS = {
    "sim": simulated,
    "composite": simulated,
    "dynamixel": emulated,
    "feetech": emulated,
    "hebi": imitated,
}


def rows() -> list[list[str]]:
    """Return the cells of the page's table."""
    section = PAGE.split("\n## What each driver watches\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip(" `") for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def found(kind: str, failure: str) -> list[str]:
    """Return what follows in each state, after how many ticks where it holds, and whether `verify` knows."""
    cells, ticks, verified = [], 0, ""
    for state in STATES:
        with MAKERS[kind](kind, failure) as (rehearsal, fail):
            rehearsal.begin(state)
            fail()
            number, follows = 0, ""
            while not follows and number < MOST_TICKS:
                number, follows = number + 1, rehearsal.tick(state)
            cells.append(follows or NOTHING)
            if state == "holds":
                ticks = number
    with MAKERS[kind](kind, failure) as (rehearsal, fail):
        rehearsal.begin("holds")
        fail()
        verified = rehearsal.verify()
    return [*cells, str(ticks), verified]


@pytest.mark.parametrize("row", rows(), ids=lambda row: " ".join(row[:2]))
def test_each_cell_of_the_table_is_so(row: list[str]) -> None:
    kind, failure, holds, halted, released, ticks, verified = row
    cells = found(kind, failure)
    assert [*cells[:3], cells[4]] == [holds, halted, released, verified]
    assert int(cells[3]) <= int(ticks)


def test_the_table_has_each_driver() -> None:
    assert {row[0] for row in rows()} == set(MAKERS)
