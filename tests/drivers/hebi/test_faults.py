"""An arm whose modules fail stops, names them and the reason, and never jumps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import (
    CommunicationLost,
    DriverError,
    DriverTimeout,
    LifetimeExpired,
)
from motiond.drivers.hebi.lookup import Module, find_group
from tests.drivers.errors import message_of
from tests.drivers.hebi.arm import Arm
from tests.drivers.hebi.fake_hebi import FakeEntry, FakeLookup, FakeModule

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock


@pytest.fixture
def arm(clock: Clock) -> Arm:
    arm = Arm(clock).hold()
    arm.play(0.5)
    return arm


def test_a_lost_module_is_named_though_hebi_py_withholds_the_feedback_of_all(arm: Arm) -> None:
    arm.lookup.group.withholds = True
    arm.elbow.lost = True
    assert arm.fails(CommunicationLost) == (
        "driver hebi: no feedback for 0.13 s from Arm/elbow; `feedback_timeout_s` is 0.125; "
        "check power, cables and the network"
    )
    arm.halt()
    assert arm.base.goal[:2] == (0.5, 0.0)


def test_a_module_that_was_cut_off_and_released_does_not_jump_when_it_is_back(arm: Arm) -> None:
    """However long the silence is, the module either still holds or stays limp."""
    for silence_ticks in range(8, 35):
        arm.driver.enable()
        arm.play(0.5)
        arm.elbow.lost = True
        arm.halt(silence_ticks)
        limp = arm.clock.now_s > arm.elbow.alive_until_s
        arm.elbow.position = 0.1 if limp else 0.5
        arm.elbow.lost = False
        arm.halt(20)
        assert arm.elbow.position == pytest.approx(0.1 if limp else 0.5)


def test_a_module_that_comes_back_stays_where_it_sank_until_it_is_enabled(arm: Arm) -> None:
    arm.elbow.lost = True
    arm.fails(CommunicationLost)
    arm.halt()
    arm.elbow.position = -0.3
    arm.elbow.lost = False
    arm.halt()
    assert arm.positions == pytest.approx([0.5, -0.3])
    assert list(arm.driver.notices) == ["Arm/elbow: reports again; enable to take hold"]
    arm.driver.enable()
    arm.command.position.fill(np.nan)
    arm.tick()
    assert arm.positions == pytest.approx([0.5, -0.3], abs=1e-6)
    arm.play(0.4)
    assert arm.positions == pytest.approx([0.4, 0.4])


def test_counts_how_often_a_module_fell_silent_or_reported_an_error(arm: Arm) -> None:
    arm.elbow.lost = True
    arm.fails(CommunicationLost)
    arm.halt(5)
    arm.elbow.lost = False
    arm.halt(5)
    for state in (0, 1, 0):
        arm.base.mstop_state = state
        arm.halt(3)
    errors = arm.driver.errors
    assert errors.missed.tolist() == [0, 1]
    assert errors.reported.tolist() == [2, 0]


def test_errors_of_modules_are_neither_cleared_nor_do_modules_restart(arm: Arm) -> None:
    assert message_of(DriverError, arm.driver.clear, ["elbow"]) == (
        "driver hebi: cannot clear errors of elbow; its actuators take no such command; "
        "switch their power off and on"
    )


def test_does_not_take_hold_while_a_module_is_lost(arm: Arm) -> None:
    arm.driver.disable()
    arm.elbow.lost = True
    assert message_of(DriverTimeout, arm.driver.enable) == (
        "driver hebi: no feedback in 50 ms from Arm/elbow; check power and network"
    )
    assert np.isnan(arm.base.goal).all()


def test_a_module_that_released_is_named_and_not_driven_on(arm: Arm) -> None:
    arm.elbow.deaf = True
    assert arm.fails(LifetimeExpired) == (
        "driver hebi: Arm/elbow released; they hold no living command, though setpoints were sent; "
        "reset and enable the robot"
    )
    arm.elbow.deaf, arm.elbow.position = False, 0.1
    assert message_of(LifetimeExpired, arm.tick) == (
        "driver hebi: Arm/elbow released; they were lost, stopped or without a command; "
        "reset and enable the robot"
    )
    arm.halt()
    assert arm.positions == pytest.approx([0.5, 0.1])


def test_late_reports_from_before_enable_are_no_failure(clock: Clock) -> None:
    arm = Arm(clock).open()
    arm.play(0.0, ticks=10)
    arm.lookup.group.delay_s = 0.08
    arm.driver.enable()
    arm.play(0.1)
    assert arm.positions == pytest.approx([0.1, 0.1])


def test_a_pressed_m_stop_ends_the_motion_and_its_release_moves_nothing(arm: Arm) -> None:
    arm.elbow.mstop_state = 0
    message = (
        "driver hebi: the m-stop is pressed on Arm/elbow; their motors obey it and not motiond; "
        "release it, then reset and enable the robot"
    )
    assert arm.fails(DriverError, ticks=1) == message
    arm.halt()
    arm.elbow.position = -0.2
    arm.halt()
    assert message_of(DriverError, arm.driver.enable) == message
    arm.elbow.mstop_state = 1
    arm.halt()
    assert arm.positions == pytest.approx([0.5, -0.2])
    assert list(arm.driver.notices) == [
        "Arm/elbow: its m-stop is pressed",
        "Arm/elbow: its m-stop is released",
    ]
    arm.driver.enable()
    arm.play(0.0)
    assert arm.positions == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize(
    ("state", "notice"), [(2, "its motor is too hot"), (3, "its electronics are too hot")]
)
def test_a_module_that_switched_off_by_heat_ends_the_motion(arm: Arm, state: int, notice: str) -> None:
    arm.base.temperature_state = state
    assert arm.fails(DriverError) == (
        "driver hebi: too hot: Arm/base; they have switched their motors off; let them cool down, "
        "then reset and enable the robot"
    )
    assert list(arm.driver.notices) == [f"Arm/base: {notice}"]


def test_another_program_that_commands_a_module_ends_the_motion_and_prevents_the_next(arm: Arm) -> None:
    message = (
        "driver hebi: another program commands Arm/elbow; "
        "they take no one else's commands while its command lifetime lasts; close it, "
        "then reset and enable the robot"
    )
    arm.elbow.commanded_by_other = True
    assert arm.fails(DriverError) == message
    arm.driver.disable()
    assert message_of(DriverError, arm.driver.enable) == message


def test_position_limits_and_heat_are_reported_once_when_they_change(arm: Arm) -> None:
    for arm.elbow.position_limit_state in (2, 3, 3, 4, 2):
        arm.tick()
    for arm.base.temperature_state in (1, 1, 0):
        arm.tick()
    assert list(arm.driver.notices) == [
        "Arm/elbow: it is at its upper position limit",
        "Arm/elbow: it is above its upper position limit",
        "Arm/elbow: it is within its position limits again",
        "Arm/base: it limits its output because it is hot",
        "Arm/base: its temperature is normal again",
    ]


@pytest.mark.parametrize(
    ("position", "turns"), [(7.283, "+1"), (13.0, "+2"), (-6.0, "-1")], ids=["one on", "two on", "one back"]
)
def test_a_module_that_counts_another_turn_is_not_enabled(clock: Clock, position: float, turns: str) -> None:
    arm = Arm(clock, position_range={"elbow": [-1.5, 1.5]}).open()
    arm.base.position = arm.elbow.position = position
    assert message_of(DriverError, arm.driver.enable) == (
        f"driver hebi: Arm/elbow is at {position:.3f} rad, {turns} turns from its range of -1.5 to 1.5 rad; "
        "modules may count another turn once they were switched off; "
        "switch them on within their range, or set their position with HEBI Scope, "
        "then reset and enable the robot"
    )
    assert np.isnan(arm.elbow.goal).all()


@pytest.mark.parametrize(
    ("furthest", "position"),
    [(1.5, -1.6), (1.5, 1.65), (3.1, -3.25), (3.1, 3.25), (1.5, 1.0), (1.5, 3.0)],
    ids=["below", "above", "below a whole turn", "above a whole turn", "inside", "no turn"],
)
def test_a_module_that_is_no_turn_off_is_enabled_also_where_it_has_overshot(
    clock: Clock, furthest: float, position: float
) -> None:
    arm = Arm(clock, position_range={"elbow": [-furthest, furthest]}).open()
    arm.elbow.position = position
    arm.driver.enable()
    assert arm.elbow.position == pytest.approx(position, abs=1e-6)


def test_the_limits_stored_in_a_module_decide_its_turn(clock: Clock) -> None:
    arm = Arm(clock, [FakeModule("base", 6.4, limits=(-1.0, 1.0)), FakeModule("elbow", 6.4)]).open()
    assert arm.driver.warnings == []
    with pytest.raises(
        DriverError, match=r"Arm/base is at 6\.400 rad, \+1 turns from its range of -1 to 1 rad;"
    ):
        arm.driver.enable()


def test_reports_that_turns_are_not_checked_where_no_limits_are_known(clock: Clock) -> None:
    assert Arm(clock, of_groups={"reticent": True}).open().driver.warnings == [
        (
            "driver hebi: the modules did not report their position limits; their turns are not checked; "
            "set `position_range`"
        )
    ]


def test_two_modules_of_one_name_are_refused(clock: Clock) -> None:
    class Twice(FakeLookup):
        @property
        def entrylist(self) -> list[FakeEntry | None]:
            return [*super().entrylist, None, FakeEntry("Arm", "elbow")]

    assert message_of(
        DriverError, find_group, Twice([FakeModule("elbow")], clock), [Module("Arm", "elbow")], 0.1
    ) == (
        "driver hebi: 2 modules are called Arm/elbow; hebi-py would take any of them; "
        "rename all but one with HEBI Scope"
    )
