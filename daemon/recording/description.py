"""A robot's description in a recording: as URDF, and where its links are, as viewers want it (`/tf`)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import FormatError, dump_robot, load_robot
from motiond.formats.io import Loss, Transforms
from motiond.formats.model import derived_shapes, quaternion_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from numpy.typing import NDArray

    from motiond.formats import Joint, RobotModel
    from motiond.formats.arrays import Booleans, Floats, Integers

log = logging.getLogger(__name__)

TRANSFORM_PERIOD_NS = 20_000_000
_SLIDING, _TURNING = {"prismatic"}, {"revolute", "continuous"}


@dataclass(frozen=True, slots=True)
class RobotDescription:
    """A robot's URDF, and the transform that each of its joints makes of a posture.

    - `frames`: the parent and the child link of each joint
    """

    urdf: str
    frames: tuple[tuple[str, str], ...]
    # of each frame: its place at 0, shape (frames, 3), its rotation x y z w, shape (frames, 4), and its axis
    # in its own frame and in its parent's, shape (frames, 3)
    _places: Floats
    _turns: Floats
    _axes: Floats
    _ways: Floats
    # for each frame: factor and offset of the joint that it follows, shape (frames,), and that joint's column
    _factors: Floats
    _offsets: Floats
    _columns: Integers
    _slides: Booleans

    @classmethod
    def of(cls, model: RobotModel, joints: Sequence[str]) -> Self | None:
        """Describe a robot; None, with a warning, where URDF cannot say what it is.

        `joints`: those whose positions `poses` gets, in their order.
        """
        try:
            urdf, tree = _as_urdf(_visible(model))
        except FormatError as error:
            log.warning("%s: recordings have no /robot_description and no /tf; %s", model.name, error)
            return None
        columns = {name: column for column, name in enumerate(joints)}
        followed = [_followed(joint, columns) for joint in tree.joints]
        axes = np.array([_axis(joint) for joint in tree.joints]).reshape(-1, 3)
        rotations = np.array([joint.parent_pose[:3, :3] for joint in tree.joints]).reshape(-1, 3, 3)
        quaternions = np.array([quaternion_of(joint.parent_pose) for joint in tree.joints]).reshape(-1, 4)
        return cls(
            urdf=urdf,
            frames=tuple((joint.parent or "world", joint.child) for joint in tree.joints),
            _places=np.array([joint.parent_pose[:3, 3] for joint in tree.joints]).reshape(-1, 3),
            _turns=np.roll(quaternions, -1, axis=1),
            _axes=axes,
            _ways=np.einsum("fij,fj->fi", rotations, axes),
            _factors=np.array([factor for _, factor, _ in followed]),
            _offsets=np.array([offset for _, _, offset in followed]),
            _columns=np.array([column for column, _, _ in followed], dtype=np.int64),
            _slides=np.array([joint.type in _SLIDING for joint in tree.joints], dtype=bool),
        )

    def poses(self, positions: Floats) -> Floats:
        """Return the pose of each child in its parent, shape (n, frames, 7): x y z in m, then x y z w.

        `positions`: of the joints, in rad or m, shape (n, joints).
        """
        moved = positions[:, self._columns] * self._factors + self._offsets
        poses = np.empty((*moved.shape, 7))
        poses[..., :3] = self._places + np.where(self._slides, moved, 0.0)[..., None] * self._ways
        half = np.where(self._slides, 0.0, moved / 2)
        along = np.sin(half)[..., None] * self._axes
        poses[..., 3:] = _product(self._turns, np.concatenate([along, np.cos(half)[..., None]], axis=-1))
        return poses


class TransformSampler:
    """Packs where a robot's links are, of ticks that are `TRANSFORM_PERIOD_NS` apart.

    `description`: of the robot.
    """

    def __init__(self, description: RobotDescription) -> None:
        self._description = description
        self._transforms = Transforms(description.frames)
        self._last = -1

    def packed(
        self, stamps: Integers, measured: Floats, commanded: Floats
    ) -> tuple[Integers, NDArray[np.uint8]]:
        """Return for m of n ticks when they were, shape (m,), and their TFMessages, shape (m, bytes).

        `stamps`: in Unix ns, shape (n,). `measured`, `commanded`: positions, shape (n, joints); what is not
        measured is taken to be as commanded, and a tick of which neither is known is left out.
        """
        periods = stamps // TRANSFORM_PERIOD_NS
        due = np.diff(periods, prepend=self._last) != 0
        self._last = int(periods[-1])
        positions = np.where(np.isnan(measured[due]), commanded[due], measured[due])
        known = np.isfinite(positions).all(axis=1)
        when = stamps[due][known]
        return when, self._transforms.packed(when, self._description.poses(positions[known]))


def _visible(model: RobotModel) -> RobotModel:
    """Return a robot with shapes worked out of its kinematics where nothing says what it looks like."""
    shapes = derived_shapes(model)
    links = tuple(replace(link, shapes=shapes.get(link.name, link.shapes)) for link in model.links)
    return replace(model, links=links)


def _as_urdf(model: RobotModel) -> tuple[str, RobotModel]:
    """Return a robot in URDF, and as it is read there; what URDF cannot say of it is left out.

    Raises `FormatError` if nothing is left.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        try:
            dump_robot(model, path)
        except FormatError as error:
            dump_robot(model, path, drop=[one.name for one in error.problems if isinstance(one, Loss)])
        return path.read_text(encoding="utf-8"), load_robot(path)


def _followed(joint: Joint, columns: Mapping[str, int]) -> tuple[int, float, float]:
    """Return the column that moves a joint, with factor and offset; with the factor 0 where nothing does."""
    if joint.name in columns:
        return columns[joint.name], 1.0, 0.0
    if joint.mimic and joint.mimic.of in columns:
        return columns[joint.mimic.of], joint.mimic.multiplier, joint.mimic.offset
    return 0, 0.0, 0.0


def _axis(joint: Joint) -> Floats:
    return joint.axes[0] if joint.type in _SLIDING | _TURNING else np.zeros(3)


def _product(first: Floats, second: Floats) -> Floats:
    """Return the product of quaternions x y z w, shape (…, 4): the second one in the frame of the first."""
    vector, scalar = first[..., :3], first[..., 3:]
    other, cosine = second[..., :3], second[..., 3:]
    turned = scalar * other + cosine * vector + np.cross(vector, other)
    return np.concatenate([turned, scalar * cosine - (vector * other).sum(axis=-1, keepdims=True)], axis=-1)
