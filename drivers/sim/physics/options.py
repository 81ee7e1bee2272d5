"""The options of a physical world."""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field

from ...base import DriverOptions
from ...options import Finite, OptionsError, WrongOptions, check
from ...weights import NotZero  # noqa: TC001 - pydantic resolves the annotations of the options

PACKED = "zlib:"


def packed(mjcf: str) -> str:
    """Return a text for `WorldOptions.mjcf` that is shorter, as it has to fit into a message."""
    return PACKED + binascii.b2a_base64(zlib.compress(mjcf.encode()), newline=False).decode()


def _unpacked(value: object) -> object:
    if not isinstance(value, str) or not value.startswith(PACKED):
        return value
    try:
        return zlib.decompress(binascii.a2b_base64(value.removeprefix(PACKED))).decode()
    except (ValueError, zlib.error) as error:
        raise ValueError(f"it is no text that was packed: {error}") from error


class WorldJoint(DriverOptions):
    """The joint of the world that an actuator moves."""

    actuator: str = Field(description="Which one moves it.")
    joint: str = Field(description="Its name in the MJCF: a hinge or a slide.")
    reduction: NotZero = Field(default=1.0, description="joint = actuator / reduction + offset")
    offset: Finite = Field(default=0.0, description="In rad or m.")


class WorldOptions(DriverOptions):
    """A robot and what stands around it, for MuJoCo."""

    mjcf: Annotated[str, BeforeValidator(_unpacked)] = Field(
        description="The text of an MJCF file, with absolute paths to what it names."
    )
    joints: tuple[WorldJoint, ...] = Field(description="Which actuator moves which joint, for each of them.")


def _checked(value: object) -> object:
    """Check a world that is given in place of true or false; its problems are named by its own options."""
    if not isinstance(value, Mapping):
        if isinstance(value, bool | WorldOptions):
            return value
        raise ValueError("it should be true, false or a world; a world has `mjcf` and `joints`")
    try:
        return check("driver sim: physics", WorldOptions, value)
    except OptionsError as error:
        raise WrongOptions(error.problems) from error


Physics: TypeAlias = Annotated[bool | WorldOptions, BeforeValidator(_checked)]
"""Whether actuators move in a world: that of the description, or one that is given."""
