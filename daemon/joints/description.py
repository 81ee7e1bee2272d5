"""A robot's description, as the configuration names it, and its joints."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers import DriverError, OptionsError, describe_robot
from motiond.formats import FormatError, Problem, Source, load_robot
from motiond.formats.io import HEBI_CONFIG, foreign_format
from motiond.text import listed

from ..config.robot import ModelSettings
from ..trajectory import TURN
from .bounds import joint_bounds
from .joint_map import build_joint_map, moving_joints

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.drivers import OptionProblem
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Booleans

    from ..config.robot import RobotSettings
    from ..config.settings import Settings
    from .joint_map import JointMap

log = logging.getLogger(__name__)

FARTHEST_LIMITS = 100.0 * TURN
"""In rad or m: limits that are further apart are those of a count of turns, and bound no robot."""


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
        "position": (limits.upper - limits.lower > FARTHEST_LIMITS) & ~joint_map.continuous,
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


def has_ends(own: JointMap, narrowed: JointMap) -> str:
    """Return a warning that names the joints that turn without end, and whose actuators do not; '' for none.

    `own`: without what the actuators allow; `narrowed`: with that.
    """
    held_back = own.continuous & ~narrowed.continuous
    if not held_back.any():
        return ""
    problem = f"turning without end: not {_named(own, held_back)}"
    reason = "the actuator counts no more than a turn, so that its limits hold"
    return f"{problem}; {reason}; let it count turns, or set `joints.NAME.continuous: false`"


def _named(joint_map: JointMap, chosen: Booleans) -> str:
    names = [name for name, is_chosen in zip(joint_map.joints, chosen, strict=True) if is_chosen]
    return listed(names)


def load_model(robot: RobotSettings, settings: Settings) -> RobotModel | None:
    """Load a robot's description, if it has one.

    Raises `FormatError` if it cannot be read, or has another number of joints than there are names for them.
    """
    if robot.model is None:
        return None
    model = load_robot(
        robot.model.file,
        robot.model.name,
        within=(robot.model.file.parent,),
        resource_paths=settings.resource_paths,
    )
    for warning in model.warnings:
        log.warning("%s", warning)
    return model if robot.model.joint_names is None else _renamed(model, robot.model)


def read_robot(path: Path, name: str | None = None) -> RobotModel:
    """Read the only robot of a description, or the one named; or the robot of a `cfg.yaml` of HEBI's.

    Raises `FormatError` as `load_model` does.
    """
    if foreign_format(Source(path).read()) != HEBI_CONFIG:
        return load_robot(path, name)
    try:
        description = describe_robot("hebi", {"config": path})
        if description is None or description.model is None:
            raise FormatError([Problem(str(path), 0, "names no description", "`hrdf` is missing", "add it")])
        description.require_model()
    except DriverError as error:
        wrong = error.problems if isinstance(error, OptionsError) else (error,)
        raise FormatError([_as_problem(one) for one in wrong]) from error
    settings = ModelSettings(file=description.model, joint_names=list(description.joints))
    return _renamed(load_robot(description.model, name), settings)


def _as_problem(error: DriverError | OptionProblem) -> Problem:
    file, _, line = error.where.rpartition(":")
    where = (file, int(line)) if line.isdecimal() else (error.where, 0)
    return Problem(*where, error.problem, error.reason, error.hint)


def _renamed(model: RobotModel, settings: ModelSettings) -> RobotModel:
    """Return the model with the configured names for the joints that move."""
    moving = [joint.name for joint in moving_joints(model)]
    names = settings.joint_names or []
    if len(names) != len(moving):
        problem = f"{len(moving)} joints that move do not go with {len(names)} names for them"
        hint = "correct model.joint_names, or the driver's own configuration"
        raise FormatError([Problem(str(settings.file), 0, problem, f"the names are {listed(names)}", hint)])
    new = dict(zip(moving, names, strict=True))
    others = {link.name for link in model.links} | {frame.name for frame in model.frames}
    return replace(
        model,
        joints=tuple(
            replace(
                joint,
                name=new.get(joint.name, joint.name),
                coordinates=tuple(
                    replace(coordinate, name=new.get(coordinate.name, coordinate.name))
                    for coordinate in joint.coordinates
                ),
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
