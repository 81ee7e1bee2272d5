from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from motiond.drivers.base import (
    ActuatorCommand,
    ActuatorState,
    CommunicationLost,
    Driver,
    DriverConfigError,
    DriverError,
    DriverTimeout,
)
from motiond.drivers.composite.driver import CompositeDriver, SetpointDelay
from motiond.drivers.composite.options import CompositeOptions
from motiond.drivers.options import check, resolved
from motiond.drivers.registry import check_options, make_driver
from motiond.drivers.sim.driver import SimOptions
from tests.contract.fragile_sim import FragileSim
from tests.drivers.errors import message_of
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

ACTUATORS = ("shoulder", "finger", "elbow")
PERIOD_S = 0.01


@dataclass
class Robot:
    """An arm and a hand on buses of their own, under one driver."""

    clock: Clock
    sims: dict[str, FragileSim] = field(default_factory=dict)

    def make(
        self, arm: Mapping[str, Any] | None = None, hand: Mapping[str, Any] | None = None, **options: Any
    ) -> CompositeDriver:
        parts = {
            "arm": {"type": "sim", "actuators": ["shoulder", "elbow"], **(arm or {})},
            "hand": {"type": "sim", "actuators": ["finger"], **(hand or {})},
        }
        checked = check("driver composite", CompositeOptions, {"parts": parts, **options})
        self.driver = CompositeDriver(ACTUATORS, checked, self.clock, self._make_part)
        return self.driver

    def open(self, **options: Any) -> CompositeDriver:
        driver = self.make(**options)
        driver.open()
        return driver

    def hold(self, **options: Any) -> CompositeDriver:
        driver = self.open(**options)
        driver.set_period(PERIOD_S)
        driver.enable()
        return driver

    def _make_part(
        self, _: str, options: Mapping[str, Any], actuators: Sequence[str], now: Callable[[], float]
    ) -> Driver:
        sim = FragileSim(actuators, SimOptions(**options), now)
        self.sims["hand" if "finger" in actuators else "arm"] = sim
        return sim

    def write(self, *position: float) -> None:
        command = ActuatorCommand(3)
        command.position[:] = position
        self.driver.write(command)
        self.clock.now_s += PERIOD_S

    def read(self) -> ActuatorState:
        state = ActuatorState(3)
        self.driver.read(state)
        return state

    def sent(self, part: str) -> Floats:
        return np.array(self.sims[part].sent)

    def holds(self, part: str) -> bool:
        plant = self.sims[part]._plant
        return plant is not None and plant.torque


@pytest.fixture
def robot(clock: Clock) -> Robot:
    return Robot(clock)


def test_gives_each_part_its_own_columns(robot: Robot) -> None:
    robot.hold(arm={"initial": {"shoulder": 1, "elbow": 3}}, hand={"initial": 2})
    assert robot.read().position.tolist() == [1, 2, 3]
    robot.write(4, 5, 6)
    assert robot.sent("arm").tolist() == [[4, 6]]
    assert robot.sent("hand").tolist() == [[5]]


def test_writes_and_reads_a_part_at_its_own_rate(robot: Robot) -> None:
    driver = robot.hold(hand={"rate_divisor": 3})
    stamps = []
    for tick in range(7):
        robot.write(tick, tick, tick)
        stamps.append(robot.read().stamp_s - robot.clock.now_s)
    assert robot.sent("arm")[:, 0].tolist() == [0, 1, 2, 3, 4, 5, 6]
    assert robot.sent("hand")[:, 0].tolist() == [0, 3, 6]
    np.testing.assert_allclose([stamp[0] for stamp in stamps], 0, atol=1e-9)
    age = [0, PERIOD_S, 2 * PERIOD_S]
    np.testing.assert_allclose([-stamp[1] for stamp in stamps], [*age, *age, 0], atol=1e-9)
    assert driver.max_rate_hz == 2000


def test_a_slow_part_bounds_the_rate_of_all_by_its_divisor(robot: Robot, monkeypatch: Any) -> None:
    monkeypatch.setattr(FragileSim, "max_rate_hz", 100.0)
    assert robot.make(arm={"rate_divisor": 5}, hand={"rate_divisor": 2}).max_rate_hz == 200


def test_holds_the_faster_part_back_by_whole_setpoints_bit_for_bit(robot: Robot) -> None:
    robot.hold(hand={"latency_s": 2 * PERIOD_S})
    rows = np.random.default_rng(1).uniform(-1, 1, (6, 3))
    for row in rows:
        robot.write(*row)
    assert robot.sent("hand").tolist() == rows[:, 1:2].tolist()
    assert np.isnan(robot.sent("arm")[:2]).all()
    assert robot.sent("arm")[2:].tolist() == rows[:-2, ::2].tolist()


