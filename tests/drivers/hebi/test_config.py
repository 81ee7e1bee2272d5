from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.base import DriverConfigError
from motiond.drivers.hebi.config import load_hebi_config
from motiond.drivers.hebi.lookup import Module
from motiond.drivers.hebi.setup import HebiOptions, HebiSetup, set_up
from motiond.drivers.options import OptionsError

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
    assert setup.gravity is not None
    assert setup.gravity.hrdf == ARM.parent / "hrdf" / "A-2085-06.hrdf"
    assert setup.gravity.ramp_s == 5.0
    assert setup.gravity.base is None
    assert setup.warnings == ()


def test_options_come_before_the_file() -> None:
    names = load_hebi_config(ARM).names
    other = {"gains": "my.xml", "hrdf": "my.hrdf", "gravity_ramp_s": 0, "base_orientation": [0, 1, 0, 0]}
    setup = setup_of(ARM, names, command_lifetime_s=0.5, feedback_frequency_hz=50, **other)
    assert (setup.lifetime_s, setup.feedback_hz) == (0.5, 50)
    assert setup.gains == Path("my.xml")
    assert setup.gravity is not None
    assert setup.gravity.hrdf == Path("my.hrdf")
    assert setup.gravity.ramp_s == 0
    assert setup.gravity.base == pytest.approx((0, 1, 0, 0))
    assert setup_of(ARM, names, gravity_compensation=False).gravity is None


def test_the_joints_of_the_model_are_the_modules_of_the_file_in_whatever_order_they_are_driven(
    write: Any,
) -> None:
    setup = setup_of(write("hrdf: two.hrdf"), ("elbow", "base"), gravity_compensation=True)
    assert setup.order == (1, 0)
    assert setup.gravity is not None
    assert setup.gravity.joints == (1, 0)
    three = HebiOptions.model_validate(
        {"families": "Arm", "names": ["a", "b", "c"], "hrdf": "x", "gravity_compensation": True}
    )
    gravity = set_up(["b", "c", "a"], three).gravity
    assert gravity is not None
    assert gravity.joints == (2, 0, 1)


def test_takes_the_sensor_that_the_plugin_names(write: Any) -> None:
    path = write(
        "hrdf: two.hrdf",
        "plugins:",
        "- {type: GravityCompensationEffort, imu_feedback_index: 1, imu_frame_index: 2,",
        "   imu_rotation_offset: [0, -1, 0, 1, 0, 0, 0, 0, 1]}",
    )
    gravity = setup_of(path).gravity
    assert gravity is not None
    assert (gravity.imu.feedback_index, gravity.imu.frame_index) == (1, 2)
    assert gravity.imu.rotation.tolist() == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]


def test_a_plugin_that_is_switched_off_is_off(write: Any) -> None:
    path = write(
        "plugins:",
        "- {type: GravityCompensationEffort, enabled: false}",
        "- {type: ImpedanceController, enabled: false}",
    )
    assert setup_of(path).gravity is None
    assert setup_of(path).warnings == ()


def test_warns_of_what_it_does_not_apply(write: Any) -> None:
    path = write(
        "gains: {soft: soft.xml, stiff: stiff.xml}",
        "plugins:",
        "- {type: DynamicsCompensationEffort}",
        "- {type: ImpedanceController, enabled: true}",
    )
    unknown = "is not applied; motiond knows GravityCompensationEffort alone; do without it, or set its"
    assert setup_of(path).warnings == (
        f"{path}:5: plugin DynamicsCompensationEffort {unknown} `enabled: false`",
        f"{path}:5: plugin ImpedanceController {unknown} `enabled: false`",
        (
            f"{path}:4: none of the gains soft, stiff is applied; motiond applies the set called 'default'; "
            "name it so, or set `gains` in the driver"
        ),
    )
    assert setup_of(path).gains is None


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            ["plugins: [{type: GravityCompensationEffort, ramp: 5}]"],
            {},
            (
                "{path}:4: unknown option 'ramp'; it takes enabled, imu_feedback_index, imu_frame_index, "
                "imu_rotation_offset, name, ramp_time, type; did you mean 'ramp_time'?"
            ),
        ),
        (
            ["plugins: GravityCompensationEffort"],
            {},
            ("{path}:4: option 'plugins' is 'GravityCompensationEffort'; it should be a valid list"),
        ),
        (
            ["plugins: [{type: GravityCompensationEffort, imu_feedback_index: 2}]", "hrdf: a.hrdf"],
            {},
            (
                "driver hebi: the sensor of module 2 cannot tell which way is down; there are 2 modules, "
                "counted from 0; correct `imu_feedback_index`"
            ),
        ),
        (
            [],
            {"gravity_compensation": True},
            "driver hebi: gravity compensation needs a model; there is none; set `hrdf`",
        ),
        (
            [],
            {"position_range": {"elbw": [0, 1]}},
            (
                "driver hebi: option 'position_range' names an unknown actuator 'elbw'; "
                "there are base, elbow; did you mean 'elbow'?"
            ),
        ),
        (
            [],
            {"feedback_timeout_s": 0.5},
            (
                "driver hebi: a feedback timeout of 0.5 s is too long for a command lifetime of 0.25 s; "
                "a module that was cut off for longer than half of that may have let go, and would jump; "
                "set `feedback_timeout_s` to 0.125 or less"
            ),
        ),
        (
            ["feedback_frequency: 10"],
            {},
            (
                "driver hebi: a feedback timeout of 0.125 s is too short for reports at 10 Hz; "
                "it must last 3 reports; set `feedback_frequency_hz` to 24 or more"
            ),
        ),
    ],
    ids=["unknown key", "no list", "no such module", "no model", "no such actuator", "slow to miss", "rare"],
)
def test_refuses_what_cannot_be(write: Any, lines: list[str], options: dict[str, Any], message: str) -> None:
    path = write(*lines)
    with pytest.raises(DriverConfigError) as caught:
        setup_of(path, **options)
    assert str(caught.value) == message.replace("{path}", str(path))


