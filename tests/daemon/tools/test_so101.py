"""The SO-101 of the examples: its size, its weight, and what motiond checks of it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.api import PlayRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.check import check_motions
from motiond.daemon.tools.dry_run import run_dry
from motiond.daemon.tools.example import lay_down
from motiond.formats import load_robot

if TYPE_CHECKING:
    from motiond.daemon.config.settings import Settings

URDF = Path(__file__).parents[3] / "config" / "robots" / "so101.urdf"
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow_flex", "wrist_flex", "wrist_roll", "gripper")


def settings_with(folder: Path, *options: str, driver: str) -> Settings:
    """Load the example with options that stand in it as comments, and on another driver."""
    lay_down("so101", folder, forced=True)
    file = folder / "motiond.yaml"
    text = file.read_text(encoding="utf-8")
    for option in options:
        text, count = re.subn(rf"^    # {option}: ", f"    {option}: ", text, flags=re.MULTILINE)
        assert count == 1, option
    text, count = re.subn(r"^    driver:\n(?: {6}.*\n)+", f"    driver: {driver}\n", text, flags=re.MULTILINE)
    assert count == 1
    file.write_text(text, encoding="utf-8")
    return load_settings(file)


def test_it_has_the_joints_of_lerobot_and_the_lengths_of_its_drawings() -> None:
    robot = load_robot(URDF)
    places = robot.forward_kinematics(np.zeros(robot.dof))
    assert tuple(joint.name for joint in robot.joints if joint.coordinates) == JOINTS
    at = {name: places[name][:3, 3] for name in (*JOINTS, "tip")}
    lengths = [float(np.linalg.norm(at[one] - at[other])) for one, other in pairwise(JOINTS)]
    assert lengths[1:4] == pytest.approx([0.116, 0.135, 0.061], abs=1e-3)
    assert at["tip"] == pytest.approx([0.391, 0.0, 0.229], abs=1e-3)


def test_in_the_middle_of_its_ranges_its_upper_arm_stands_and_its_forearm_lies() -> None:
    robot = load_robot(URDF)
    ranges = [(one.lower, one.upper) for joint in robot.joints for one in joint.coordinates]
    assert [sum(bounds) for bounds in ranges] == pytest.approx([0.0] * 6)
    places = robot.forward_kinematics(np.zeros(robot.dof))
    upper = places["elbow_flex"][:3, 3] - places["shoulder_lift"][:3, 3]
    fore = places["wrist_flex"][:3, 3] - places["elbow_flex"][:3, 3]
    assert upper[2] > 0.9 * np.linalg.norm(upper)
    assert fore[0] > 0.9 * np.linalg.norm(fore)


@pytest.mark.parametrize(
    ("joint", "towards"),
    [
        ("shoulder_pan", (0, -1, 0)),
        ("shoulder_lift", (0, 0, -1)),
        ("elbow_flex", (0, 0, -1)),
        ("wrist_flex", (0, 0, -1)),
    ],
)
def test_positive_angles_turn_the_tip_as_lerobot_counts_degrees(
    joint: str, towards: tuple[float, float, float]
) -> None:
    robot = load_robot(URDF)
    turned = np.zeros(robot.dof)
    turned[JOINTS.index(joint)] = 0.1
    tips = [robot.forward_kinematics(one)["tip"][:3, 3] for one in (np.zeros(robot.dof), turned)]
    way = tips[1] - tips[0]
    assert way @ np.array(towards) > 0.9 * np.linalg.norm(way)


def test_a_positive_angle_opens_the_gripper() -> None:
    robot = load_robot(URDF)
    heights = [
        (robot.forward_kinematics(np.append(np.zeros(5), one))["jaw"] @ (0.08, 0.0, 0.0, 1.0))[2]
        for one in (-0.96, 0.0, 0.96)
    ]
    assert heights == sorted(heights)


def test_it_weighs_what_six_servos_and_their_printed_parts_do() -> None:
    robot = load_robot(URDF)
    masses = {link.name: link.mass for link in robot.links}
    assert sum(masses.values()) == pytest.approx(0.632)
    assert min(masses[name] for name in ("base", "shoulder", "upper_arm", "forearm", "wrist", "hand")) > 0.055


def test_the_examples_checks_pass_where_they_are_switched_on(tmp_path: Path) -> None:
    findings = check_motions(settings_with(tmp_path, "collision", "effort", driver="{type: sim}"))
    assert [(one.motion, one.problems, one.warnings) for one in findings] == [
        ("greet", (), ()),
        ("pose ready", (), ()),
        ("pose rest", (), ()),
    ]
    assert all(one.physics["nearest"]["distance_m"] > 0.005 for one in findings)
    peaks = {one["joint"]: one["peak"] for one in findings[0].physics["effort"]["joints"]}
    assert 0.2 < peaks["shoulder_lift"] < 1.0


def test_it_holds_its_weight_and_plays_with_physics(tmp_path: Path) -> None:
    settings = settings_with(tmp_path, driver="{type: sim, physics: true, floor: true}")
    run = run_dry(settings, "so101", PlayRequest(motion="greet"))
    assert run.result["code"] == "SUCCESSFUL", run.result
