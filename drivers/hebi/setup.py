"""Merges the options of the `hebi` driver with HEBI's own robot configuration, if they name one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import nearest_file

from ..base import Description, DriverConfigError
from ..options import OptionProblem, OptionsError, unknown_actuators
from ..weights import Weights
from .config import HebiConfig, load_hebi_config, pair_modules
from .gravity import Imu
from .lookup import WHERE, Module
from .sender import Mirror

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ..base import Floats
    from .options import HebiOptions
    from .plugins import GravityPlugin, OffsetPlugin


@dataclass(frozen=True, slots=True)
class GravitySetup:
    """How the weight of the arm is compensated.

    `base`: the base's orientation as w, x, y, z; None to use `imu`. `imu`: used if `base` is None.
    """

    base: tuple[float, ...] | None
    imu: Imu
    ramp_s: float


@dataclass(frozen=True, slots=True)
class EffortSetup:
    """What is fed forward: by the model `hrdf`, whose `joints` are these actuators, and constants.

    `weights`: what the robot's bodies weigh; None where gravity is compensated by the model `hrdf`.
    `dynamics_ramp_s`: None where acceleration is not compensated. `offset` (actuators,): constant efforts in
    N·m.
    """

    hrdf: Path | None
    joints: tuple[int, ...]
    gravity: GravitySetup | None
    dynamics_ramp_s: float | None
    offset: Floats | None
    offset_ramp_s: float
    weights: Weights | None = None


def set_up_efforts(
    options: HebiOptions, config: HebiConfig, order: tuple[int, ...], actuators: Sequence[str]
) -> EffortSetup:
    """Merge options and configuration.

    Raises DriverConfigError if they do not fit the modules or each other.
    """
    plugins, hrdf = config.plugins, None
    wants_gravity, wants_dynamics = options.gravity_compensation, options.dynamics_compensation
    compensates = {
        "gravity": plugins.gravity is not None if wants_gravity is None else wants_gravity,
        "dynamics": plugins.dynamics is not None if wants_dynamics is None else wants_dynamics,
    }
    weighs = any(body.mass for body in options.gravity.bodies)
    weights = Weights(WHERE, options.gravity, actuators) if weighs else None
    is_without_model = weighs and options.base_orientation is not None
    for kind in (kind for kind, is_on in compensates.items() if is_on):
        if kind != "gravity" or not is_without_model:
            hrdf = _model(kind, options, config, order)
    dynamics_ramp_s = 0.0 if plugins.dynamics is None else plugins.dynamics.ramp_time
    return EffortSetup(
        hrdf=hrdf,
        joints=tuple(np.argsort(order).tolist()),
        gravity=_gravity(options, plugins.gravity, len(order)) if compensates["gravity"] else None,
        dynamics_ramp_s=dynamics_ramp_s if compensates["dynamics"] else None,
        offset=None if plugins.offset is None else _offset(plugins.offset, config, order),
        offset_ramp_s=0.0 if plugins.offset is None else plugins.offset.ramp_time,
        weights=weights,
    )


def _gravity(options: HebiOptions, plugin: GravityPlugin | None, modules: int) -> GravitySetup:
    imu = Imu()
    if plugin is not None:
        turn = np.array(plugin.imu_rotation_offset, float).reshape(3, 3)
        imu = Imu(plugin.imu_feedback_index, plugin.imu_frame_index, turn)
    if imu.feedback_index >= modules:
        raise DriverConfigError(
            WHERE,
            f"the sensor of module {imu.feedback_index} cannot show which way is down",
            f"there are {modules} modules, counted from 0",
            "correct `imu_feedback_index`",
        )
    ramp_s = options.gravity_ramp_s
    if ramp_s is None:
        ramp_s = 0.0 if plugin is None else plugin.ramp_time
    return GravitySetup(options.base_orientation, imu, ramp_s)


def _model(kind: str, options: HebiOptions, config: HebiConfig, order: tuple[int, ...]) -> Path:
    hrdf = options.hrdf or config.hrdf
    if hrdf is None:
        raise DriverConfigError(WHERE, f"{kind} compensation needs a model", "there is none", "set `hrdf`")
    if len(order) != len(config.names):
        raise DriverConfigError(
            WHERE,
            f"{kind} compensation needs all modules of the arm",
            f"{len(order)} of {len(config.names)} are driven",
            f"map all of them to joints, or set `{kind}_compensation: false`",
        )
    return hrdf


def _offset(plugin: OffsetPlugin, config: HebiConfig, order: tuple[int, ...]) -> Floats:
    count, given = len(config.names), len(plugin.offset)
    if given not in {1, count}:
        raise DriverConfigError(
            config.plugins.places[plugin.type],
            f"plugin {plugin.type} has {given} efforts for {count} modules",
            "it takes one for all of them, or one for each",
            "correct `offset`",
        )
    efforts: Floats = np.broadcast_to(np.array(plugin.offset, float), count)[list(order)]
    return efforts


DEFAULT_LIFETIME_S = 0.25
REPORTS_A_TIMEOUT = 3
"""A module must not count as lost for one late report or two."""


@dataclass(frozen=True, slots=True)
class HebiSetup:
    """How a HEBI robot is driven.

    `feedback_hz`: how often modules report; None for as often as commands are sent. `lower`, `upper`
    (actuators,): where actuators may be when they are enabled, in rad; NaN where that is not set. `places`:
    of the options that name files, where the configuration has them, as `file:line`.
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
    efforts: EffortSetup
    mirrors: tuple[Mirror, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    places: Mapping[str, str]

    @property
    def members(self) -> tuple[Module, ...]:
        """All modules of the group: those of the actuators, then the second ones of doubled joints."""
        return self.modules + tuple(mirror.module for mirror in self.mirrors)

    @property
    def files(self) -> dict[str, Path]:
        """The files that hebi-py has to read, by the option that names them."""
        found = {"gains": self.gains, "hrdf": self.efforts.hrdf}
        return {option: path for option, path in found.items() if path is not None}


def set_up(actuators: Sequence[str], options: HebiOptions) -> HebiSetup:
    """Merge options and configuration.

    Raises DriverConfigError if they do not fit the actuators or each other.
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
        efforts=set_up_efforts(options, config, order, actuators),
        mirrors=_mirrors(config, order),
        notes=tuple(_plugin_notes(options, config, order)),
        warnings=config.warnings,
        places={option: place for option, place in config.places.items() if getattr(options, option) is None},
    )


def refuse_missing(setup: HebiSetup) -> None:
    """Refuse files that are not there. Raises OptionsError with every such file, and where it is named."""
    problems = [
        OptionProblem(
            setup.places.get(option, WHERE),
            (option,),
            f"`{option}` names {path}",
            "there is no such file",
            nearest_file(path) or f"correct `{option}`",
        )
        for option, path in setup.files.items()
        if not path.is_file()
    ]
    if problems:
        raise OptionsError(problems)


def _feedback_timeout(wanted_s: float | None, lifetime_s: float, feedback_hz: float | None) -> float:
    """Return the timeout; refuse one after which a module may have released, and would jump on its return."""
    longest_s = lifetime_s / 2
    timeout_s = wanted_s or longest_s
    if timeout_s > longest_s:
        raise DriverConfigError(
            WHERE,
            f"a feedback timeout of {timeout_s:g} s is too long for a command lifetime of {lifetime_s:g} s",
            "a module that was cut off for longer than half of that may have released, and would jump",
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
    named = (("position_range", name) for name in options.position_range)
    problems = list(unknown_actuators(WHERE, named, actuators))
    if problems:
        raise OptionsError(problems)
    unset = (np.nan, np.nan)
    lower, upper = np.array([options.position_range.get(name, unset) for name in actuators]).T
    return lower, upper


def _mirrors(config: HebiConfig, order: tuple[int, ...]) -> tuple[Mirror, ...]:
    """Return the second module of the joint that two modules move, if that joint is driven at all."""
    plugin = config.plugins.mirror
    if plugin is None:
        return ()
    where, module = config.plugins.places[plugin.type], Module(plugin.group_family, plugin.group_name)
    if plugin.index >= len(config.names):
        raise DriverConfigError(
            where,
            f"plugin {plugin.type} doubles module {plugin.index}",
            f"there are {len(config.names)} modules, counted from 0",
            "correct `index`",
        )
    if module in map(Module, config.families, config.names):
        raise DriverConfigError(
            where,
            f"plugin {plugin.type} lets {module} follow",
            "it is a module of the arm itself, and would get two commands",
            "correct `group_name`, or take it out of `names`",
        )
    if plugin.index not in order:
        return ()
    return (Mirror(module, order.index(plugin.index), -1.0 if plugin.mirror else 1.0),)


def _plugin_notes(options: HebiOptions, config: HebiConfig, order: tuple[int, ...]) -> Iterator[str]:
    """Yield what becomes of each plugin of the file."""
    left_out: dict[str, str] = {}
    if options.gravity_compensation is False:
        left_out["GravityCompensationEffort"] = "`gravity_compensation` is false"
    if options.dynamics_compensation is False:
        left_out["DynamicsCompensationEffort"] = "`dynamics_compensation` is false"
    mirror = config.plugins.mirror
    if mirror is not None and mirror.index not in order:
        doubled = Module(config.families[mirror.index], config.names[mirror.index])
        left_out[mirror.type] = f"no actuator drives {doubled}, which it doubles"
    for kind, where in config.plugins.places.items():
        yield f"{where}: plugin {kind} is " + (
            f"left out, as {left_out[kind]}" if kind in left_out else "applied"
        )
    yield from config.plugins.switched_off


HOME_POSE = "home"


def describe(options: HebiOptions) -> Description | None:
    """Return the robot of the file that the options name, if they name one.

    Joints are called as the modules; where several modules have one name, as `family/name`.

    Raises DriverConfigError if the file cannot be read, or is wrong.
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
        model_named_at=WHERE if options.hrdf else config.places["hrdf"],
        joints=joints,
        poses={} if home is None else {HOME_POSE: dict(zip(joints, home, strict=True))},
    )