def test_interpolates_where_a_latency_is_no_whole_number_of_ticks(robot: Robot) -> None:
    robot.hold(hand={"latency_s": 1.25 * PERIOD_S})
    for position in (0.0, 1.0, 3.0, 3.0):
        robot.write(position, position, position)
    np.testing.assert_allclose(robot.sent("arm")[:, 0], [np.nan, np.nan, 0.75, 2.5])


@settings(derandomize=True, max_examples=200)
@given(rows=arrays(float, (20, 3, 2), elements=st.floats(-10, 10)), delay=st.floats(0, 4))
def test_no_delay_leaves_what_was_planned_or_makes_a_larger_step(rows: Floats, delay: float) -> None:
    rows[14:] = rows[14]
    held, out = SetpointDelay(2), np.empty_like(rows)
    held.set_delay(delay)
    for row, taken in zip(rows, out, strict=True):
        held.put(row)
        held.take(taken)
    begun = int(delay + 1e-6) + 1
    newer, older, taken = rows[1 : len(rows) - begun + 1], rows[: len(rows) - begun], out[begun:]
    assert (taken >= np.minimum(older, newer) - 1e-12).all()
    assert (taken <= np.maximum(older, newer) + 1e-12).all()
    assert (np.abs(np.diff(taken, axis=0)) <= np.abs(np.diff(rows, axis=0)).max(axis=0) + 1e-12).all()
    np.testing.assert_allclose(out[-1], rows[-1], atol=1e-12)


def test_a_new_rate_loses_no_setpoint_that_is_on_its_way(robot: Robot) -> None:
    driver = robot.hold(hand={"latency_s": 4 * PERIOD_S})
    for position in range(5):
        robot.write(*[position] * 3)
    driver.set_period(2 * PERIOD_S)
    for _ in range(3):
        robot.write(4, 4, 4)
    assert robot.sent("arm")[4:, 0].tolist() == [0, 3, 4, 4]


def test_enabling_drops_what_was_on_its_way(robot: Robot) -> None:
    driver = robot.hold(hand={"latency_s": 3 * PERIOD_S})
    for _ in range(5):
        robot.write(1, 1, 1)
    driver.disable()
    driver.enable()
    before = len(robot.sims["arm"].sent)
    for _ in range(4):
        robot.write(0.5, 0.5, 0.5)
    np.testing.assert_array_equal(robot.sent("arm")[before:, 0], [np.nan, np.nan, np.nan, 0.5])


def test_opens_all_or_none_and_reports_all_that_failed(robot: Robot) -> None:
    driver = robot.make(hand={"trace": "/no folder/hand.npy"})
    robot.sims["arm"].lost = True
    with pytest.raises(CommunicationLost) as caught:
        driver.open()
    assert str(caught.value) == (
        "part arm: driver sim: the bus is gone; check the cable\n"
        "part hand: driver sim: /no folder/hand.npy cannot be opened; No such file or directory; "
        "check `plant` and `trace`"
    )
    assert caught.value.where == "part arm: driver sim"


def test_a_part_that_fails_halts_all_of_them(robot: Robot) -> None:
    robot.hold()
    robot.write(1, 1, 1)
    robot.sims["hand"].lost = True
    assert (
        message_of(CommunicationLost, robot.write, 1, 1, 1)
        == "part hand: driver sim: the bus is gone; check the cable"
    )
    assert robot.sims["arm"].calls[-2:] == ["write", "halt"]
    assert robot.sims["hand"].calls[-2:] == ["write", "halt"]
    assert robot.sims["arm"]._halted


def test_an_error_that_is_no_drivers_own_is_reported_too(robot: Robot, monkeypatch: Any) -> None:
    robot.hold()

    def stumble(_: ActuatorState) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(robot.sims["hand"], "read", stumble)
    with pytest.raises(DriverError) as caught:
        robot.read()
    assert str(caught.value) == "part hand: ZeroDivisionError: division by zero"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("failing", ["arm", "hand"])
@pytest.mark.parametrize("call", ["halt", "disable"])
def test_reaches_every_part_though_one_fails(robot: Robot, failing: str, call: str) -> None:
    driver = robot.hold()
    robot.sims[failing].lost = True
    assert (
        message_of(CommunicationLost, getattr(driver, call))
        == f"part {failing}: driver sim: the bus is gone; check the cable"
    )
    assert [sim.calls[-1] for sim in robot.sims.values()] == [call, call]


