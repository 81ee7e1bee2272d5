"""A robot of which the configuration says no more than HEBI's own file for it."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.api import GotoRequest
from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints.description import make_joint_map
from motiond.daemon.joints.joint_map import JointMapError
from motiond.daemon.planning.library import MotionLibrary
from motiond.daemon.robots.session.goal_planner import GoalPlanner
from motiond.formats import FormatError
from tests.daemon.programs import run_here
from tests.daemon.rig import write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.config.robot import RobotSettings
    from motiond.daemon.joints.joint_map import JointMap

UNBOUNDED = (
    "no position limit for any joint, and no acceleration limit for any joint; "
    "nothing keeps a motion from asking too much there; set `joints.NAME.limits`"
)
NAMES = ["J1_base", "J2A_shoulder", "J3_elbow"]
KIT = """\
version: 1.1
families: [Arm]
names: [J1_base, J2A_shoulder, J3_elbow]
hrdf: hrdf/arm.hrdf
"""
HOME = "user_data: {home_position: [0.5, -1, 2]}\n"
ALONE = "{driver: {type: hebi, config: kit/arm.cfg.yaml}}"
MODEL = """\
<robot version="1.6.0">
  <actuator type="X8-9"/><bracket type="X5HeavyLeftInside"/>
  <actuator type="X8-16"/><link type="X5" extension="0.3" twist="0"/>
  <actuator type="X8-9"/>
</robot>
"""


class Kit:
    """The files of a kit, and a configuration that names them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = folder / "motiond.yaml"
        self.file = folder / "kit" / "arm.cfg.yaml"
        self.hrdf = folder / "kit" / "hrdf" / "arm.hrdf"
        self.hrdf.parent.mkdir(parents=True)
        self.hrdf.write_text(MODEL)

    def robot(self, kit: str = KIT + HOME, robot: str = ALONE) -> RobotSettings:
        self.file.write_text(kit)
        self.config.write_text(f"robots: {{arm: {robot}}}\n")
        self.settings = load_settings(self.config)
        return self.settings.robots["arm"]

    def joint_map(self, **texts: str) -> JointMap:
        return make_joint_map("arm", self.robot(**texts), self.settings)

    def refusal(self, **texts: str) -> str:
        with pytest.raises((ConfigError, FormatError, JointMapError)) as caught:
            self.joint_map(**texts)
        return str(caught.value).replace(f"{self.folder}/", "")


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def test_hebis_file_alone_is_enough(kit: Kit) -> None:
    robot = kit.robot()
    assert robot.model is not None
    assert robot.model.file == kit.hrdf
    joint_map_ = kit.joint_map()
    assert list(joint_map_.joints) == list(joint_map_.actuators) == NAMES
    assert joint_map_.limits.velocity.tolist() == pytest.approx([4.08407, 2.094395, 4.08407])
    assert joint_map_.limits.effort.tolist() == [23, 44, 23]


def test_simulated_actuators_take_hebis_file_too_and_nothing_else_changes(kit: Kit) -> None:
    narrowed = "joints: {J3_elbow: {limits: {lower: -1.5, upper: 1.5, velocity: 1.0}}}"
    robot = ALONE.removesuffix("}") + f", {narrowed}}}"
    simulated = robot.replace("type: hebi", "type: sim")
    settings = [kit.robot(robot=text).model_dump(exclude={"driver"}) for text in (robot, simulated)]
    joint_maps = [kit.joint_map(robot=text) for text in (robot, simulated)]
    assert settings[0] == settings[1]
    assert repr(joint_maps[0]) == repr(joint_maps[1])
    assert kit.refusal(kit=KIT.replace("Arm]", "Arm, Leg]"), robot=simulated) == kit.refusal(
        kit=KIT.replace("Arm]", "Arm, Leg]"), robot=robot
    )


def test_the_home_position_is_a_pose_to_go_to(kit: Kit) -> None:
    robot, joint_map = kit.robot(), kit.joint_map()
    assert robot.poses == {"home": dict(zip(NAMES, [0.5, -1.0, 2.0], strict=True))}
    with closing(GoalPlanner("arm", robot, MotionLibrary(joint_map, robot, 100.0))) as goals:
        playback = goals.playback_to(GotoRequest(pose="home"))
    assert playback.plan.positions[-1].tolist() == [0.5, -1.0, 2.0]


