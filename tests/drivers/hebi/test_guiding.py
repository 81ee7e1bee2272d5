"""Guided modules: efforts alone, where model, gains and control strategy are such that they carry the arm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from motiond.drivers.base import DriverConfigError
from motiond.drivers.hebi.lookup import import_hebi
from tests.drivers.errors import message_of
from tests.drivers.hebi.arm import NAN, Arm
from tests.drivers.hebi.fake_hebi import EFFORT_CONTROL, FakeModule

if TYPE_CHECKING:
    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

HRDF = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
POSITION = [0.3, 0.9, -0.7, 0.4, 1.1, -0.2]
CANNOT = "driver hebi: the modules cannot carry the arm's weight"
MASSLESS = '<robot version="1.6.0"><joint axis="rz"/><joint axis="rz"/></robot>'


def arm_of(clock: Clock, settings: dict[str, float] = EFFORT_CONTROL, **options: Any) -> Arm:
    modules = [FakeModule(f"J{number}", at, settings=dict(settings)) for number, at in enumerate(POSITION)]
    given: dict[str, Any] = {"hrdf": HRDF, "gravity_compensation": True} | options
    return Arm(clock, modules, **given)


def weights(position: list[float]) -> Floats:
    model = import_hebi().robot_model.import_from_hrdf(str(HRDF))
    efforts: Floats = model.get_grav_comp_efforts(np.array(position), np.array([0.0, 0.0, -9.80665]))
    return efforts


def assert_sent(arm: Arm, position: Any, velocity: float, effort: Floats) -> None:
    """Compare with the last command that the modules have received, which came in single precision."""
    sent = np.transpose([module.goal for module in arm.modules])
    expected = [np.broadcast_to(values, 6) for values in (position, velocity, effort)]
    np.testing.assert_allclose(sent, expected, atol=1e-5)


def test_it_commands_the_weight_and_neither_positions_nor_velocities(clock: Clock) -> None:
    arm = arm_of(clock).open()
    arm.driver.guide()
    assert_sent(arm, NAN, NAN, weights(POSITION))
    for module in arm.modules:
        module.position += 0.1
    for _ in range(3):
        arm.tick()
    assert_sent(arm, NAN, NAN, weights([at + 0.1 for at in POSITION]))


def test_the_weight_is_carried_at_once_whatever_ramp_is_configured(clock: Clock) -> None:
    arm = arm_of(clock, gravity_ramp_s=5.0).hold()
    assert np.abs(arm.efforts()).max() < 1e-6
    arm.driver.guide()
    np.testing.assert_allclose(arm.efforts(), weights(POSITION), atol=1e-5)
    arm.driver.catch()
    np.testing.assert_allclose(arm.efforts(), weights(POSITION), atol=1e-5)
    assert_sent(arm, POSITION, 0.0, weights(POSITION))


def test_a_halt_holds_where_the_hand_has_left_the_arm(clock: Clock) -> None:
    arm = arm_of(clock).open()
    arm.driver.guide()
    for module in arm.modules:
        module.position += 0.1
    for _ in range(2):
        arm.tick()
    arm.tick(arm.driver.halt)
    there = [at + 0.1 for at in POSITION]
    assert_sent(arm, there, 0.0, weights(there))


def test_disabled_it_commands_nothing(clock: Clock) -> None:
    arm = arm_of(clock).open()
    arm.driver.guide()
    arm.driver.disable()
    arm.assert_sent(NAN, NAN, NAN)


def test_without_compensation_it_is_refused_before_it_is_open(clock: Clock) -> None:
    reason = "there is no gravity compensation; set `gravity_compensation` and `hrdf`"
    arm = arm_of(clock, gravity_compensation=False)
    assert message_of(DriverConfigError, arm.driver.refuse_guiding) == f"{CANNOT}; {reason}"


def test_a_model_without_masses_is_refused(clock: Clock, tmp_path: Path) -> None:
    hrdf = tmp_path / "arm.hrdf"
    hrdf.write_text(MASSLESS)
    arm = Arm(clock, hrdf=hrdf, gravity_compensation=True)
    arm.driver.refuse_guiding()
    arm.open()
    reason = f"{hrdf} has no masses; give its links and bodies masses"
    assert message_of(DriverConfigError, arm.driver.refuse_guiding) == f"{CANNOT}; {reason}"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "the control strategy of Arm/J0 is nothing"),
        ({"control_strategy": 0.0}, "the control strategy of Arm/J0 is 0"),
        ({"control_strategy": 1.0}, "the control strategy of Arm/J0 is 1"),
        (
            {"control_strategy": 3.0, "effort_kp": 0.0, "effort_feed_forward": 0.0},
            "the effort controller of Arm/J0 has neither `kp` nor `feed_forward`",
        ),
    ],
)
def test_modules_that_take_no_efforts_are_refused(
    clock: Clock, settings: dict[str, float], reason: str
) -> None:
    arm = arm_of(clock, settings).open()
    fix = "choose a `control_strategy`, or `gains`, with efforts"
    for call in (arm.driver.refuse_guiding, arm.driver.guide):
        assert message_of(DriverConfigError, call) == f"{CANNOT}; {reason}; {fix}"
    assert np.isnan(arm.efforts()).all()


@pytest.mark.parametrize("strategy", [2.0, 3.0, 4.0])
def test_each_strategy_with_an_effort_controller_will_do(clock: Clock, strategy: float) -> None:
    arm = arm_of(clock, EFFORT_CONTROL | {"control_strategy": strategy}).open()
    arm.driver.refuse_guiding()


def test_modules_that_do_not_report_their_settings_are_refused(clock: Clock) -> None:
    modules = [FakeModule(f"J{number}", at) for number, at in enumerate(POSITION)]
    arm = Arm(clock, modules, of_groups={"reticent": True}, hrdf=HRDF, gravity_compensation=True).open()
    assert "did not report a control strategy" in message_of(DriverConfigError, arm.driver.refuse_guiding)
