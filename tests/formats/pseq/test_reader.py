"""Motions of good .pseq files, and the refusals of bad ones and of those that need more than joints.

The numbers are worked out by hand from `PoseSeqInterpolator.cpp` of Choreonoid. Between two samples, with h
the time between them, y0 and y1 their positions and v0 and v1 their slopes (updateCubicConnectionSegment):

    y(x) = y0 + v0 x + (3 (y1 - y0) / h² - (2 v0 + v1) / h) x² + ((v0 + v1) / h² + 2 (y0 - y1) / h³) x³
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml

from motiond.formats import FormatError, Motion, ReadOptions, load_motion, pseq
from motiond.formats.io.source import Source
from tests.tables import table

REACH = Path(__file__).parents[2] / "files" / "good" / "reach.pseq"
EIGHT = ReadOptions(rate_hz=8.0)
STANDS = "time: 0, { joints: [0], q: [0] }"


def read(text: str, options: ReadOptions = EIGHT) -> Motion:
    (motion,) = pseq.load(text.encode(), Source(Path("m.pseq"), options=options))
    return motion


def refusal(text: str) -> str:
    with pytest.raises(FormatError) as caught:
        read(text)
    return str(caught.value)


def sequence(*poses: str) -> str:
    """Return a file of poses, each as `time: …` and what stands in it."""
    refs = (f"- {{ {pose.replace('{', 'refer: { type: Pose, ', 1)} }}\n" for pose in poses)
    return f"type: PoseSeq\nname: m\ntargetBody: Arm\nrefs:\n{''.join(refs)}"


def positions(*poses: str) -> list[float]:
    """Return the first joint's positions, eight to the second."""
    found: list[float] = read(sequence(*poses)).positions[:, 0].tolist()
    return found


POSES = {
    "type": "PoseSeq",
    "name": "wave",
    "refs": [{"time": t, "refer": {"type": "Pose", "joints": [0], "q": [0.5]}} for t in range(400)],
    "targetBody": "SR1",
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(POSES),
        json.dumps(POSES, indent=2, sort_keys=True),
        json.dumps(POSES, sort_keys=True),
        yaml.dump(POSES),
        sequence("time: 0, { joints: [0], q: [0.5] }"),
    ],
)
def test_a_pose_sequence_is_known_by_its_content(text: str, tmp_path: Path) -> None:
    (tmp_path / "wave.txt").write_text(text)
    assert load_motion(tmp_path / "wave.txt").positions[-1].tolist() == [0.5]


def test_rows_go_from_0_to_the_last_pose_at_100_hz_unless_another_rate_is_given() -> None:
    reach = load_motion(REACH)
    assert (reach.name, reach.joint_names, reach.frame_rate) == ("reach", (), 100)
    assert reach.positions.shape == (101, 2)
    assert reach.times.tobytes() == (np.arange(101) / 100).tobytes()
    assert (reach.metadata, reach.warnings) == ({"format": "pseq"}, ())
    assert load_motion(REACH, options=ReadOptions(rate_hz=20)).positions.shape == (21, 2)
    assert len(load_motion(REACH, options=ReadOptions(rate_hz=3.9)).times) == 5


def test_a_joint_stops_at_its_stationary_points() -> None:
    """y = y0 + (y1 - y0) (3 s² - 2 s³): at s = 1/4, 10/64 of the way."""
    both = positions("time: 0, { joints: [0], q: [0] }", "time: 0.5, { joints: [0], q: [1], spJoints: [0] }",
                     "time: 1, { joints: [0], q: [2] }")  # fmt: skip
    assert both == [0, 10 / 64, 0.5, 54 / 64, 1, 74 / 64, 1.5, 118 / 64, 2]


def test_a_joint_that_goes_on_has_the_mean_of_both_slopes_at_a_pose() -> None:
    """Slopes: 1 before, 1/2 after, so 3/4 at 1 s. At 0.5 s 2.25/4 - 1.25/8, at 2 s 1 + 0.75 + 0 - 0.0625."""
    on = positions("time: 0, { joints: [0], q: [0] }", "time: 1, { joints: [0], q: [1] }",
                   "time: 3, { joints: [0], q: [2] }")  # fmt: skip
    assert on[4] == 0.40625
    assert on[8] == 1
    assert on[16] == 1.6875
    assert on[-1] == 2


def test_a_joint_that_turns_round_or_hardly_moves_stops_there() -> None:
    """Where it stops at 1 s, it is half way at 0.5 s and at 1.5 s."""
    for last in (0.25, 1.0005):
        turned = positions("time: 0, { joints: [0], q: [0] }", "time: 1, { joints: [0], q: [1] }",
                           f"time: 2, {{ joints: [0], q: [{last}] }}")  # fmt: skip
        assert turned[4] == 0.5
        assert turned[12] == pytest.approx((1 + last) / 2, abs=1e-15)


