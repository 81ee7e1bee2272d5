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
from motiond.drivers.hebi.setup import DynamicsSetup, HebiSetup, set_up
from motiond.drivers.options import OptionsError
from motiond.drivers.registry import describe_robot

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
    assert setup.efforts.gravity.hrdf == ARM.parent / "hrdf" / "A-2085-06.hrdf"
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
    assert setup.efforts.gravity.hrdf == Path("my.hrdf")
    assert setup.efforts.gravity.ramp_s == 0
    assert setup.efforts.gravity.base == pytest.approx((0, 1, 0, 0))
    assert setup_of(ARM, names, gravity_compensation=False).efforts.gravity is None


def test_the_joints_of_the_model_are_the_modules_of_the_file_in_whatever_order_they_are_driven(
    write: Any,
) -> None:
    setup = setup_of(write("hrdf: two.hrdf"), ("elbow", "base"), gravity_compensation=True)
    assert setup.order == (1, 0)
    assert setup.efforts.gravity is not None
    assert setup.efforts.gravity.joints == (1, 0)
    three = HebiOptions.model_validate(
        {"families": "Arm", "names": ["a", "b", "c"], "hrdf": "x", "gravity_compensation": True}
    )
    gravity = set_up(["b", "c", "a"], three).efforts.gravity
    assert gravity is not None
    assert gravity.joints == (2, 0, 1)


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
    assert setup.efforts.dynamics == DynamicsSetup(path.parent / "two.hrdf", (1, 0), 4.0)
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
    assert (setup.efforts.gravity, setup.efforts.dynamics) == (None, None)
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


KNOWN = (
    "motiond knows GravityCompensationEffort, DynamicsCompensationEffort, EffortOffset, DoubledJointMirror, "
    "DoubledJoint"
)
NO_MODEL = "compensation needs a model; there is none; set `hrdf`"
ONE_OF_A_TYPE = "HEBI's library takes one of a type"
IMPEDANCE = (
    "plugin ImpedanceController cannot be applied; its spring needs a fast and steady loop of its own, "
    "and motiond sends a motion's rows; set its `enabled: false`"
)
KEYS = (
    "it takes command_lifetime, families, feedback_frequency, gains, hrdf, names, plugins, user_data, version"
)
TURN = "it should be a rotation by rows: of length 1, at right angles, right-handed"


def plugins(*kinds: str) -> str:
    """Return the line with plugins, which is the fourth of the file."""
    return f"plugins: [{', '.join(f'{{type: {kind}}}' for kind in kinds)}]"


