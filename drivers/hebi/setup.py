"""Merges the options of the `hebi` driver with HEBI's own robot configuration, if they name one.

An option takes precedence over the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path  # noqa: TC003 - pydantic resolves the annotations of the options
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field, model_validator

from ..base import DriverConfigError, DriverOptions
from ..options import Finite, NotNegative, OptionProblem, OptionsError, Positive, nearest
from .config import HebiConfig, Lifetime, load_hebi_config, pair_modules
from .gravity import UNIT_TOLERANCE, Imu
from .lookup import WHERE, Module

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from ..base import Floats

DEFAULT_LIFETIME_S = 0.25
REPORTS_A_TIMEOUT = 3
"""A module must not count as lost for one late report or two."""


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
        description="The modules let go when no command came for so long; null: 0.25, or as in `config`.",
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
    hrdf: Path | None = Field(
        default=None, description="The model for gravity compensation; null: as in `config`."
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


@dataclass(frozen=True, slots=True)
class GravitySetup:
    """How the weight of the arm is compensated.

    Attributes
    ----------
    hrdf : Path
        The model.
    joints : tuple of int
        For each joint of the model, the index of its actuator.
    base : tuple of float or None
        The base's orientation as w, x, y, z; None to use `imu`.
    imu : Imu
        Used if `base` is None.
    ramp_s : float
        How long the efforts take to grow to their full size.
    """

    hrdf: Path
    joints: tuple[int, ...]
    base: tuple[float, ...] | None
    imu: Imu
    ramp_s: float


@dataclass(frozen=True, slots=True)
class HebiSetup:
    """How a HEBI robot is driven.

    Attributes
    ----------
    modules : tuple of Module
        In the order of the actuators.
    order : tuple of int
        For each actuator, the index of its module in the configuration.
    configured : int
        How many modules the configuration has.
    lifetime_s : float
        Of commands.
    feedback_hz : float or None
        How often modules report; None for as often as commands are sent.
    feedback_timeout_s : float
        At most half of `lifetime_s`.
    lower, upper : ndarray, shape (actuators,)
        Where actuators may be when they are enabled, in rad; NaN where that is not set.
    warnings : tuple of str
        Parts of the configuration that are not applied.
    """

    modules: tuple[Module, ...]
    order: tuple[int, ...]
    configured: int
    lifetime_s: float
    feedback_hz: float | None
    feedback_timeout_s: float
    gains: Path | None
    control_strategy: int | None
    lower: Floats
    upper: Floats
    gravity: GravitySetup | None
    warnings: tuple[str, ...]


def set_up(actuators: Sequence[str], options: HebiOptions) -> HebiSetup:
    """Merge options and configuration.

    Raises
    ------
    DriverConfigError
        If they do not fit the actuators or each other.
    """
    config = _read_config(actuators, options)
    order = _match(actuators, config)
    lower, upper = _ranges(actuators, options)
    lifetime_s = options.command_lifetime_s or config.command_lifetime_s or DEFAULT_LIFETIME_S
    feedback_hz = options.feedback_frequency_hz or config.feedback_frequency_hz
    return HebiSetup(
        modules=tuple(Module(config.families[index], config.names[index]) for index in order),
        order=order,
        configured=len(config.names),
        lifetime_s=lifetime_s,
        feedback_hz=feedback_hz,
        feedback_timeout_s=_feedback_timeout(options.feedback_timeout_s, lifetime_s, feedback_hz),
        gains=options.gains or config.gains,
        control_strategy=options.control_strategy,
        lower=lower,
        upper=upper,
        gravity=_gravity(options, config, order),
        warnings=config.warnings,
    )


def _feedback_timeout(wanted_s: float | None, lifetime_s: float, feedback_hz: float | None) -> float:
    """Return the timeout; refuse one after which a module may have let go, and would jump on its return."""
    longest_s = lifetime_s / 2
    timeout_s = wanted_s or longest_s
    if timeout_s > longest_s:
        raise DriverConfigError(
            WHERE,
            f"a feedback timeout of {timeout_s:g} s is too long for a command lifetime of {lifetime_s:g} s",
            "a module that was cut off for longer than half of that may have let go, and would jump",
            f"set `feedback_timeout_s` to {longest_s:g} or less",
        )
    if feedback_hz is not None and timeout_s * feedback_hz < REPORTS_A_TIMEOUT:
        raise DriverConfigError(
            WHERE,
            f"a feedback timeout of {timeout_s:g} s is too short for reports at {feedback_hz:g} Hz",
            f"it must last {REPORTS_A_TIMEOUT} reports",
            f"set `feedback_frequency_hz` to {REPORTS_A_TIMEOUT / timeout_s:g} or more",
        )
    return timeout_s


def _read_config(actuators: Sequence[str], options: HebiOptions) -> HebiConfig:
    if options.config is not None:
        return load_hebi_config(options.config)
    families = [options.families] if isinstance(options.families, str) else list(options.families or ())
    return HebiConfig(*pair_modules(WHERE, families, options.names or list(actuators)))


def _match(actuators: Sequence[str], config: HebiConfig) -> tuple[int, ...]:
    """Match actuators and modules by name where every actuator has its module, else by order."""
    by_name = {name: index for index, name in enumerate(config.names)}
    if by_name.keys() >= set(actuators) and len(by_name) == len(config.names):
        return tuple(by_name[name] for name in actuators)
    if len(config.names) != len(actuators):
        raise DriverConfigError(
            WHERE,
            f"{len(config.names)} modules do not go with {len(actuators)} actuators",
            "they are matched by name, or else by order",
            "name as many modules as there are actuators",
        )
    return tuple(range(len(actuators)))


def _ranges(actuators: Sequence[str], options: HebiOptions) -> tuple[Floats, Floats]:
    problems = [
        OptionProblem(
            WHERE,
            ("position_range", name),
            f"option 'position_range' names an unknown actuator '{name}'",
            f"there are {', '.join(actuators)}",
            nearest(name, actuators),
        )
        for name in options.position_range
        if name not in actuators
    ]
    if problems:
        raise OptionsError(problems)
    unset = (np.nan, np.nan)
    lower, upper = np.array([options.position_range.get(name, unset) for name in actuators]).T
    return lower, upper


def _gravity(options: HebiOptions, config: HebiConfig, order: tuple[int, ...]) -> GravitySetup | None:
    wanted = (
        config.gravity is not None if options.gravity_compensation is None else options.gravity_compensation
    )
    if not wanted:
        return None
    hrdf, plugin = options.hrdf or config.hrdf, config.gravity
    if hrdf is None:
        raise DriverConfigError(WHERE, "gravity compensation needs a model", "there is none", "set `hrdf`")
    if len(order) != len(config.names):
        raise DriverConfigError(
            WHERE,
            "gravity compensation needs all modules of the arm",
            f"{len(order)} of {len(config.names)} are driven",
            "map all of them to joints, or set `gravity_compensation: false`",
        )
    imu = Imu()
    if plugin is not None:
        turn = np.array(plugin.imu_rotation_offset, float).reshape(3, 3)
        imu = Imu(plugin.imu_feedback_index, plugin.imu_frame_index, turn)
    if imu.feedback_index >= len(order):
        raise DriverConfigError(
            WHERE,
            f"the sensor of module {imu.feedback_index} cannot tell which way is down",
            f"there are {len(order)} modules, counted from 0",
            "correct `imu_feedback_index`",
        )
    ramp_s = options.gravity_ramp_s
    if ramp_s is None:
        ramp_s = 0.0 if plugin is None else plugin.ramp_time
    joints = tuple(np.argsort(order).tolist())
    return GravitySetup(hrdf, joints, options.base_orientation, imu, ramp_s)