def test_a_joint_waits_until_its_transition_begins() -> None:
    """It keeps still to 1.5 s; at 1.75 s it is half way. The wait stops it at 1 s, too."""
    waited = positions("time: 0, { joints: [0], q: [0] }", "time: 1, { joints: [0], q: [1] }",
                       "time: 2, maxTransitionTime: 0.5, { joints: [0], q: [2] }")  # fmt: skip
    assert waited[4] == 0.5
    assert waited[8:13] == [1] * 5
    assert waited[14] == 1.5


def test_a_longer_transition_than_there_is_time_for_is_no_wait() -> None:
    once = positions(
        "time: 0, { joints: [0], q: [0] }", "time: 1, maxTransitionTime: 3, { joints: [0], q: [1] }"
    )
    assert once[:5] == pytest.approx([0, 11 / 256, 10 / 64, 81 / 256, 0.5], abs=1e-15)


def test_a_joint_rests_before_its_first_pose_and_after_its_last() -> None:
    motion = read(
        sequence(
            "time: 0, { joints: [0], q: [0] }",
            "time: 0.5, { joints: [0, 1], q: [1, 3] }",
            "time: 1, { joints: [1], q: [4] }",
        )
    )
    assert motion.positions[4:, 0].tolist() == [1] * 5
    assert motion.positions[:5, 1].tolist() == [3] * 5


def test_poses_need_not_stand_in_order() -> None:
    poses = [
        "time: 0, { joints: [0], q: [0] }",
        "time: 1, { joints: [0], q: [1] }",
        "time: 2, { joints: [0], q: [3] }",
    ]
    assert positions(*reversed(poses)) == positions(*poses)


def test_what_is_no_matter_of_joints_and_moves_none_is_left_out_with_a_warning() -> None:
    motion = read(
        sequence(
            "time: 0, { joints: [0], q: [0], ikLinks: [ { name: WAIST, isBaseLink: true } ] }",
            "time: 1, { joints: [0], q: [1], a: 1, ikLinks: [ { name: WAIST }, { isSlave: true } ] }",
        )
        + "- { time: 1, refer: { type: PronunSymbol, name: a } }\n"
    )
    assert motion.positions[-1].tolist() == [1]
    assert motion.warnings == (
        (
            "m.pseq:6: unknown key 'a'; a pose has ikLinks, isZmpStationaryPoint, joints, name, q, spJoints, "
            "type, zmp; it is passed over"
        ),
        "m.pseq:5: link 'WAIST' has positions; a motion of joints has none; they are left out",
        "m.pseq:7: PronunSymbols move lips; the shapes of the lips are in the body's file; they are left out",
    )


@table("pose, message")
def test_what_needs_balance_or_inverse_kinematics_is_refused(pose: str, message: str) -> None:
    hint = "generate the body motion in Choreonoid, and save that as .seq"
    ways = f"{hint}; or convert the joints alone with --drop balance"
    standing = sequence(STANDS, pose)
    assert refusal(standing) == f"m.pseq:6: {message}; {ways}"
    joints = read(standing, ReadOptions(drop=frozenset({"balance"})))
    assert joints.positions.shape[1] == 1
    fall = "on these joints a body that stands falls"
    assert joints.warnings == (f"m.pseq:6: {message}; it is left out; {fall}",)


@table("text, message")
def test_a_bad_file_is_refused(text: str, message: str) -> None:
    assert refusal(text) == f"m.pseq{message}"


def test_joints_of_one_pose_cannot_stand_in_another_at_the_same_time() -> None:
    assert refusal(sequence("time: 1, { joints: [0], q: [0] }", "time: 1, { joints: [0], q: [1] }")) == (
        "m.pseq:6: joint 0 is in two poses at 1 s; it cannot be in both; remove it from one"
    )


def test_no_joint_may_be_missing() -> None:
    assert refusal(sequence("time: 1, { joints: [0, 2, 4], q: [0, 0, 0] }")) == (
        "m.pseq:1: no pose has joint 1, 3; joints have numbers and no names, so that none may be missing; "
        "add each to a pose, or generate the body motion in Choreonoid, and save that as .seq"
    )


def test_a_late_pose_makes_no_endless_motion() -> None:
    assert refusal(sequence("time: 0, { joints: [0], q: [0] }", "time: 1e5, { joints: [0], q: [1] }")) == (
        "m.pseq:4: 2 frames over 100000 s would become 800000 rows; at most 120000 are made of them, "
        "15000 s at 8 Hz; check its times, which are in s"
    )
