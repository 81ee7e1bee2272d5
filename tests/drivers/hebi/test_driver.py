from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import ActuatorState, DriverConfigError
from motiond.drivers.hebi.config import load_hebi_config
from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.lookup import Module, missing_modules
from motiond.drivers.hebi.options import HebiOptions
from motiond.drivers.registry import make_driver
from tests.drivers.errors import message_of
from tests.drivers.hebi.arm import NAN, PAIR, Arm
from tests.drivers.hebi.fake_hebi import FakeModule
from tests.tables import table

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock

FILES = Path(__file__).parents[2] / "files"


@pytest.fixture
def arm(clock: Clock) -> Arm:
    return Arm(clock).hold()


def test_sends_the_last_position_again_where_none_is_commanded_but_none_beside_a_velocity(arm: Arm) -> None:
    arm.write(position=[0.1, -0.2])
    arm.write(position=[NAN, 0.3])
    arm.assert_sent([0.1, 0.3], [NAN, NAN])
    arm.write(position=[0.2, NAN], velocity=[NAN, 1])
    arm.assert_sent([0.2, NAN], [NAN, 1.0])


def test_releases_with_an_empty_command_that_hardly_lives(arm: Arm, clock: Clock) -> None:
    arm.driver.disable()
    arm.assert_sent()
    assert arm.elbow.alive_until_s == pytest.approx(clock.now_s + 0.001)
    assert arm.lookup.group.command_lifetime == 250


def test_halt_keeps_the_effort_that_holds_the_arm_up(arm: Arm) -> None:
    arm.write(position=[0.5, 0.5], velocity=[1, 1], effort=[2, 3])
    for _ in range(2):
        arm.driver.halt()
        arm.base.position = arm.elbow.position = 9.0
    arm.assert_sent([0.5, 0.5], [0.0, 0.0], [2.0, 3.0])


def test_the_group_has_the_lifetime_and_reports_at_the_rate_of_the_loop_unless_another_is_set(
    clock: Clock,
) -> None:
    for wanted_hz, feedback_hz in ((None, 250), (50, 50)):
        arm = Arm(clock, command_lifetime_s=0.15, feedback_frequency_hz=wanted_hz).open()
        arm.driver.set_period(0.004)
        group = arm.lookup.group
        assert (group.command_lifetime, round(group.feedback_frequency)) == (150, feedback_hz)


def test_keeps_the_last_feedback_and_its_stamp_until_new_comes(arm: Arm, clock: Clock) -> None:
    arm.write(position=[0.4, 0.6])
    arm.elbow.temperature_c = 35.0
    state = ActuatorState(len(PAIR))
    for silence_s in (0.0, 0.1):
        arm.base.mute = arm.elbow.mute = silence_s > 0
        clock.now_s += silence_s
        arm.driver.read(state)
        np.testing.assert_allclose(state.position, [0.4, 0.6], rtol=1e-6)
        assert state.temperature_c.tolist() == [30.0, 35.0]
        assert (state.stamp_s == clock.now_s - silence_s).all()


@table("found, message")
def test_reports_which_modules_are_missing(found: list[str], message: str) -> None:
    wanted = [Module("Arm", name) for name in PAIR]
    assert str(missing_modules(wanted, {Module("Arm", name) for name in found}, 3)) == message


def test_reports_how_to_install_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hebi", None)
    driver = make_driver("hebi", {"families": "Arm"}, PAIR)
    assert message_of(DriverConfigError, driver.open) == (
        "driver hebi: hebi-py cannot be imported; import of hebi halted; None in sys.modules; "
        "pip install 'motiond[hebi]'"
    )


def test_matches_modules_by_name_where_all_are_named() -> None:
    options = HebiOptions.model_validate({"families": ["Arm", "Hand"], "names": ["elbow", "base"]})
    assert HebiDriver(PAIR, options).modules == (Module("Hand", "base"), Module("Arm", "elbow"))


def test_a_robot_configuration_sets_up_the_group(clock: Clock, tmp_path: Path) -> None:
    path, text = tmp_path / "arm.cfg.yaml", (FILES / "good" / "arm.cfg.yaml").read_text()
    path.write_text(text.replace('gains:\n  default: "gains/A-2085-06.xml"\n', ""))
    arm = Arm(
        clock,
        [FakeModule(name) for name in load_hebi_config(path).names],
        config=path,
        gravity_compensation=False,
    )
    assert arm.driver.modules[2] == Module("Arm", "J3_elbow")
    arm.open()
    assert (arm.lookup.group.command_lifetime, arm.lookup.group.feedback_frequency) == (250, 100)
