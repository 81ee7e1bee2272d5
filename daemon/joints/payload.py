"""What a robot carries, as part of its description: a mass without extent at a place of the robot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import Link
from motiond.text import listed, nearest

from .joint_map import JointMapError

if TYPE_CHECKING:
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

    from ..config.robot import PayloadSettings

NAME = "payload"


def with_payload(robot: str, model: RobotModel | None, payload: PayloadSettings | None) -> RobotModel | None:
    """Return a robot's description with what it carries as a link of its own.

    `robot`: its name, for messages. Raises JointMapError if the description has no such frame, or there is
    none.
    """
    if payload is None:
        return model
    if model is None:
        problem, reason = "payload has no frame to be at", "there is no model"
        raise JointMapError([f"{robot}: {problem}; {reason}; name the robot's description, or remove it"])
    places = model.forward_kinematics(np.zeros(model.dof))
    if payload.frame not in places:
        problem, known = f"payload.frame: there is no frame '{payload.frame}'", f"there are {listed(places)}"
        hint = nearest(payload.frame, places) or "choose one of them"
        raise JointMapError([f"{robot}: {problem}; {known}; {hint}"])
    holder = _holder(model, payload.frame)
    pose = np.linalg.inv(places[holder]) @ places[payload.frame] if holder else places[payload.frame]
    name = NAME
    while name in places:
        name += "_"
    link = Link(name, payload.mass, com=_at(payload.com), attached_to=holder, pose=pose)
    return replace(model, links=(*model.links, link))


def _holder(model: RobotModel, place: str) -> str:
    """Return the link that a place moves with; '' for the world."""
    links = {link.name for link in model.links}
    frames = {frame.name: frame.attached_to for frame in model.frames}
    children = {joint.name: joint.child for joint in model.joints}
    while place and place not in links:
        place = frames[place] if place in frames else children.get(place, "")
    return place


def _at(position: tuple[float, float, float]) -> Floats:
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose
