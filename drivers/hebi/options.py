"""The options of the `hebi` driver."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - pydantic resolves the annotations of the options
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from ..base import DriverOptions
from ..options import Finite, NotNegative, Positive
from ..weights import Gravity
from .config import Lifetime  # noqa: TC001 - as above
from .gravity import UNIT_TOLERANCE

if TYPE_CHECKING:
    from typing import Self


def _unit(quaternion: tuple[float, ...]) -> tuple[float, ...]:
    if abs(np.linalg.norm(quaternion) - 1) > UNIT_TOLERANCE:
        raise ValueError("it should be a quaternion of length 1: w, x, y, z")
    return quaternion


def _ascending(bounds: tuple[float, float]) -> tuple[float, float]:
    if bounds[0] >= bounds[1]:
        raise ValueError("it should be the lower and the upper end, in rad")
    return bounds


Orientation = Annotated[tuple[Finite, Finite, Finite, Finite], AfterValidator(_unit)]
Bounds = Annotated[tuple[Finite, Finite], AfterValidator(_ascending)]


class HebiOptions(DriverOptions):
    """The options of `type: hebi`."""

    config: Path | None = Field(default=None, description="A robot configuration of HEBI's (`*.cfg.yaml`).")
    families: list[str] | str | None = Field(
        default=None, description="One family for all modules, or one for each name; without `config`."
    )
    names: list[str] | None = Field(
        default=None,
        description="Names of the modules in the order of the actuators; else the actuators' own names.",
    )
    interfaces: list[str] = Field(
        default=[], description="Network interfaces to look on; empty: all of them."
    )
    lookup_timeout_s: Positive = Field(default=3.0, description="How long to look for the modules.")
    feedback_frequency_hz: Positive | None = Field(
        default=None, description="How often the modules report; null: as often as commands are sent."
    )
    feedback_timeout_s: Positive | None = Field(
        default=None,
        description="Modules that did not report for so long count as lost; null: half the command lifetime.",
    )
    command_lifetime_s: Lifetime | None = Field(
        default=None,
        description="The modules release when no command came for so long; null: 0.25, or as in `config`.",
    )
    gains: Path | None = Field(
        default=None,
        description="An XML file of HEBI's with controller gains; null: as in `config`, or none.",
    )
    control_strategy: Literal[2, 3, 4] | None = Field(
        default=None, description="How HEBI's control loops are connected; null: as the gains or modules say."
    )
    position_range: dict[str, Bounds] = Field(
        default={},
        description="By actuator, [lower, upper] in rad: where it may stand when it is enabled; "
        "else the position limits that are stored in the module.",
    )
    gravity_compensation: bool | None = Field(
        default=None, description="Feed the arm's weight forward; null: if `config` does so."
    )
    gravity: Gravity = Field(
        default=Gravity(from_model=True),
        description="What gravity compensation carries; where no masses come from the robot description, "
        "it is what `hrdf` describes.",
    )
    dynamics_compensation: bool | None = Field(
        default=None, description="Feed forward what accelerates the arm; null: if `config` does so."
    )
    hrdf: Path | None = Field(
        default=None, description="The model of the arm for compensations; null: as in `config`."
    )
    base_orientation: Orientation | None = Field(
        default=None,
        description="How the base stands in the world, as [w, x, y, z]; null: as a module's sensor says.",
    )
    gravity_ramp_s: NotNegative | None = Field(
        default=None, description="How long gravity compensation takes to set in; null: 0, or as in `config`."
    )

    @model_validator(mode="after")
    def _name_modules_once(self) -> Self:
        if (self.config is None) == (self.families is None):
            raise ValueError("give either `config` or `families`")
        if self.config is not None and self.names is not None:
            raise ValueError("`names` stand in the file that `config` names; remove them here")
        return self