def test_halts_a_slow_part_at_once_and_then_at_its_own_rate(robot: Robot) -> None:
    driver = robot.hold(hand={"rate_divisor": 4})
    robot.write(1, 1, 1)
    for _ in range(9):
        driver.halt()
    assert robot.sims["arm"].calls.count("halt") == 9
    assert robot.sims["hand"].calls.count("halt") == 3


def test_takes_hold_of_all_parts_or_of_none(robot: Robot) -> None:
    driver = robot.open()
    robot.sims["hand"].silent = True
    with pytest.raises(DriverTimeout):
        driver.enable()
    assert not robot.holds("arm")


def test_does_not_drop_a_part_that_held_when_another_cannot_be_enabled_again(robot: Robot) -> None:
    driver = robot.hold()
    robot.sims["hand"].silent = True
    with pytest.raises(DriverTimeout):
        driver.enable()
    assert robot.holds("arm")


def test_leaves_a_failed_part_out_where_configured_so(robot: Robot) -> None:
    driver = robot.hold(on_part_failure="leave_out")
    robot.write(1, 1, 1)
    robot.sims["hand"].lost = True
    robot.write(2, 2, 2)
    state = robot.read()
    assert list(driver.notices) == [
        "part hand: driver sim: the bus is gone; check the cable; left out until the robot is enabled again"
    ]
    assert np.isfinite(state.position[[0, 2]]).all()
    assert np.isnan(state.position[1])
    assert robot.sent("arm")[:, 0].tolist() == [1, 2]
    driver.halt()
    driver.disable()


def test_enabling_brings_back_a_part_that_was_left_out(robot: Robot) -> None:
    driver = robot.hold(on_part_failure="leave_out")
    robot.sims["hand"].lost = True
    robot.write(0, 0, 0)
    with pytest.raises(CommunicationLost, match=r"^part hand: driver sim: the bus is gone"):
        driver.enable()
    assert robot.holds("arm")
    robot.sims["hand"].lost = False
    driver.enable()
    robot.write(0.5, 0.5, 0.5)
    assert robot.sims["hand"].calls[-3:] == ["enable", "enable", "write"]
    assert np.isfinite(robot.read().position).all()


def test_fails_once_no_part_is_left(robot: Robot) -> None:
    robot.hold(on_part_failure="leave_out")
    robot.sims["hand"].lost = True
    robot.write(0, 0, 0)
    robot.sims["arm"].silent = True
    with pytest.raises(DriverTimeout, match=r"^part arm: driver sim: no answer$"):
        robot.write(0, 0, 0)


def test_a_rate_that_one_part_refuses_leaves_all_at_the_former(robot: Robot, monkeypatch: Any) -> None:
    driver = robot.hold(hand={"command_lifetime_s": 0.1, "rate_divisor": 2})
    periods: list[float] = []
    monkeypatch.setattr(robot.sims["arm"], "set_period", periods.append)
    assert message_of(DriverConfigError, driver.set_period, 0.02) == (
        "part hand: driver sim: a command lifetime of 0.1 s is too short for a tick rate of 25 Hz; "
        "it must last 3 ticks; set `command_lifetime_s` to 0.12 or more"
    )
    assert periods == [0.02, PERIOD_S]


