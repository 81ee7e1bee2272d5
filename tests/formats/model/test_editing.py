"""Cutting, reversing, mirroring and renaming of a motion with all its components."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import (
    Motion,
    MotionError,
    mirror,
    name_joints,
    offset,
    rename,
    reverse,
    select,
    still_ends,
    trim,
    trim_frames,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = ("waist", "l_hip", "r_hip")
SWAP = {"l_hip": ("r_hip", -1.0), "r_hip": ("l_hip", -1.0), "waist": ("waist", -1.0)}
FRAMES = 5


def walk() -> Motion:
    """Return a motion with a component of every kind."""
    rows = np.arange(FRAMES * 3.0).reshape(FRAMES, 3)
    poses = np.tile([1.0, 2, 3, 0.5, 0.1, 0.2, 0.3], (FRAMES, 1, 1))
    poses[:, 0, 0] = np.arange(FRAMES)
    about: dict[str, Any] = {
        "JointDisplacement": {"type": "MultiValueSeq", "part_labels": NAMES},
        "JointVelocity": {"type": "MultiValueSeq", "part_labels": NAMES},
        "LinkPosition": {"type": "MultiSE3Seq"},
        "ZMP": {"type": "Vector3Seq", "times": np.array([0.0, 0.25, 0.75, 2.0]), "frame_rate": 4.0},
    }
    return Motion(
        "walk", NAMES, 2.0, np.arange(FRAMES) / 2.0, rows,
        {"JointVelocity": rows + 100, "LinkPosition": poses, "ZMP": np.arange(12.0).reshape(4, 3)},
        {"format": "seq", "components": about},
        ("walk.seq:3: odd",),
    )  # fmt: skip


def strange() -> Motion:
    """Return a motion with a component of an unknown type."""
    return replace(walk(), components={"Faces": ["smile"]}, metadata={})


def effort() -> Motion:
    return replace(walk(), components={"JointEffort": walk().positions}, metadata={})


def test_selected_joints_come_in_the_order_asked_with_all_that_is_theirs() -> None:
    two = select(walk(), ["r_hip", "waist"])
    assert two.joint_names == ("r_hip", "waist")
    assert two.positions[0].tolist() == [2, 0]
    assert two.components["JointVelocity"][0].tolist() == [102, 100]
    assert two.components["LinkPosition"].tolist() == walk().components["LinkPosition"].tolist()
    assert two.metadata["components"]["JointVelocity"]["part_labels"] == ("r_hip", "waist")
    assert two.metadata["format"] == "seq"


def test_renamed_joints_keep_their_columns() -> None:
    renamed = rename(walk(), {"l_hip": "r_hip", "r_hip": "l_hip"})
    assert renamed.joint_names == ("waist", "r_hip", "l_hip")
    assert renamed.positions.tolist() == walk().positions.tolist()
    assert renamed.metadata["components"]["JointDisplacement"]["part_labels"] == ("waist", "r_hip", "l_hip")


def test_what_a_file_says_of_each_servo_follows_the_joints() -> None:
    told = replace(walk(), components={}, metadata={"servos": {"l_hip": {"id": "3"}, "waist": {"id": "1"}}})
    assert select(told, ["l_hip"]).metadata == {"servos": {"l_hip": {"id": "3"}}}
    assert rename(told, {"l_hip": "left"}).metadata == {"servos": {"left": {"id": "3"}, "waist": {"id": "1"}}}


def test_a_component_can_be_dropped() -> None:
    rest = without(walk(), ["ZMP", "JointVelocity"])
    assert list(rest.components) == ["LinkPosition"]
    assert list(rest.metadata["components"]) == ["JointDisplacement", "LinkPosition"]


def test_trimming_by_time_keeps_rows_and_starts_at_zero() -> None:
    cut = trim(walk(), 0.4, 1.5)
    assert cut.times.tolist() == [0, 0.5, 1.0]
    assert cut.positions[:, 0].tolist() == [3, 6, 9]
    assert cut.components["LinkPosition"][:, 0, 0].tolist() == [1, 2, 3]
    # The ZMP has times of its own: only the row at 0.75 s lies between 0.5 s and 1.5 s.
    assert cut.components["ZMP"].tolist() == [[6, 7, 8]]
    assert cut.metadata["components"]["ZMP"]["times"].tolist() == [0.25]
    assert cut.metadata["components"]["ZMP"]["frame_rate"] == 4


def test_trimming_by_frame_includes_both_ends() -> None:
    assert trim_frames(without(walk(), ["ZMP"]), 3, 4).positions[:, 0].tolist() == [9, 12]
    assert trim_frames(without(walk(), ["ZMP"]), 2, 2).times.tolist() == [0]


def test_trimming_finds_rows_in_spite_of_rounding() -> None:
    times = np.arange(11) / 10
    long = Motion("wave", (), 10.0, times, times[:, None])
    assert trim(long, 0.1 + 0.2, 0.7).positions[:, 0].tolist() == times[3:8].tolist()
    assert trim(long, 0.1 + 0.2).times.tolist() == times[:8].tolist()


def test_trimming_nothing_moves_the_start_to_zero() -> None:
    late = Motion("log", (), 10.0, np.array([7.0, 7.5, 9.0]), np.zeros((3, 1)))
    assert trim(late).times.tolist() == [0, 0.5, 2]


def test_reversed_motion_runs_backwards_with_all_its_series() -> None:
    back = reverse(walk())
    assert back.times.tolist() == walk().times.tolist()
    assert back.positions[:, 0].tolist() == [12, 9, 6, 3, 0]
    assert back.components["JointVelocity"][0].tolist() == [-112, -113, -114]
    assert back.components["LinkPosition"][:, 0, 0].tolist() == [4, 3, 2, 1, 0]
    assert back.metadata["components"]["ZMP"]["times"].tolist() == [0, 1.25, 1.75, 2.0]
    assert back.components["ZMP"][0].tolist() == [9, 10, 11]


def test_reversed_times_keep_their_spaces_in_the_other_order() -> None:
    uneven = Motion("log", (), 10.0, np.array([1.0, 1.25, 2.0]), np.arange(3.0)[:, None])
    assert reverse(uneven).times.tolist() == [1, 1.75, 2]


def test_mirroring_swaps_joints_with_their_signs_and_reflects_the_rest() -> None:
    image = mirror(walk(), SWAP)
    assert image.joint_names == NAMES
    assert image.positions[1].tolist() == [-3, -5, -4]
    assert image.components["JointVelocity"][1].tolist() == [-103, -105, -104]
    assert image.components["LinkPosition"][0, 0].tolist() == [0, -2, 3, 0.5, -0.1, 0.2, -0.3]
    assert image.components["ZMP"][0].tolist() == [0, -1, 2]


def rotation(w: float, x: float, y: float, z: float) -> Any:
    """Return the rotation matrix of a unit quaternion by the textbook's formula."""
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


