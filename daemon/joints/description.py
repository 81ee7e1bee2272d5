"""A robot's description, as the configuration names it, and its joints."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from motiond.formats import load_robot

from .joint_map import build_joint_map

if TYPE_CHECKING:
    from motiond.formats import RobotModel

    from ..config.robot import RobotSettings
    from ..config.settings import Settings
    from .joint_map import JointMap

log = logging.getLogger(__name__)


def make_joint_map(name: str, robot: RobotSettings, settings: Settings) -> JointMap:
    """Load a robot's description and join it with its configured joints.

    Raises
    ------
    FormatError, JointMapError
        If they do not fit.
    """
    return build_joint_map(name, load_model(robot, settings), robot.joints)


def load_model(robot: RobotSettings, settings: Settings) -> RobotModel | None:
    """Load a robot's description, if it has one.

    Raises
    ------
    FormatError
        If it cannot be read.
    """
    if robot.model is None:
        return None
    model = load_robot(robot.model.file, robot.model.name, within=settings.folders_for(robot.model))
    for warning in model.warnings:
        log.warning("%s", warning)
    return model