def test_rehearses_every_part_and_reports_all_that_is_wrong(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = robot.make()
    robot.sims["arm"].warnings.append("the bus is slow")
    assert driver.rehearse() == ("part arm: the bus is slow",)

    def refuse(sim: FragileSim) -> tuple[str, ...]:
        raise DriverConfigError(sim.actuators[0], "has no gains")

    monkeypatch.setattr(FragileSim, "rehearse", refuse)
    assert (
        message_of(DriverConfigError, driver.rehearse)
        == "part arm: shoulder: has no gains\npart hand: finger: has no gains"
    )


def test_passes_on_notes_warnings_and_notices_with_the_parts_name(
    robot: Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = robot.make()
    monkeypatch.setattr(FragileSim, "notes", property(lambda sim: (f"{sim.actuators[0]} has a mirror",)))
    assert driver.notes == ("part arm: shoulder has a mirror", "part hand: finger has a mirror")
    robot.sims["arm"].warnings.append("the bus is slow")
    driver.open()
    robot.sims["hand"].notices.append("finger is at its limit")
    robot.read()
    assert driver.warnings == ["part arm: the bus is slow"]
    assert list(driver.notices) == ["part hand: finger is at its limit"]
    assert not robot.sims["hand"].notices


@pytest.mark.parametrize(
    ("fault", "hit"),
    [
        ({"part": "hand", "fault": "stuck"}, ["hand"]),
        ({"actuator": "elbow", "fault": "stuck"}, ["arm"]),
        ({"fault": "stuck"}, ["arm", "hand"]),
    ],
)
def test_faults_go_to_the_part_that_they_name(
    robot: Robot, monkeypatch: Any, fault: dict[str, str], hit: list[str]
) -> None:
    driver = robot.open()
    met: list[str] = []
    for name, sim in robot.sims.items():
        monkeypatch.setattr(sim, "inject", lambda given, name=name: met.append(f"{name} {given['fault']}"))
    driver.inject(fault)
    assert met == [f"{name} stuck" for name in hit]


@table("fault, message")
def test_refuses_a_fault_of_what_is_not_there(robot: Robot, fault: dict[str, str], message: str) -> None:
    driver = robot.open()
    assert message_of(DriverConfigError, driver.inject, fault) == message


ARM = {"type": "sim", "actuators": ["shoulder", "elbow"]}


def test_finds_the_paths_in_the_options_of_its_parts() -> None:
    given = {"parts": {"arm": {**ARM, "trace": "arm.npy", "noise": {"elbow": 0.1}}}}
    found = resolved(check_options("composite", given), given, Path("/etc/motiond").joinpath)
    assert found == {
        "parts": {"arm": {**ARM, "trace": Path("/etc/motiond/arm.npy"), "noise": {"elbow": 0.1}}}
    }


def test_a_part_that_holds_as_it_was_left_is_not_released_where_another_cannot_hold(
    robot: Robot, monkeypatch: Any
) -> None:
    def refuse() -> None:
        raise DriverError("finger", "its torque is refused")

    driver = robot.hold()
    driver.close()
    driver.open()
    robot.read()
    monkeypatch.setattr(robot.sims["hand"], "enable", refuse)
    assert message_of(DriverError, driver.enable) == "part hand: finger: its torque is refused"
    assert robot.holds("arm")
    driver.disable()
    with pytest.raises(DriverError):
        driver.enable()
    assert not robot.holds("arm")


def test_restarts_go_to_the_parts_that_have_the_actuators(robot: Robot, monkeypatch: Any) -> None:
    driver = robot.make()
    restarted: list[str] = []
    monkeypatch.setattr(FragileSim, "reboot", lambda _, names: restarted.extend(names))
    driver.reboot(["elbow"])
    assert restarted == ["elbow"]
    driver.reboot(["finger", "shoulder"])
    assert sorted(restarted) == ["elbow", "finger", "shoulder"]


def test_errors_are_cleared_in_the_parts_that_have_the_actuators(robot: Robot, monkeypatch: Any) -> None:
    driver = robot.make()
    cleared: list[str] = []
    monkeypatch.setattr(FragileSim, "clear", lambda _, names: cleared.extend(names))
    driver.clear(["elbow"])
    assert cleared == ["elbow"]
    driver.clear(["finger", "shoulder"])
    assert sorted(cleared) == ["elbow", "finger", "shoulder"]


def test_counts_of_errors_come_from_the_parts_of_the_actuators(robot: Robot) -> None:
    driver = robot.open()
    robot.sims["arm"].errors.missed[1] += 2
    robot.sims["hand"].errors.restarts[0] += 1
    counted = driver.errors
    of = {name: place for place, name in enumerate(driver.actuators)}
    assert (counted.missed[of["elbow"]], counted.restarts[of["finger"]]) == (2, 1)
    assert counted.values.sum() == 3


def test_what_only_restarts_is_restarted_to_clear_its_errors() -> None:
    port = {"port": "/dev/ttyUSB9", "baud_rate": 1_000_000, "ids": {"finger": 1}}
    hand = make_driver("dynamixel", {"ports": [port]}, ["finger"])
    assert message_of(DriverConfigError, hand.clear, ["finger"]) == (
        "driver dynamixel: cannot clear errors of finger; its actuators take no such command; "
        "restart them: `motiond reboot ROBOT finger`"
    )


def test_a_composite_refuses_to_clear_what_one_of_its_parts_refuses_to_clear() -> None:
    port = {"port": "/dev/ttyUSB9", "baud_rate": 1_000_000, "ids": {"finger": 1}}
    parts = {"arm": ARM, "hand": {"type": "dynamixel", "actuators": ["finger"], "ports": [port]}}
    driver = make_driver("composite", {"parts": parts}, ACTUATORS)
    driver.refuse_reboot(["finger", "elbow"])
    assert message_of(DriverConfigError, driver.refuse_clear, ["finger", "elbow"]) == (
        "driver dynamixel: cannot clear errors of finger; its actuators take no such command; "
        "restart them: `motiond reboot ROBOT finger`"
    )
    assert message_of(DriverError, driver.reboot, ["finger"]).startswith(
        "/dev/ttyUSB9: cannot be opened; there is no such port; "
    )
