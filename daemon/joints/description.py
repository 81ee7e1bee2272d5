"""A robot's description, as the configuration names it, and its joints."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import load_robot
from motiond.text import listed

from .bounds import joint_bounds
from .joint_map import JointMapError, build_joint_map, moving_joints

if TYPE_CHECKING:
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Booleans

    from ..config.robot import ModelSettings, RobotSettings
    from ..config.settings import Settings
    from .joint_map import JointMap

log = logging.getLogger(__name__)


def make_joint_map(name: str, robot: RobotSettings, settings: Settings) -> JointMap:
    """Load a robot's description and join it with its configured joints.

    Raises `FormatError` or `JointMapError` if they do not fit.
    """
    joint_map = build_joint_map(name, load_model(robot, settings), robot.joints)
    joint_bounds(joint_map, robot)
    return joint_map


def missing_limits(joint_map: JointMap) -> str:
    """Return a warning that names the joints without limits of position or acceleration; '' if none lacks."""
    limits = joint_map.limits
    kinds = {
        "position": np.isinf(limits.lower) | np.isinf(limits.upper),
        "acceleration": np.isinf(limits.acceleration),
    }
    parts = [
        f"no {kind} limit for {'any joint' if lacking.all() else _named(joint_map, lacking)}"
        for kind, lacking in kinds.items()
        if lacking.any()
    ]
    if not parts:
        return ""
    reason = "nothing keeps a motion from asking too much there"
    return f"{', and '.join(parts)}; {reason}; set `joints.NAME.limits`"


def _named(joint_map: JointMap, chosen: Booleans) -> str:
    names = [name for name, is_chosen in zip(joint_map.joints, chosen, strict=True) if is_chosen]
    return listed(names)


def load_model(robot: RobotSettings, settings: Settings) -> RobotModel | None:
    """Load a robot's description, if it has one.

    Raises `FormatError` if it cannot be read. Raises `JointMapError` if it has another number of joints than
    there are names for them.
    """
    if robot.model is None:
        return None
    model = load_robot(robot.model.file, robot.model.name, within=settings.folders_for(robot.model))
    for warning in model.warnings:
        log.warning("%s", warning)
    return model if robot.model.joint_names is None else _renamed(model, robot.model)


def _renamed(model: RobotModel, settings: ModelSettings) -> RobotModel:
    """Return the model with the configured names for the joints that move."""
    moving = [joint.name for joint in moving_joints(model)]
    names = settings.joint_names or []
    if len(names) != len(moving):
        raise JointMapError(
            [
                (
                    f"{settings.file}: {len(moving)} joints that move do not go with {len(names)} names for "
                    f"them; the names are {listed(names)}; "
                    "correct model.joint_names, or the driver's own configuration"
                )
            ]
        )
    new = dict(zip(moving, names, strict=True))
    others = {link.name for link in model.links} | {frame.name for frame in model.frames}
    return replace(
        model,
        joints=tuple(
            replace(
                joint,
                name=new.get(joint.name, joint.name),
                mimic=joint.mimic and replace(joint.mimic, of=new.get(joint.mimic.of, joint.mimic.of)),
            )
            for joint in model.joints
        ),
        frames=tuple(
            frame
            if frame.attached_to in others
            else replace(frame, attached_to=new.get(frame.attached_to, frame.attached_to))
            for frame in model.frames
        ),
    )