def test_refuses_to_carry_an_arm_of_which_it_drives_a_part(write: Any) -> None:
    with pytest.raises(DriverConfigError) as caught:
        setup_of(write("hrdf: two.hrdf"), ["elbow"], gravity_compensation=True)
    assert str(caught.value) == (
        "driver hebi: gravity compensation needs all modules of the arm; 1 of 2 are driven; "
        "map all of them to joints, or set `gravity_compensation: false`"
    )


def test_gives_each_actuator_the_range_that_is_set(write: Any) -> None:
    setup = setup_of(write(), position_range={"elbow": [-1, 2]})
    np.testing.assert_array_equal([setup.lower, setup.upper], [[np.nan, -1], [np.nan, 2]])


def test_loads_a_robot_configuration_unchanged() -> None:
    path = FILES / "good" / "arm.cfg.yaml"
    config = load_hebi_config(path)
    assert config.families == ("Arm",) * 6
    assert config.names[:2] == ("J1_base", "J2_shoulder")
    assert config.hrdf == FILES / "good" / "hrdf" / "A-2085-06.hrdf"
    assert (config.feedback_frequency_hz, config.command_lifetime_s) == (100, 0.25)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "wrong_values.cfg.yaml",
            (
                "{path}:3: option 'names' is []; it should have at least 1 item after validation, not 0\n"
                "{path}:6: option 'feedback_frequency' is 'fast'; "
                "it should be a valid number, unable to parse string as a number\n"
                "{path}:5: option 'command_lifetime' is 0; "
                "0 means for ever, and nothing would stop the modules when setpoints end\n"
                "{path}:4: unknown option 'comand_lifetime'; it takes command_lifetime, families, "
                "feedback_frequency, gains, hrdf, names, plugins, user_data, version; "
                "did you mean 'command_lifetime'?"
            ),
        ),
        ("no_names.cfg.yaml", "{path}: option 'names' is missing; set it"),
        (
            "families.cfg.yaml",
            (
                "{path}:3: 2 families do not go with 3 names; "
                "one family holds for all names, or each name has its own; correct `families` or `names`"
            ),
        ),
        (
            "a_list.cfg.yaml",
            "{path}: is no robot configuration of HEBI's; it is no mapping; correct `config`",
        ),
        (
            "open_bracket.cfg.yaml",
            (
                '{path}: cannot be read; while parsing a flow sequence in "<byte string>", line 2, column 8 '
                "did not find expected ',' or ']' in \"<byte string>\", line 3, column 1; correct `config`"
            ),
        ),
        (
            "missing.cfg.yaml",
            ("{path}: cannot be read; No such file or directory; correct `config`"),
        ),
    ],
)
def test_refuses_a_wrong_robot_configuration(name: str, message: str) -> None:
    path = FILES / "bad" / name
    with pytest.raises(DriverConfigError) as caught:
        load_hebi_config(path)
    assert str(caught.value) == message.replace("{path}", str(path))


def test_refuses_a_nest_of_brackets(tmp_path: Path) -> None:
    path = tmp_path / "deep.cfg.yaml"
    path.write_text("names: " + "[" * 100_000)
    with pytest.raises(DriverConfigError) as caught:
        load_hebi_config(path)
    assert str(caught.value) == f"{path}: nests too deeply; 64 levels do; flatten it"


def test_tells_a_program_which_key_of_a_robot_configuration_is_wrong() -> None:
    with pytest.raises(OptionsError) as caught:
        load_hebi_config(FILES / "bad" / "no_names.cfg.yaml")
    assert [problem.option for problem in caught.value.problems] == [("names",)]