REFUSED = [
    pytest.param(
        plugins("ImpedanceController, gains_in_end_effector_frame: true, kp: [1, 1, 1, 0, 0, 0]"),
        ":4: " + IMPEDANCE,
        id="impedance",
    ),
    pytest.param(
        plugins("DynamicCompensationEffort"),
        f":4: plugin DynamicCompensationEffort cannot be applied; {KNOWN}; "
        "did you mean 'DynamicsCompensationEffort'?",
        id="unknown",
    ),
    pytest.param(
        plugins("EffortOffset, offset: 1", "EffortOffset, offset: 2"),
        f":4: a second plugin EffortOffset; {ONE_OF_A_TYPE}; join them, or set its `enabled: false`",
        id="second",
    ),
    pytest.param(
        plugins(
            "DoubledJointMirror, group_family: Arm, group_name: b, index: 0",
            "DoubledJoint, group_family: Arm, group_name: c, index: 1",
        ),
        f":4: a second plugin DoubledJoint; {ONE_OF_A_TYPE}; set its `enabled: false`",
        id="second mirror",
    ),
    pytest.param(
        plugins("EffortOffset, offset: [1, 2, 3]"),
        ":4: plugin EffortOffset has 3 efforts for 2 modules; "
        "it takes one for all of them, or one for each; correct `offset`",
        id="offsets",
    ),
    pytest.param(
        plugins("EffortOffset, offset: [1, 1000]"),
        ":4: option 'offset.1' is 1000; it should be less than or equal to 160; correct it",
        id="strong",
    ),
    pytest.param(
        plugins("DoubledJointMirror, group_Family: Arm, group_name: b, index: 1"),
        ":4: option 'group_family' is missing; set it\n"
        "{path}:4: unknown option 'group_Family'; it takes enabled, group_family, group_name, index, "
        "mirror, name, ramp_time, type; did you mean 'group_family'?",
        id="key",
    ),
    pytest.param(
        plugins("DoubledJointMirror, group_family: Arm, group_name: b, index: 2"),
        ":4: plugin DoubledJointMirror doubles module 2; there are 2 modules, counted from 0; "
        "correct `index`",
        id="index",
    ),
    pytest.param(
        plugins("DoubledJointMirror, group_family: Arm, group_name: elbow, index: 0"),
        ":4: plugin DoubledJointMirror lets Arm/elbow follow; it is a module of the arm "
        "itself, and would get two commands; correct `group_name`, or take it out of `names`",
        id="itself",
    ),
    pytest.param(
        plugins("GravityCompensationEffort, imu_rotation_offset: [1, 0, 0, 0, 1, 0, 0, 0, -1]"),
        f":4: option 'imu_rotation_offset' is [1, 0, 0, 0, 1, 0, 0, 0, -1]; {TURN}",
        id="no turn",
    ),
    pytest.param(
        "plugins: GravityCompensationEffort",
        ":4: option 'plugins' is 'GravityCompensationEffort'; it should be a valid list; correct it",
        id="no list",
    ),
    pytest.param(
        plugins("EffortOffset, offset: 1, offset: 9"),
        ":4: key 'offset' stands twice; first on line 4; remove one of them",
        id="twice in a mapping",
    ),
    pytest.param(
        'hrdf: "a\\e[31mb"',
        ":4: option 'hrdf' is 'a\\x1b[31mb'; it should have no control characters",
        id="control",
    ),
    pytest.param(
        "hrdf: 2001-99-99",
        ": cannot be read; '2001-99-99' is no timestamp "
        'in "<byte string>", line 4, column 7; correct `config`',
        id="date",
    ),
    pytest.param(
        "feedback_frequncy: 9\nplugins:\n- {type: ImpedanceController}",
        f":4: unknown option 'feedback_frequncy'; {KEYS}; did you mean 'feedback_frequency'?\n"
        f"{{path}}:6: {IMPEDANCE}",
        id="all at once",
    ),
    pytest.param(
        "user_data: " + "[" * 100_000, ":4: nests too deeply; 64 levels do; flatten it", id="brackets"
    ),
    pytest.param(
        "#" * 1_000_001, ": cannot be read; it has more than 1000000 bytes; correct `config`", id="large"
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refuses_a_file_that_cannot_be_applied_and_names_the_line(
    write: Any, text: str, message: str
) -> None:
    path = write(text)
    with pytest.raises(DriverConfigError) as caught:
        setup_of(path)
    assert str(caught.value) == str(path) + message.replace("{path}", str(path))


@pytest.mark.parametrize(
    ("line", "actuators", "options", "message"),
    [
        (plugins("DynamicsCompensationEffort"), None, {}, f"dynamics {NO_MODEL}"),
        ("", None, {"gravity_compensation": True}, f"gravity {NO_MODEL}"),
        pytest.param(
            plugins("GravityCompensationEffort, imu_feedback_index: 2") + "\nhrdf: a.hrdf",
            None,
            {},
            "the sensor of module 2 cannot show which way is down; there are 2 modules, "
            "counted from 0; correct `imu_feedback_index`",
        ),
        pytest.param(
            "hrdf: two.hrdf",
            ["elbow"],
            {"gravity_compensation": True},
            "gravity compensation needs all modules of the arm; 1 of 2 are driven; "
            "map all of them to joints, or set `gravity_compensation: false`",
        ),
        pytest.param(
            "",
            None,
            {"position_range": {"elbw": [0, 1]}},
            "option 'position_range' names an unknown actuator 'elbw'; "
            "there are base, elbow; did you mean 'elbow'?",
        ),
        pytest.param(
            "",
            None,
            {"feedback_timeout_s": 0.5},
            "a feedback timeout of 0.5 s is too long for a command lifetime of 0.25 s; "
            "a module that was cut off for longer than half of that may have released, and would jump; "
            "set `feedback_timeout_s` to 0.125 or less",
        ),
        pytest.param(
            "feedback_frequency: 10",
            None,
            {},
            "a feedback timeout of 0.125 s is too short for reports at 10 Hz; "
            "it must last 3 reports; set `feedback_frequency_hz` to 24 or more",
        ),
    ],
)
def test_refuses_what_cannot_be_driven(
    write: Any, line: str, actuators: list[str] | None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DriverConfigError) as caught:
        setup_of(write(line), actuators or ("base", "elbow"), **options)
    assert str(caught.value) == f"driver hebi: {message}"


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
        path.parent / "../two.hrdf", ("base", "elbow"), {"home": {"base": 0.5, "elbow": -1.0}}
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


@pytest.mark.parametrize(
    ("name", "message"),
    [
        pytest.param(
            "wrong_values.cfg.yaml",
            "{path}:3: option 'names' is []; "
            "it should have at least 1 item after validation, not 0; correct it\n"
            "{path}:6: option 'feedback_frequency' is 'fast'; "
            "it should be a valid number, unable to parse string as a number; correct it\n"
            "{path}:5: option 'command_lifetime' is 0; "
            "0 means forever, and nothing would stop the modules when setpoints end\n"
            f"{{path}}:4: unknown option 'comand_lifetime'; {KEYS}; did you mean 'command_lifetime'?",
        ),
        pytest.param(
            "families.cfg.yaml",
            "{path}:3: 2 families do not go with 3 names; "
            "one family holds for all names, or each name has its own; correct `families` or `names`",
        ),
        pytest.param(
            "a_list.cfg.yaml",
            "{path}: is no robot configuration of HEBI's; it is no mapping; correct `config`",
        ),
        ("missing.cfg.yaml", "{path}: cannot be read; No such file or directory; correct `config`"),
    ],
)
def test_refuses_a_wrong_robot_configuration(name: str, message: str) -> None:
    path = FILES / "bad" / name
    with pytest.raises(DriverConfigError) as caught:
        load_hebi_config(path)
    assert str(caught.value) == message.replace("{path}", str(path))


def test_refuses_a_module_that_stands_twice_and_what_is_no_file(tmp_path: Path) -> None:
    path, pipe = tmp_path / "arm.cfg.yaml", tmp_path / "pipe.cfg.yaml"
    path.write_text("version: 1.0\nfamilies: [Arm]\nnames:\n- base\n- elbow\n- base\n")
    os.mkfifo(pipe)
    for file, message in (
        (path, ":6: module Arm/base stands twice; it moves one joint; remove one, or correct its family"),
        (pipe, ": cannot be read; it is no regular file; correct `config`"),
    ):
        with pytest.raises(DriverConfigError) as caught:
            load_hebi_config(file)
        assert str(caught.value) == f"{file}{message}"


def test_reports_a_program_which_key_of_a_robot_configuration_is_wrong() -> None:
    with pytest.raises(OptionsError) as caught:
        load_hebi_config(FILES / "bad" / "no_names.cfg.yaml")
    assert [problem.option for problem in caught.value.problems] == [("names",)]
    assert str(caught.value).endswith("no_names.cfg.yaml: option 'names' is missing; set it")