@pytest.mark.parametrize(("normal", "mirrored"), [("x", 0), ("y", 1), ("z", 2)])
def test_a_mirrored_pose_is_the_reflection_of_its_matrix(normal: Any, mirrored: int) -> None:
    quaternion = np.array([0.5, -0.5, 0.1, 0.7])
    quaternion /= np.linalg.norm(quaternion)
    pose = np.concatenate([[1.0, 2.0, 3.0], quaternion])
    root = replace(walk(), components={"LinkPosition": np.tile(pose, (FRAMES, 1, 1))}, metadata={})
    image = mirror(root, {}, normal).components["LinkPosition"][0, 0]
    reflection = np.eye(3)
    reflection[mirrored, mirrored] = -1
    np.testing.assert_allclose(image[:3], reflection @ pose[:3])
    np.testing.assert_allclose(
        rotation(*image[3:]), reflection @ rotation(*quaternion) @ reflection, atol=1e-12
    )


def test_an_offset_moves_its_joints_and_leaves_all_velocities() -> None:
    moved = offset(without(walk(), ["ZMP"]), {"r_hip": 0.5, "waist": -1.0})
    assert moved.positions[1].tolist() == [2, 4, 5.5]
    assert moved.components["JointVelocity"].tolist() == walk().components["JointVelocity"].tolist()
    assert moved.components["LinkPosition"].tolist() == walk().components["LinkPosition"].tolist()


def test_ends_stand_still_as_long_as_every_joint_is_near_the_first_row_or_the_last() -> None:
    rows = np.zeros((10, 2))
    rows[3:, 0] = 0.009
    rows[5:, 1] = 0.02
    rows[7:] = 1.0
    rows[9, 1] = 1.009
    motion = Motion("taught", ("a", "b"), 10.0, np.arange(10) / 10, rows)
    assert still_ends(motion, 0.01) == pytest.approx((0.4, 0.2))
    assert still_ends(motion, [0.005, 0.1]) == pytest.approx((0.2, 0.2))
    assert still_ends(motion, 0.0) == pytest.approx((0.2, 0.0))
    assert still_ends(motion, 2.0) == pytest.approx((0.9, 0.9))


