"""The weight of a robot, from its description: what the option `gravity` of drivers wants.

The option's `from_model`, which is HEBI modules' default, is replaced by bodies that have the masses of the
model, also in the parts of a composite. What no joint of the map moves is lumped with what carries it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from motiond.formats import Joint, RobotModel
    from motiond.formats.arrays import Floats

    from .joint_map import JointMap


COMPOSITE, HEBI = "composite", "hebi"
_SLIDES = frozenset({"prismatic", "translational"})


def with_gravity(
    kind: str, options: Mapping[str, Any], model: RobotModel | None, joint_map: JointMap
) -> dict[str, Any]:
    """Fill the bodies of `gravity` where they are to come from the model; other options stay as they are.

    `kind`: the driver.
    """
    if kind == COMPOSITE and isinstance(options.get("parts"), dict):
        parts = {name: _part(part, model, joint_map) for name, part in options["parts"].items()}
        return {**options, "parts": parts}
    return _with_gravity(kind, options, model, joint_map, joint_map.actuators)


def _part(part: Any, model: RobotModel | None, joint_map: JointMap) -> Any:
    if not isinstance(part, dict):
        return part
    kind, actuators = part.get("type", ""), part.get("actuators", ())
    return _with_gravity(kind, part, model, joint_map, actuators)


def _with_gravity(
    kind: str,
    options: Mapping[str, Any],
    model: RobotModel | None,
    joint_map: JointMap,
    actuators: Collection[str],
) -> dict[str, Any]:
    gravity = options.get("gravity", {"from_model": True} if kind == HEBI else None)
    if model is None or not isinstance(gravity, dict) or not gravity.get("from_model"):
        return dict(options)
    bodies = list(_bodies(model, joint_map, actuators))
    if kind == HEBI and not any(body["mass"] for body in bodies):
        return dict(options)  # which then weighs what its own model says
    return {**options, "gravity": {**gravity, "from_model": False, "bodies": bodies}}


def _bodies(model: RobotModel, joint_map: JointMap, actuators: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield what each joint that actuators move carries, up to the next joints, as drivers take it."""
    places = model.forward_kinematics(np.zeros(model.dof))
    driven = _driven(model, joint_map, actuators)
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
            "lead": joint.pitch_m / (2 * np.pi) if joint.type == "screw" else 0.0,
            "mass": mass,
            "com": (np.linalg.inv(here) @ com)[:3].tolist(),
            "reduction": float(transmission.joint_reduction[row]) * joint.gear_ratio,
            "offset": float(transmission.joint_offset[row]) / joint.gear_ratio,
        }


def _driven(model: RobotModel, joint_map: JointMap, actuators: Collection[str]) -> dict[str, Joint]:
    """Return the joints that some actuators move, by name; so are those that follow another."""
    moved = np.isfinite(joint_map.transmission.joint_reduction)
    names = {
        name
        for name, is_moved in zip(joint_map.joints, moved, strict=True)
        if is_moved and joint_map.actuator_of(name) in actuators
    }
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
