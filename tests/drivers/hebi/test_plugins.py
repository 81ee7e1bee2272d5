"""What HEBI's arm plugins do to commands, compared with the plugins of hebi-py themselves."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

import hebi
from hebi._internal import plugins as vendor
from hebi._internal.plugins import double_shoulder_plugin

from motiond.drivers.base import (
    CommunicationLost,
    DriverConfigError,
    DriverError,
)
from tests.drivers.errors import message_of
from tests.drivers.hebi.arm import TICK_S, Arm
from tests.drivers.hebi.fake_hebi import FakeModule

if TYPE_CHECKING:
    from motiond.drivers.base import Floats
    from motiond.drivers.testing.rig import Clock

HRDF = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
JOINTS = tuple(f"J{number}" for number in range(1, 7))
POSITION = np.array([0.3, 0.9, -0.7, 0.4, 1.1, -0.2])
VELOCITY = np.array([0.4, -0.3, 0.2, 0.1, -0.5, 0.6])
ACCELERATION = np.array([2.0, -1.0, 3.0, 1.0, 0.5, -2.0])
STILL = np.zeros(6)
DYNAMICS = "- {type: DynamicsCompensationEffort, ramp_time: 0}"
DOUBLED = "- {type: DoubledJointMirror, group_family: [Arm], group_name: [J2B], index: 1}"
OFFSET = "- {type: EffortOffset, offset: [0, -7, 0, 0, 0, 0]}"


class PluginArm(Arm):
    """Six modules, perhaps one that doubles the second, and the driver of a file with plugins."""

    def __init__(self, clock: Clock, folder: Path, *plugins: str, **options: Any) -> None:
        path = folder / "arm.cfg.yaml"
        lines = ["version: 1.0", "families: [Arm]", f"names: [{', '.join(JOINTS)}]", f"hrdf: {HRDF}"]
        path.write_text("\n".join([*lines, "plugins:", *plugins]))
        modules = [FakeModule(name, where) for name, where in zip(JOINTS, POSITION.tolist(), strict=True)]
        doubled = [FakeModule("J2B", -POSITION[1])] if DOUBLED in plugins else []
        super().__init__(clock, [*modules, *doubled], JOINTS, config=path, **options)

    def send(self, position: Floats, velocity: Floats, effort: Any = np.nan, after_s: float = TICK_S) -> None:
        self.clock.now_s += after_s
        self.driver.read(self.state)
        self.write(position, velocity, effort)

    def speed_up(self) -> None:
        """Send two setpoints whose velocities give `ACCELERATION`."""
        self.send(POSITION, VELOCITY - ACCELERATION * TICK_S)
        self.send(POSITION, VELOCITY)


@pytest.fixture(scope="module")
def model() -> Any:
    return hebi.robot_model.import_from_hrdf(str(HRDF))


def vendors_arm(model: Any, effort: float = 0.0) -> Any:
    """Return what plugins of hebi-py see of an arm that is at `POSITION` and speeds up."""
    command, feedback = hebi.GroupCommand(6), SimpleNamespace(position=POSITION)
    command.position, command.velocity, command.effort = POSITION, VELOCITY, effort
    return SimpleNamespace(
        size=6,
        robot_model=model,
        pending_command=command,
        last_feedback=feedback,
        trajectory=SimpleNamespace(get_state=lambda _: (POSITION, VELOCITY, ACCELERATION)),
        _last_time=0.0,
        _com_jacobians=model.get_jacobians_mat("com", POSITION),
    )


def vendors_dynamics(model: Any) -> Floats:
    arm = vendors_arm(model)
    plugin = vendor.DynamicCompEffortPlugin(enabled=True, ramp_time=0.0)
    plugin.on_associated(arm)
    plugin.update(arm, TICK_S)
    efforts: Floats = np.array(arm.pending_command.effort, float)
    return efforts


def test_accelerates_the_masses_as_hebis_plugin_does(clock: Clock, tmp_path: Path, model: Any) -> None:
    arm = PluginArm(clock, tmp_path, DYNAMICS).hold()
    arm.speed_up()
    assert np.abs(vendors_dynamics(model)).max() > 0.3
    np.testing.assert_allclose(arm.efforts(), vendors_dynamics(model), atol=1e-4)


def test_a_first_setpoint_and_one_after_a_pause_give_no_acceleration(
    clock: Clock, tmp_path: Path, model: Any
) -> None:
    steady = model.get_dynamic_comp_efforts(POSITION, POSITION, VELOCITY, np.zeros(6))
    arm = PluginArm(clock, tmp_path, DYNAMICS).hold()
    arm.send(POSITION, VELOCITY - ACCELERATION)
    arm.send(POSITION, VELOCITY, after_s=6 * TICK_S)
    np.testing.assert_allclose(arm.efforts(), steady, atol=1e-4)
    arm.driver.set_period(2 * TICK_S)
    arm.send(POSITION, STILL)
    np.testing.assert_allclose(arm.efforts(), 0, atol=1e-4)


def test_a_step_of_velocity_asks_for_no_more_than_the_modules_have(
    clock: Clock, tmp_path: Path, model: Any
) -> None:
    arm = PluginArm(clock, tmp_path, DYNAMICS).hold()
    arm.send(POSITION, STILL)
    arm.send(POSITION, np.full(6, 50.0))
    assert (np.abs(arm.efforts()) <= model.max_efforts).all()
    assert np.abs(arm.efforts()).max() == pytest.approx(44, rel=1e-6)


def test_halting_accelerates_no_longer_and_keeps_what_carries(clock: Clock, tmp_path: Path) -> None:
    arm = PluginArm(clock, tmp_path, DYNAMICS, OFFSET).hold()
    arm.speed_up()
    assert abs(arm.efforts()[0]) > 0.05
    arm.driver.halt()
    arm.driver.halt()
    np.testing.assert_allclose(arm.efforts(), [0, -7, 0, 0, 0, 0], atol=1e-5)


def test_offsets_set_in_over_their_ramp_each_time_the_arm_is_enabled(clock: Clock, tmp_path: Path) -> None:
    arm = PluginArm(
        clock, tmp_path, "- {type: EffortOffset, ramp_time: 0.04, offset: [0, -7, 0, 0, 0, 0]}"
    ).hold()
    for _ in range(2):
        grown = [arm.efforts()[1]]
        for _ in range(6):
            arm.send(POSITION, STILL, effort=1.0)
            grown.append(arm.efforts()[1])
        assert grown == pytest.approx([0, -0.75, -2.5, -4.25, -6, -6, -6], abs=1e-5)
        arm.driver.disable()
        arm.driver.enable()


def test_a_second_module_gets_what_hebis_plugin_sends_it(
    clock: Clock, tmp_path: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # hebi-py 2.16.1 forgets to import it there, so that its plugin cannot be made.
    monkeypatch.setattr(double_shoulder_plugin, "GroupCommand", hebi.GroupCommand, raising=False)
    arm = PluginArm(clock, tmp_path, DOUBLED).hold()
    arm.send(POSITION, VELOCITY, effort=3.0)
    vendors = vendors_arm(model, effort=3.0)
    sent: list[Any] = []
    group = SimpleNamespace(size=1, send_command=sent.append)
    mirror = vendor.DoubledJointMirror(index=1, group=group, name="", enabled=True, ramp_time=0.0)
    mirror.update(vendors, TICK_S)
    (wanted,) = sent
    assert arm.lookup["J2B"].goal == pytest.approx(
        (wanted.position[0], wanted.velocity[0], wanted.effort[0]), rel=1e-6
    )
    assert arm.lookup["J2B"].goal == pytest.approx((-0.9, 0.3, -1.5), rel=1e-6)
    np.testing.assert_allclose(arm.efforts(), vendors.pending_command.effort, rtol=1e-6)


def test_modules_that_would_pull_against_each_other_are_not_enabled(clock: Clock, tmp_path: Path) -> None:
    arm = PluginArm(clock, tmp_path, DOUBLED)
    arm.lookup["J2B"].position = -0.84
    assert message_of(DriverError, arm.hold) == (
        "driver hebi: Arm/J2B is at -0.840 rad, and -0.900 is where Arm/J2 has the joint; two modules on one "
        "joint would pull against each other; set their positions with HEBI Scope, or correct `mirror`, "
        "then reset and enable the robot"
    )
    assert np.isnan(arm.lookup["J2"].goal).all()


def test_a_second_module_that_is_lost_ends_the_motion(clock: Clock, tmp_path: Path) -> None:
    arm = PluginArm(clock, tmp_path, DOUBLED).hold()
    arm.lookup["J2B"].mute = True
    for _ in range(12):
        arm.send(POSITION, STILL)
    assert message_of(CommunicationLost, arm.send, POSITION, STILL) == (
        "driver hebi: no feedback for 0.13 s from Arm/J2B; `feedback_timeout_s` is 0.125; "
        "check power, cables and the network"
    )


TWO_WAYS_OUT = """\
<robot version="1.6.0">
  <rigid-body mass="1" com_trans="0 0 0" output_trans="0 0 0.1"><output><end-effector/></output></rigid-body>
</robot>
"""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("", "`hrdf` names {}; there is no such file; correct `hrdf`"),
        (
            TWO_WAYS_OUT,
            (
                "{} cannot be read for dynamics compensation; "
                "Failed to import HRDF file {}: Element rigid-body cannot contain both output element "
                "attribute and output_trans.; correct `hrdf`"
            ),
        ),
    ],
    ids=["no file", "hebi-py refuses it"],
)
def test_a_model_that_cannot_be_used_is_reported_before_modules_are_looked_for(
    clock: Clock, tmp_path: Path, model: str, message: str
) -> None:
    path = tmp_path / "other.hrdf"
    if model:
        path.write_text(model)
    arm = PluginArm(clock, tmp_path, DYNAMICS, hrdf=path)
    for act in (arm.driver.rehearse, arm.driver.open):
        assert message_of(DriverConfigError, act) == f"driver hebi: {message.format(path, path)}"
    assert arm.lookup.groups == []
