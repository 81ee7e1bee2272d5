"""What HEBI's robot configuration tells of the robot besides its modules: model, joints, home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base import Description
from .config import load_hebi_config

if TYPE_CHECKING:
    from .options import HebiOptions

HOME_POSE = "home"


def describe(options: HebiOptions) -> Description | None:
    """Return the robot of the file that the options name, if they name one.

    Joints are called as the modules; where several modules have one name, as `family/name`.

    Raises
    ------
    DriverConfigError
        If the file cannot be read, or is wrong.
    """
    if options.config is None:
        return None
    config = load_hebi_config(options.config)
    joints = config.names
    if len(set(joints)) < len(joints):
        joints = tuple(f"{family}/{name}" for family, name in zip(config.families, config.names, strict=True))
    home = config.home_position
    return Description(
        model=options.hrdf or config.hrdf,
        joints=joints,
        poses={} if home is None else {HOME_POSE: dict(zip(joints, home, strict=True))},
    )
