"""Robots for tests of planning: joints by list, without a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from motiond.daemon.config.robot import JointSettings, RobotSettings
from motiond.daemon.joints.joint_map import JointMap, build_joint_map

if TYPE_CHECKING:
    from motiond.formats import RobotModel

WIDE = {"lower": -2.0, "upper": 2.0, "velocity": 1.0}


def settings_of(joints: dict[str, dict[str, Any]], **options: Any) -> RobotSettings:
    """Return settings of a robot whose joints have wide limits where none are given."""
    listed = {name: {"limits": WIDE} | settings for name, settings in joints.items()}
    return RobotSettings.model_validate({"driver": {"type": "sim"}, "joints": listed} | options)


def map_of(joints: dict[str, dict[str, Any]], model: RobotModel | None = None) -> JointMap:
    """Return the joint map of a robot called `arm`."""
    settings = {name: JointSettings.model_validate(joint) for name, joint in joints.items()}
    return build_joint_map("arm", model, settings)
