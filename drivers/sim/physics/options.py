"""The options of a physical world."""

from __future__ import annotations

from pydantic import Field

from ...base import DriverOptions
from ...options import Finite  # noqa: TC001 - pydantic resolves the annotations of the options
from ...weights import NotZero  # noqa: TC001 - the same


class WorldJoint(DriverOptions):
    """The joint of the world that an actuator moves."""

    actuator: str = Field(description="Which one moves it.")
    joint: str = Field(description="Its name in the MJCF: a hinge or a slide.")
    reduction: NotZero = Field(default=1.0, description="joint = actuator / reduction + offset")
    offset: Finite = Field(default=0.0, description="In rad or m.")


class WorldOptions(DriverOptions):
    """A robot and what stands around it, for MuJoCo."""

    mjcf: str = Field(description="The text of an MJCF file, with absolute paths to what it names.")
    joints: tuple[WorldJoint, ...] = Field(description="Which actuator moves which joint, for each of them.")
