"""A robot in a recording looks as it does elsewhere: its URDF, and where its links are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.ipc.ring import slices
from motiond.daemon.recording import RecordingWriter, RobotDescription
from motiond.formats import load_robot, load_robots

from .recordings import about, read, records

if TYPE_CHECKING:
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

FILES = Path(__file__).parents[2] / "files" / "good"
SIX_AXIS = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
ROBOTS = [
    SIX_AXIS,
    FILES / "walker.hrdf",
    FILES / "crane.sdf",
    FILES / "workshop.skel",
    *sorted((FILES / "urdf").glob("*.urdf")),
]


def described(model: RobotModel) -> tuple[RobotDescription, tuple[str, ...]]:
    joints = tuple(one.name for joint in model.joints if not joint.mimic for one in joint.coordinates)
    description = RobotDescription.of(model, joints)
    assert description is not None
    return description, joints


def places(description: RobotDescription, poses: Floats) -> dict[str, Floats]:
    """Return where the links are, by the transforms of one posture, shape (frames, 7)."""
    children = {child for _, child in description.frames}
    found = {parent: np.eye(4) for parent, _ in description.frames if parent not in children}
    left = dict(enumerate(description.frames))
    while left:
        for number, (parent, child) in [*left.items()]:
            if parent in found:
                found[child] = found[parent] @ matrix(poses[number])
                del left[number]
    return found


def matrix(pose: Floats) -> Floats:
    x, y, z, w = pose[3:]
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    made = np.eye(4)
    made[:3, :3] += 2 * w * cross + 2 * cross @ cross
    made[:3, 3] = pose[:3]
    return made


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_transforms_put_each_link_where_kinematics_does(path: Path) -> None:
    description, joints = described(load_robots(path)[-1])
    postures = np.random.default_rng(5).uniform(-1, 1, size=(4, len(joints)))
    for posture, poses in zip(postures, description.poses(postures), strict=True):
        tree = read_back(description)
        values = dict(zip(joints, posture, strict=True))
        q = []
        for joint in tree.joints:
            for _ in joint.coordinates:
                mimic = joint.mimic
                follows = mimic and mimic.multiplier * values.get(mimic.of, 0.0) + mimic.offset
                q.append(values.get(joint.name, follows or 0.0))
        expected = tree.forward_kinematics(q)
        for link, place in places(description, poses).items():
            if link in expected:
                np.testing.assert_allclose(place, expected[link], atol=1e-9)


def test_a_robot_without_shapes_is_seen_all_the_same() -> None:
    description, _ = described(load_robot(SIX_AXIS))
    seen = [link.name for link in read_back(description).links if link.shapes]
    assert {"shoulder", "elbow", "bracket1"} <= {*seen}


def read_back(description: RobotDescription) -> RobotModel:
    from tempfile import NamedTemporaryFile  # noqa: PLC0415

    with NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(description.urdf)
        file.flush()
        return load_robot(Path(file.name))


def test_a_recording_shows_the_robot_fifty_times_a_second(tmp_path: Path) -> None:
    description, joints = described(load_robot(SIX_AXIS))
    ticks = records(200, joints=len(joints))
    part = slices(len(joints))
    ticks[50, part["position"]] = np.nan  # taken as commanded
    ticks[100, part["position"]] = ticks[100, part["reference_position"]] = np.nan
    units = ("rad",) * len(joints)
    writer = RecordingWriter(
        tmp_path / "run.mcap", about(joints=joints, units=units, description=description)
    )
    for batch in np.array_split(ticks, 7):
        writer.add(batch)
        writer.cut()
    found = read(writer.finish("asked to"))
    assert [message.data for message in found.messages["/robot_description"]] == [description.urdf]
    assert found.stamps["/robot_description"] == found.stamps["/joint_states"][:1]
    at = [*range(0, 200, 20)]
    at.remove(100)
    assert found.stamps["/tf"] == [found.stamps["/joint_states"][tick] for tick in at]
    message = found.messages["/tf"][1]
    frames = [(one.header.frame_id, one.child_frame_id) for one in message.transforms]
    assert frames == [*description.frames]
    poses = description.poses(ticks[20:21, part["position"]])[0]
    for one, pose in zip(message.transforms, poses, strict=True):
        shift, turn = one.transform.translation, one.transform.rotation
        assert [shift.x, shift.y, shift.z, turn.x, turn.y, turn.z, turn.w] == pose.tolist()
