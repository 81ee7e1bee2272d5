"""What `GET /api/robots/R/model` answers, made from a model by the words of docs/page.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from motiond.formats import Joint, RobotModel
    from motiond.formats.arrays import Floats


def model_payload(model: RobotModel, names: Sequence[str] = ()) -> dict[str, Any]:
    """Describe a robot to a browser; `names` are the joints in the order of telemetry."""
    columns = {name: column for column, name in enumerate(names)}
    return {
        "name": model.name,
        "links": [
            {
                "name": link.name,
                "attached_to": link.attached_to,
                "pose": _flat(link.pose),
                "shapes": list(_shapes(model, link.name)),
            }
            for link in model.links
        ],
        "joints": [_joint(joint, columns) for joint in model.joints],
        "frames": [
            {
                "name": frame.name,
                "kind": frame.kind,
                "attached_to": frame.attached_to,
                "pose": _flat(frame.pose),
            }
            for frame in model.frames
        ],
        "base_pose": _flat(model.base_pose),
        "derived": True,
    }


def _shapes(model: RobotModel, link: str) -> Iterator[dict[str, Any]]:
    """Yield a strut from a link's origin to all that it carries, and a housing about each joint's axis."""
    joints = [joint for joint in model.joints if joint.parent == link]
    carried = [joint.parent_pose for joint in joints]
    carried += [other.pose for other in model.links if other.attached_to == link]
    for pose in carried:
        if (length := float(np.linalg.norm(pose[:3, 3]))) > 1e-3:
            yield _shape("capsule", [0.016, length], _along(pose[:3, 3], pose[:3, 3] / 2))
    for joint in joints:
        if len(joint.axes):
            placed = joint.parent_pose @ _along(joint.axes[0], np.zeros(3))
            yield _shape("cylinder", [0.036, 0.06], placed)


def _shape(kind: str, size: list[float], pose: Floats) -> dict[str, Any]:
    plain: dict[str, Any] = {"colour": None, "mesh": None, "format": None, "scale": None}
    return {"kind": kind, "size": size, "pose": _flat(pose)} | plain


def _along(direction: Floats, middle: Floats) -> Floats:
    """Return a pose whose z axis points along a direction."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(z, [0.0, 0.0, 1.0] if abs(z[2]) < 0.9 else [1.0, 0.0, 0.0])
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3, 0], pose[:3, 1], pose[:3, 2], pose[:3, 3] = x, np.cross(z, x), z, middle
    return pose


def _joint(joint: Joint, columns: dict[str, int]) -> dict[str, Any]:
    mimic = joint.mimic
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": joint.parent,
        "child": joint.child,
        "parent_pose": _flat(joint.parent_pose),
        "child_pose": _flat(joint.child_pose),
        "axes": joint.axes.tolist(),
        "gear_ratio": joint.gear_ratio,
        "pitch_m": joint.pitch_m,
        "closes_loop": joint.closes_loop,
        "coordinates": [
            {"name": one.name, "column": columns.get(one.name), "position": one.initial}
            for one in joint.coordinates
        ],
        "mimic": mimic and {"of": mimic.of, "multiplier": mimic.multiplier, "offset": mimic.offset},
    }


def _flat(pose: Floats) -> list[float]:
    numbers: list[float] = pose.ravel().tolist()
    return numbers