def test_joints_narrow_the_limits_by_the_names_of_hebis_file(kit: Kit) -> None:
    limits = "joints: {J3_elbow: {limits: {lower: -1.5, upper: 1.5, velocity: 1.0}}}"
    joint_map_ = kit.joint_map(robot=ALONE.removesuffix("}") + f", {limits}}}")
    assert list(joint_map_.joints) == NAMES
    assert (joint_map_.limits.lower[2], joint_map_.limits.velocity[2]) == (-1.5, 1.0)
    elbow = "joints: {elbow: {limits: {lower: -1.5, upper: 1.5, velocity: 1.0}}}"
    assert kit.refusal(robot=ALONE.removesuffix("}") + f", {elbow}}}") == (
        "arm: the model has no joint 'elbow'; it has J1_base, J2A_shoulder, J3_elbow; "
        "did you mean 'J3_elbow'?"
    )


def test_a_model_with_another_number_of_joints_is_refused(kit: Kit) -> None:
    assert kit.refusal(kit=KIT.replace(", J3_elbow", "")) == (
        "kit/hrdf/arm.hrdf: 3 joints that move do not go with 2 names for them; the names are J1_base, "
        "J2A_shoulder; correct model.joint_names, or the driver's own configuration"
    )


def test_every_mistake_of_hebis_file_is_told_with_its_line_and_where_it_is_named(kit: Kit) -> None:
    wrong = KIT.replace("hrdf:", "hrfd:") + "plugins: [{type: ImpedanceController}]\n"
    assert kit.refusal(kit=wrong) == (
        "motiond.yaml:1: kit/arm.cfg.yaml:4: unknown option 'hrfd'; it takes command_lifetime, families, "
        "feedback_frequency, gains, hrdf, names, plugins, user_data, version; did you mean 'hrdf'?\n"
        "motiond.yaml:1: kit/arm.cfg.yaml:5: plugin ImpedanceController cannot be applied; its spring needs "
        "a fast and steady loop of its own, and motiond sends a motion's rows; set its `enabled: false`"
    )


@pytest.mark.parametrize(
    ("named", "hint"),
    [
        ("hrdf/arm-07.hrdf", "did you mean 'arm-06.hrdf'?"),
        ("hrdf/arm-06.hrfd", "did you mean 'arm-06.hrdf'?"),
        ("hdrf/arm-06.hrdf", "did you mean 'hrdf'?"),
        ("hrdf/leg.hrdf", "correct the path"),
    ],
)
def test_a_description_that_is_not_there_is_reported_where_it_is_named(
    kit: Kit, named: str, hint: str
) -> None:
    kit.hrdf.rename(kit.hrdf.with_name("arm-06.hrdf"))
    what = f"the robot's description is kit/{named}; there is no such file; {hint}"
    wrong = KIT.replace("hrdf/arm.hrdf", named)
    assert kit.refusal(kit=wrong) == f"motiond.yaml:1: kit/arm.cfg.yaml:4: {what}"
    in_options = ALONE.replace("}}", f", hrdf: kit/{named}}}}}")
    assert kit.refusal(robot=in_options) == f"motiond.yaml:1: driver hebi: {what}"
    assert kit.robot(kit=wrong, robot=ALONE.removesuffix("}") + ", model: kit/hrdf/arm-06.hrdf}")


def test_files_that_are_not_there_get_the_nearest_name(kit: Kit) -> None:
    no_config = ALONE.replace("arm.cfg", "amr.cfg")
    assert kit.refusal(robot=no_config) == (
        "motiond.yaml:1: kit/amr.cfg.yaml: cannot be read; No such file or directory; "
        "did you mean 'arm.cfg.yaml'?"
    )
    with pytest.raises(FormatError) as caught:
        kit.joint_map(robot=ALONE.removesuffix("}") + ", model: kit/hrdf/amr.hrdf}")
    assert str(caught.value) == (
        f"{kit.folder}/kit/hrdf/amr.hrdf: cannot be read; no such file; did you mean 'arm.hrdf'?"
    )


