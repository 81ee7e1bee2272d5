"""The weight of a robot, from its description: what the option `gravity` of drivers wants.

The option's `from_model` is replaced by bodies that have the masses of the model. What no joint of the map
moves is lumped with what carries it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from motiond.formats import Joint, RobotModel
    from motiond.formats.arrays import Floats

    from .joint_map import JointMap


_SLIDES = frozenset({"prismatic", "translational"})


def with_gravity(options: Mapping[str, Any], model: RobotModel | None, joint_map: JointMap) -> dict[str, Any]:
    """Fill the bodies of `gravity` where they are to come from the model; other options stay as they are."""
    gravity = options.get("gravity")
    if model is None or not isinstance(gravity, dict) or not gravity.get("from_model"):
        return dict(options)
    return {**options, "gravity": {**gravity, "from_model": False, "bodies": bodies_of(model, joint_map)}}


def bodies_of(model: RobotModel, joint_map: JointMap) -> list[dict[str, Any]]:
    """Return what each joint of a map carries, up to the next joints, as drivers take it (`Body`)."""
    return list(_bodies(model, joint_map))


def _bodies(model: RobotModel, joint_map: JointMap) -> Iterator[dict[str, Any]]:
    places = model.forward_kinematics(np.zeros(model.dof))
    driven = _driven(model, joint_map)
    transmission = joint_map.transmission
    for name, joint in driven.items():
        carrier = _moved_by(joint.parent, model, driven)
        here = _place(joint, places)
        there = np.eye(4) if carrier is None else _place(driven[carrier], places)
        mass, com = _lumped(joint, model, driven, places)
        row = joint_map.joints.index(name)
        yield {
            "name": name,
            "actuator": joint_map.actuator_of(name),
            "carried_by": carrier,
            "pose": (np.linalg.inv(there) @ here).tolist(),
            "axis": joint.axes[0].tolist(),
            "slides": joint.type in _SLIDES,
            "mass": mass,
            "com": (np.linalg.inv(here) @ com)[:3].tolist(),
            "reduction": float(transmission.joint_reduction[row]) * joint.gear_ratio,
            "offset": float(transmission.joint_offset[row]) / joint.gear_ratio,
        }


def _driven(model: RobotModel, joint_map: JointMap) -> dict[str, Joint]:
    """Return the joints that an actuator moves, by name; so are those that follow another."""
    moved = np.isfinite(joint_map.transmission.joint_reduction)
    names = {name for name, is_moved in zip(joint_map.joints, moved, strict=True) if is_moved}
    return {joint.name: joint for joint in model.joints if joint.name in names and not joint.closes_loop}


def _place(joint: Joint, places: Mapping[str, Floats]) -> Floats:
    """Return a joint's frame at zero; a link may have taken its name."""
    place: Floats = places[joint.child] @ np.linalg.inv(joint.child_pose)
    return place


def _lumped(
    joint: Joint, model: RobotModel, driven: Mapping[str, Joint], places: Mapping[str, Floats]
) -> tuple[float, Floats]:
    """Return the mass that moves with a joint, and its centre in the model's frame as (x, y, z, 1)."""
    mass, moment = 0.0, np.zeros(3)
    for link in model.links:
        if _moved_by(link.name, model, driven) == joint.name:
            mass += link.mass
            moment += link.mass * (places[link.name] @ link.com)[:3, 3]
    centre = moment / mass if mass else places[joint.child][:3, 3]
    return mass, np.append(centre, 1.0)


def _moved_by(link: str, model: RobotModel, driven: Mapping[str, Joint]) -> str | None:
    """Return the driven joint that a link moves with."""
    by_child = {one.child: one for one in model.joints if not one.closes_loop}
    attached = {one.name: one.attached_to for one in model.links}
    while link:
        above = by_child.get(link)
        if above is not None and above.name in driven:
            return above.name
        link = above.parent if above is not None else attached.get(link, "")
    return None
