from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import Description, DriverConfigError
from motiond.drivers.hebi.config import load_hebi_config
from motiond.drivers.hebi.lookup import Module
from motiond.drivers.hebi.options import HebiOptions
from motiond.drivers.hebi.sender import Mirror
from motiond.drivers.hebi.setup import HebiSetup, set_up
from motiond.drivers.options import OptionsError
from motiond.drivers.registry import describe_robot
from tests.drivers.errors import message_of
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence

FILES = Path(__file__).parents[2] / "files"
ARM = FILES / "good" / "arm.cfg.yaml"
TWO = """\
version: 1.0
families: [Arm]
names: [base, elbow]
"""


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(*lines: str) -> Path:
        path = tmp_path / "two.cfg.yaml"
        path.write_text(TWO + "\n".join(lines))
        return path

    return written


def setup_of(path: Path, actuators: Sequence[str] = ("base", "elbow"), **options: Any) -> HebiSetup:
    return set_up(actuators, HebiOptions.model_validate({"config": path} | options))


def test_takes_everything_from_the_file_that_hebis_tools_write() -> None:
    names = load_hebi_config(ARM).names
    setup = setup_of(ARM, names)
    assert setup.modules[2] == Module("Arm", "J3_elbow")
    assert (setup.lifetime_s, setup.feedback_hz) == (0.25, 100)
    assert setup.gains == ARM.parent / "gains" / "A-2085-06.xml"
    assert setup.efforts.gravity is not None
    assert setup.efforts.hrdf == ARM.parent / "hrdf" / "A-2085-06.hrdf"
    assert setup.efforts.gravity.ramp_s == 5.0
    assert setup.efforts.gravity.base is None
    assert setup.warnings == ()


def test_options_come_before_the_file() -> None:
    names = load_hebi_config(ARM).names
    other = {"gains": "my.xml", "hrdf": "my.hrdf", "gravity_ramp_s": 0, "base_orientation": [0, 1, 0, 0]}
    setup = setup_of(ARM, names, command_lifetime_s=0.5, feedback_frequency_hz=50, **other)
    assert (setup.lifetime_s, setup.feedback_hz) == (0.5, 50)
    assert setup.gains == Path("my.xml")
    assert setup.efforts.gravity is not None
    assert setup.efforts.hrdf == Path("my.hrdf")
    assert setup.efforts.gravity.ramp_s == 0
    assert setup.efforts.gravity.base == pytest.approx((0, 1, 0, 0))
    assert setup_of(ARM, names, gravity_compensation=False).efforts.gravity is None


def test_the_joints_of_the_model_are_the_modules_of_the_file_in_whatever_order_they_are_driven(
    write: Any,
) -> None:
    setup = setup_of(write("hrdf: two.hrdf"), ("elbow", "base"), gravity_compensation=True)
    assert setup.order == (1, 0)
    assert setup.efforts.joints == (1, 0)
    three = HebiOptions.model_validate(
        {"families": "Arm", "names": ["a", "b", "c"], "hrdf": "x", "gravity_compensation": True}
    )
    assert set_up(["b", "c", "a"], three).efforts.joints == (2, 0, 1)


def test_takes_the_sensor_that_the_plugin_names(write: Any) -> None:
    path = write(
        "hrdf: two.hrdf",
        "plugins:",
        "- {type: GravityCompensationEffort, imu_feedback_index: 1, imu_frame_index: 2,",
        "   imu_rotation_offset: [0, -1, 0, 1, 0, 0, 0, 0, 1]}",
    )
    gravity = setup_of(path).efforts.gravity
    assert gravity is not None
    assert (gravity.imu.feedback_index, gravity.imu.frame_index) == (1, 2)
    assert gravity.imu.rotation.tolist() == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


def test_warns_of_what_it_does_not_apply(write: Any) -> None:
    path = write(
        "gains: {soft: soft.xml, stiff: stiff.xml}",
        "plugins:",
        "- {type: EndEffectorWrench}",
        "- {type: OvertorqueFaultMonitor, base_torque_error_limit: 5}",
    )
    assert setup_of(path).warnings == (
        f"{path}:6: plugin EndEffectorWrench is not applied; motiond has none; set its `enabled: false`",
        f"{path}:7: plugin OvertorqueFaultMonitor is not applied; motiond has none; set its `enabled: false`",
        (
            f"{path}:4: none of the gains soft, stiff is applied; motiond applies the set called 'default'; "
            "name it so, or set `gains` in the driver"
        ),
    )
    assert setup_of(path).gains is None


ALL = (
    "hrdf: two.hrdf",
    "plugins:",
    "- {type: GravityCompensationEffort, ramp_time: 5}",
    "- {type: DynamicsCompensationEffort, name: dynamicsComp, enabled: true, ramp_time: 4}",
    "- {type: EffortOffset, name: gasSpringCompensation, ramp_time: 3, offset: [0, -7]}",
    "- {type: DoubledJointMirror, group_family: [Arm], group_name: [elbow_b], index: 1}",
)


def test_applies_each_plugin_of_a_kit_and_reports_so(write: Any) -> None:
    path = write(*ALL)
    setup = setup_of(path, ("elbow", "base"))
    assert setup.warnings == ()
    efforts = setup.efforts
    assert (efforts.hrdf, efforts.joints, efforts.dynamics_ramp_s) == (path.parent / "two.hrdf", (1, 0), 4.0)
    assert setup.efforts.offset is not None
    assert (setup.efforts.offset.tolist(), setup.efforts.offset_ramp_s) == ([-7.0, 0.0], 3.0)
    assert setup.mirrors == (Mirror(Module("Arm", "elbow_b"), 0, -1.0),)
    assert setup.members == (Module("Arm", "elbow"), Module("Arm", "base"), Module("Arm", "elbow_b"))
    assert setup.notes == (
        f"{path}:6: plugin GravityCompensationEffort is applied",
        f"{path}:7: plugin DynamicsCompensationEffort is applied",
        f"{path}:8: plugin EffortOffset is applied",
        f"{path}:9: plugin DoubledJointMirror is applied",
    )


