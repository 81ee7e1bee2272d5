"""Merges what options and HEBI's plugins say of the efforts to feed forward."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverConfigError
from .gravity import Imu
from .lookup import WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ..base import Floats
    from .config import HebiConfig
    from .options import HebiOptions
    from .plugins import OffsetPlugin


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
class DynamicsSetup:
    """How the acceleration of the arm is compensated; attributes are as in `GravitySetup`."""

    hrdf: Path
    joints: tuple[int, ...]
    ramp_s: float


@dataclass(frozen=True, slots=True)
class EffortSetup:
    """What is fed forward.

    Attributes
    ----------
    offset : ndarray, shape (actuators,), or None
        Constant efforts in N·m.
    offset_ramp_s : float
        How long they take to grow to their full size.
    """

    gravity: GravitySetup | None = None
    dynamics: DynamicsSetup | None = None
    offset: Floats | None = None
    offset_ramp_s: float = 0.0


def set_up_efforts(options: HebiOptions, config: HebiConfig, order: tuple[int, ...]) -> EffortSetup:
    """Merge options and configuration.

    Parameters
    ----------
    order : tuple of int
        For each actuator, the index of its module in the configuration.

    Raises
    ------
    DriverConfigError
        If they do not fit the modules or each other.
    """
    plugin = config.plugins.offset
    return EffortSetup(
        gravity=_gravity(options, config, order),
        dynamics=_dynamics(options, config, order),
        offset=None if plugin is None else _offset(plugin, config, order),
        offset_ramp_s=0.0 if plugin is None else plugin.ramp_time,
    )


def _gravity(options: HebiOptions, config: HebiConfig, order: tuple[int, ...]) -> GravitySetup | None:
    plugin, wanted = config.plugins.gravity, options.gravity_compensation
    if not (plugin is not None if wanted is None else wanted):
        return None
    hrdf = _model("gravity", options, config, order)
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
    return GravitySetup(hrdf, _joints(order), options.base_orientation, imu, ramp_s)


def _dynamics(options: HebiOptions, config: HebiConfig, order: tuple[int, ...]) -> DynamicsSetup | None:
    plugin, wanted = config.plugins.dynamics, options.dynamics_compensation
    if not (plugin is not None if wanted is None else wanted):
        return None
    hrdf = _model("dynamics", options, config, order)
    return DynamicsSetup(hrdf, _joints(order), 0.0 if plugin is None else plugin.ramp_time)


def _joints(order: Sequence[int]) -> tuple[int, ...]:
    return tuple(np.argsort(order).tolist())


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