plain = st.integers(1, 30).map(
    lambda frames: Motion(
        "any", NAMES, 50.0, np.arange(frames) / 50.0, np.random.default_rng(frames).normal(size=(frames, 3))
    )
)


@pytest.mark.parametrize("tool", [reverse, lambda motion: mirror(motion, SWAP)])
@settings(derandomize=True)
@given(plain)
def test_done_twice_a_turn_gives_the_same_bits(tool: Callable[[Motion], Motion], motion: Motion) -> None:
    twice = tool(tool(motion))
    assert twice.positions.tobytes() == motion.positions.tobytes()
    assert twice.times.tobytes() == motion.times.tobytes()


KNOWN = "it has waist, l_hip, r_hip"
UNKNOWN_HIP = f"walk: no joint 'l_hop'; {KNOWN}; did you mean 'l_hip'?"
REFUSED: list[tuple[Callable[[], Motion], str]] = [
    (lambda: select(walk(), []), "walk: no joint is selected; a motion keeps one at least; name it"),
    (lambda: select(walk(), ["l_hop", "xyz"]), f"{UNKNOWN_HIP}\nwalk: no joint 'xyz'; {KNOWN}"),
    (
        lambda: select(walk(), iter(["waist", "waist"])),
        "walk: joint 'waist' stands twice; a name is one joint's; correct the list",
    ),
    (
        lambda: select(replace(walk(), joint_names=()), ["waist"]),
        "walk: its joints have no names; they are selected by name; name them first",
    ),
    (lambda: rename(walk(), {"l_hop": "left"}), UNKNOWN_HIP),
    (
        lambda: rename(walk(), {"l_hip": "waist"}),
        "walk: joint 'waist' stands twice; a name is one joint's; correct the list",
    ),
    (
        lambda: name_joints(walk(), ["a", "b", "c"]),
        "walk: its joints have names; those are kept; rename them",
    ),
    (
        lambda: name_joints(replace(walk(), joint_names=()), ["a"]),
        "walk: 1 names for 3 joints; each has one; list them all",
    ),
    (
        lambda: without(walk(), ["Zmp"]),
        "walk: no component 'Zmp'; it has JointVelocity, LinkPosition, ZMP; did you mean 'ZMP'?",
    ),
    (
        lambda: trim(walk(), 2.1, 9),
        "walk: no row lies from 2.1 s to 9 s; it has rows from 0 s to 2 s; trim it elsewhere",
    ),
    (
        lambda: trim_frames(walk(), 3, 5),
        "walk: no frames 3 to 5; it has frames 0 to 4; trim it elsewhere",
    ),
    (
        lambda: trim(walk(), 1.0, 1.5),
        ("walk: component 'ZMP' has no row from 1 s to 1.5 s; it has times of its own; "
        "resample the motion or drop the component first"),
    ),
    (
        lambda: trim(strange()),
        ("walk: component 'Faces' cannot go along; it is no series of numbers over time that is known here; "
        "drop it first"),
    ),
    (
        lambda: reverse(effort()),
        ("walk: component 'JointEffort' cannot be reversed; it is not known how it runs backwards; "
        "drop it first"),
    ),
    (
        lambda: mirror(replace(walk(), components={"Wind": np.zeros((FRAMES, 2))}), SWAP),
        "walk: component 'Wind' cannot be mirrored; its mirror image is not known; drop it first",
    ),
    (
        lambda: offset(walk(), {"waist": 1.0}),
        ("walk: component 'ZMP' cannot be moved; it is not known how it follows the joints; drop it first"),
    ),
    (lambda: offset(walk(), {"l_hop": 1.0}), UNKNOWN_HIP),
    (
        lambda: offset(walk(), {"waist": np.nan}),
        "walk: the offset of joint 'waist' is nan; it is a finite number; correct it",
    ),
    (lambda: mirror(walk(), {"l_hop": ("l_hip", 1)}), UNKNOWN_HIP),
    (
        lambda: mirror(walk(), {"l_hip": ("r_hip", 2)}),
        ("walk: the sign of joint 'l_hip' is 2; it is 1 or -1; correct the table\n"
        "walk: no joint moves as 'l_hip' did; a mirror swaps joints; add the one that does"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "message"), REFUSED)
def test_what_cannot_be_done_is_refused(tool: Callable[[], Motion], message: str) -> None:
    with pytest.raises(MotionError) as caught:
        tool()
    assert str(caught.value) == message