def test_options_switch_the_plugins_of_the_weight_and_of_acceleration_off(write: Any) -> None:
    path = write(*ALL)
    setup = setup_of(path, gravity_compensation=False, dynamics_compensation=False)
    assert (setup.efforts.gravity, setup.efforts.dynamics_ramp_s) == (None, None)
    assert setup.notes[:2] == (
        f"{path}:6: plugin GravityCompensationEffort is left out, as `gravity_compensation` is false",
        f"{path}:7: plugin DynamicsCompensationEffort is left out, as `dynamics_compensation` is false",
    )


def test_the_second_module_of_a_joint_that_is_not_driven_is_left_alone(write: Any) -> None:
    path = write("plugins:", "- {type: DoubledJoint, group_family: Arm, group_name: elbow_b, index: 1}")
    setup = setup_of(path, ["base"])
    assert setup.mirrors == ()
    assert setup.notes == (
        f"{path}:5: plugin DoubledJoint is left out, as no actuator drives Arm/elbow, which it doubles",
    )


@table(
    "text, message",
    ("user_data: " + "[" * 100_000, ":4: nests too deeply; 64 levels do; flatten it"),
    ("#" * 1_000_001, ": cannot be read; it has more than 1000000 bytes; correct `config`"),
)
def test_refuses_a_file_that_cannot_be_applied_and_names_the_line(
    write: Any, text: str, message: str
) -> None:
    path = write(text)
    assert message_of(DriverConfigError, setup_of, path) == str(path) + message.replace("{path}", str(path))


@table("line, actuators, options, message")
def test_refuses_what_cannot_be_driven(
    write: Any, line: str, actuators: list[str] | None, options: dict[str, Any], message: str
) -> None:
    assert (
        message_of(DriverConfigError, setup_of, write(line), actuators or ("base", "elbow"), **options)
        == f"driver hebi: {message}"
    )


@pytest.mark.parametrize("kind", ["DoubledJointMirror", "ImpedanceController", "OvertorqueFaultMonitor"])
@pytest.mark.parametrize("value", ["'false'", "0", "off_", "null", "2", "[]"])
def test_a_plugin_is_switched_off_by_false_alone(write: Any, kind: str, value: str) -> None:
    path = write(
        "plugins:", f"- {{type: {kind}, group_family: A, group_name: b, index: 0, enabled: {value}}}"
    )
    with pytest.raises(OptionsError) as caught:
        setup_of(path)
    given = {"'false'": "'false'", "off_": "'off_'", "null": "None"}.get(value, value)
    assert str(caught.value) == (
        f"{path}:5: option 'enabled' of plugin {kind} is {given}; it takes true and false alone; "
        "write one of them, without quotes"
    )


def test_a_file_describes_the_robot(write: Any) -> None:
    path = write("hrdf: ../two.hrdf", "user_data: {home_position: [0.5, -1]}")
    assert describe_robot("hebi", {"config": path}) == Description(
        path.parent / "../two.hrdf", ("base", "elbow"), {"home": {"base": 0.5, "elbow": -1.0}}, f"{path}:4"
    )
    assert describe_robot("hebi", {"families": "Arm"}) is None


def test_modules_of_one_name_are_reported_apart_by_their_families(tmp_path: Path) -> None:
    path = tmp_path / "pair.cfg.yaml"
    path.write_text("version: 1.0\nfamilies: [Left, Right]\nnames: [base, base]\n")
    found = describe_robot("hebi", {"config": path})
    assert found is not None
    assert found.joints == ("Left/base", "Right/base")


@pytest.mark.parametrize("home", ["[0.5]", "here", "[true, 1]", "[.inf, 0]", "{base: 1}"])
def test_a_home_position_of_another_kind_is_warned_of(write: Any, home: str) -> None:
    path = write(f"user_data: {{home_position: {home}}}")
    assert load_hebi_config(path).home_position is None
    assert setup_of(path).warnings == (
        (
            f"{path}: home_position is not taken as a pose; it is no list of 2 numbers in rad, "
            "one for each module; correct it, or give it another name"
        ),
    )


@table("name, message")
def test_refuses_a_wrong_robot_configuration(name: str, message: str) -> None:
    path = FILES / "bad" / name
    assert message_of(DriverConfigError, load_hebi_config, path) == message.replace("{path}", str(path))


def test_refuses_a_module_that_stands_twice_and_what_is_no_file(tmp_path: Path) -> None:
    path, pipe = tmp_path / "arm.cfg.yaml", tmp_path / "pipe.cfg.yaml"
    path.write_text("version: 1.0\nfamilies: [Arm]\nnames:\n- base\n- elbow\n- base\n")
    os.mkfifo(pipe)
    for file, message in (
        (path, ":6: module Arm/base stands twice; it moves one joint; remove one, or correct its family"),
        (pipe, ": cannot be read; it is no regular file; correct `config`"),
    ):
        assert message_of(DriverConfigError, load_hebi_config, file) == f"{file}{message}"


def test_reports_a_program_which_key_of_a_robot_configuration_is_wrong() -> None:
    with pytest.raises(OptionsError) as caught:
        load_hebi_config(FILES / "bad" / "no_names.cfg.yaml")
    assert [problem.option for problem in caught.value.problems] == [("names",)]
    assert str(caught.value).endswith("no_names.cfg.yaml: option 'names' is missing; set it")