def test_tools_for_files_take_hebis_file_as_a_description(
    kit: Kit, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(kit.folder)
    kit.file.write_text(KIT)
    write_seq(kit.folder / "rest.seq", np.zeros((3, 3)), tuple(NAMES), 100.0)
    code, out, err = run_here(capsys, "inspect", "--json", kit.file)
    (arm,) = json.loads(out)
    assert (code, err, arm["file"], arm["format"]) == (0, "", str(kit.file), "hrdf")
    assert [joint["name"] for joint in arm["joints"]] == [joint["joint"] for joint in arm["joints"]] == NAMES
    code, out, _ = run_here(capsys, "check", "--robot", kit.file, "rest.seq")
    assert (code, out.splitlines()[0]) == (0, "arm: rest: ok; 0.02 s, speed up to 10")
    code, _, err = run_here(capsys, "plot", "rest.seq", "--robot", kit.file)
    assert (code, err) == (0, "")


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            KIT.replace("hrdf/arm.hrdf", "hrdf/amr.hrdf"),
            [
                (
                    "arm.cfg.yaml:4: the robot's description is hrdf/amr.hrdf; there is no such file; "
                    "did you mean 'arm.hrdf'?"
                )
            ],
        ),
        (
            KIT.replace("hrdf: hrdf/arm.hrdf", ""),
            ["arm.cfg.yaml: names no description; `hrdf` is missing; add it"],
        ),
        (
            KIT.replace(", J3_elbow", ""),
            [
                (
                    "hrdf/arm.hrdf: 3 joints that move do not go with 2 names for them; the names are "
                    "J1_base, J2A_shoulder; correct model.joint_names, or the driver's own configuration"
                )
            ],
        ),
        (
            KIT + "plugins: []\nfoo: 1\nbar: 2\n",
            [
                f"arm.cfg.yaml:{line}: unknown option '{key}'; it takes command_lifetime, families, "
                "feedback_frequency, gains, hrdf, names, plugins, user_data, version"
                for line, key in ((6, "foo"), (7, "bar"))
            ],
        ),
    ],
)
def test_what_is_wrong_with_hebis_file_comes_with_its_line(
    kit: Kit,
    text: str,
    messages: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(kit.file.parent)
    kit.file.write_text(text)
    code, _, err = run_here(capsys, "inspect", kit.file.name)
    assert (code, err.splitlines()) == (1, messages)
    code, _, err = run_here(capsys, "check", "--robot", kit.file.name, "rest.seq")
    assert (code, err.splitlines()) == (2, messages)


def test_check_says_which_plugins_are_applied(kit: Kit, capsys: pytest.CaptureFixture[str]) -> None:
    plugins = """\
plugins:
- {type: GravityCompensationEffort, ramp_time: 5}
- {type: DynamicsCompensationEffort, ramp_time: 5}
- {type: EffortOffset, enabled: false, offset: [0, -7]}
- {type: DoubledJointMirror, group_family: [Arm], group_name: [J2B_shoulder], index: 1}
- {type: OvertorqueFaultMonitor, base_torque_error_limit: 3}
"""
    write_seq(kit.folder / "rest.seq", np.zeros((3, 3)), tuple(NAMES), 100.0)
    kit.robot(kit=KIT + plugins, robot=ALONE.removesuffix("}") + ", motions: [rest.seq]}")
    code, out, err = run_here(capsys, "check", "-c", kit.config)
    assert (code, out.splitlines()) == (
        0,
        ["arm: rest: ok; 0.02 s, speed up to 10", f"arm: warning: {UNBOUNDED}"],
    )
    assert err.replace(f"{kit.folder}/", "").splitlines() == [
        "arm: kit/arm.cfg.yaml:6: plugin GravityCompensationEffort is applied",
        "arm: kit/arm.cfg.yaml:7: plugin DynamicsCompensationEffort is applied",
        "arm: kit/arm.cfg.yaml:9: plugin DoubledJointMirror is applied",
        "arm: kit/arm.cfg.yaml:8: plugin EffortOffset is switched off",
        (
            "arm: warning: kit/arm.cfg.yaml:10: plugin OvertorqueFaultMonitor is not applied; "
            "motiond has none; set its `enabled: false`"
        ),
    ]


GRAVITY = "plugins: [{type: GravityCompensationEffort, imu_frame_index: 99}]\n"


def test_check_says_what_it_cannot_know_without_hebi_py(
    kit: Kit, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hebi", None)
    gains = kit.file.with_name("gains.xml")
    gains.write_text("<group_gains/>")
    kit.robot(kit=KIT + "gains: gains.xml\n" + GRAVITY)
    code, _, err = run_here(capsys, "check", "-c", kit.config)
    assert code == 0
    assert err.replace(f"{kit.folder}/", "").splitlines() == [
        "arm: kit/arm.cfg.yaml:6: plugin GravityCompensationEffort is applied",
        (
            "arm: warning: driver hebi: whether kit/gains.xml and kit/hrdf/arm.hrdf can be used is not "
            "known; hebi-py reads such files and cannot be imported "
            "(import of hebi halted; None in sys.modules); "
            "pip install 'motiond[hebi]'"
        ),
        "arm: nothing to check; it has no motions; name files or folders of them under `motions`",
    ]
    gains.unlink()
    code, _, err = run_here(capsys, "check", "-c", kit.config)
    assert (code, err.replace(f"{kit.folder}/", "")) == (
        2,
        "kit/arm.cfg.yaml:5: `gains` names kit/gains.xml; there is no such file; correct `gains`\n",
    )
