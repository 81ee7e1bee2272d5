"""Which joint of a leader moves which joint of a follower."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.joints import JointMap, JointMapError
from motiond.daemon.robots.leader import match_joints
from motiond.formats import load_map
from tests.robots import map_of
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.leader import JointMatch


def robot(name: str, *joints: str, **options: dict[str, Any]) -> JointMap:
    return replace(map_of({joint: options.get(joint, {}) for joint in joints}), robot=name)


ARM = robot(
    "arm", "shoulder", "elbow", "finger", "slide", finger={"mimic": {"joint": "elbow"}}, slide={"unit": "m"}
)


def match(tmp_path: Path, leader: JointMap, map_: str = "", follower: JointMap = ARM) -> JointMatch:
    if not map_:
        return match_joints(leader, follower)
    file = tmp_path / "arm.map.yaml"
    file.write_text(map_)
    return match_joints(leader, follower, load_map(file))


def test_joints_are_matched_by_their_names(tmp_path: Path) -> None:
    found = match(tmp_path, robot("other", "elbow", "shoulder"))
    assert found.joints == ("elbow", "shoulder")
    np.testing.assert_array_equal(found.positions(np.array([0.1, -0.2])), (0.1, -0.2))
    np.testing.assert_array_equal(found.velocities(np.array([1.0, 2.0])), (1.0, 2.0))


def test_a_map_turns_and_moves_joints_and_lets_others_be(tmp_path: Path) -> None:
    leader = robot("other", "J1", "J2", "trigger")
    map_ = "joints:\n  shoulder: J2\n  elbow: {from: J1, sign: -1, offset: 0.5}\nignore: [trigger]\n"
    found = match(tmp_path, leader, map_)
    assert found.joints == ("shoulder", "elbow")
    measured = np.array([0.1, -0.2, np.nan])
    np.testing.assert_array_equal(found.positions(measured), (-0.2, 0.4))
    np.testing.assert_array_equal(found.velocities(measured), (-0.2, -0.1))


def test_one_joint_may_lead_several(tmp_path: Path) -> None:
    map_ = "joints:\n  shoulder: J1\n  elbow: {from: J1, sign: -1}\n"
    found = match(tmp_path, robot("other", "J1"), map_)
    np.testing.assert_array_equal(found.positions(np.array([0.3])), (0.3, -0.3))


def test_a_joint_that_follows_another_moves_with_that_one(tmp_path: Path) -> None:
    assert match(tmp_path, robot("other", "elbow", "finger")).joints == ("elbow",)


@table("joints, map_, problem")
def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, joints: str, map_: str, problem: str) -> None:
    with pytest.raises(JointMapError) as refused:
        match(tmp_path, robot("other", *joints.split()), map_)
    assert [*refused.value.problems] == [f"other, leading arm: {problem}"]
