"""The limits that HEBI modules have stored, and whether modules count the right turn.

Safety limits end what a module does (`position_limit_min`, …); targets cut what it is commanded
(`position_min_target`, among its gains). Names are those of `hebi.GroupInfo` in hebi-py 2.16.

After a power cycle a position may be off by 360°. A module counts the wrong turn if it is out of its range
and would be within it on another turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import DriverError
from ..limits import ActuatorLimits
from .feedback import TURN_RAD, WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base import Floats
    from ..limits import LimitKind
    from .lookup import Module
    from .sender import Mirrors

MARGIN_RAD = 0.2
"""A module this little outside its range has merely overshot a limit."""


def stored_ranges(info: Any) -> tuple[Floats, Floats]:
    """Return the position limits that are stored in the modules.

    `info`: has 0 for a limit that a module did not report. Returns `lower`, `upper` (modules,): in rad; NaN
    where a module has none.
    """
    lower, upper = (np.array(bound, float) for bound in (info.position_limit_min, info.position_limit_max))
    unset = ~(np.isfinite(lower) & np.isfinite(upper) & (lower < upper))
    lower[unset] = upper[unset] = np.nan
    return lower, upper


def refuse_turns(modules: Sequence[Module], position: Floats, lower: Floats, upper: Floats) -> None:
    """Raise if positions are whole turns away from their range.

    Raises DriverError with every such module, its position, its range, and the number of turns.
    """
    turns = np.where(
        position > upper, np.ceil((position - upper) / TURN_RAD), np.floor((position - lower) / TURN_RAD)
    )
    there = position - turns * TURN_RAD
    outside = (position > upper + MARGIN_RAD) | (position < lower - MARGIN_RAD)
    wrong = outside & (lower <= there) & (there <= upper)
    if not wrong.any():
        return
    raise DriverError(
        WHERE,
        ", ".join(
            f"{modules[index]} is at {position[index]:.3f} rad, {turns[index]:+g} turns from its range of "
            f"{lower[index]:g} to {upper[index]:g} rad"
            for index in np.flatnonzero(wrong)
        ),
        "modules may count another turn once they were switched off",
        "switch them on within their range, or set their position with HEBI Scope, "
        "then reset and enable the robot",
    )


ENDS: tuple[LimitKind, LimitKind] = ("lower", "upper")
SIZES: tuple[LimitKind, LimitKind] = ("velocity", "effort")
DISABLED = 3
"""The strategy of a position limit that does nothing."""


def stored_limits(info: Any, modules: Sequence[Module], mirrors: Mirrors, actuators: int) -> ActuatorLimits:
    """Return what modules allow by their stored limits, for each actuator.

    `info`: None where the modules did not report their settings; then nothing is known.
    """
    if info is None:
        return ActuatorLimits.none(actuators)
    return _of_actuators(_of_modules(info, modules), mirrors, actuators)


def _of_modules(info: Any, modules: Sequence[Module]) -> ActuatorLimits:
    """Return the limits of all modules, as they count."""
    count = len(modules)
    limits = ActuatorLimits.none(count)
    lower, upper = stored_ranges(info)
    strategies = (_field(info, f"{end}_position_limit_strategy", count) for end in ("min", "max"))
    for kind, values, strategy in zip(ENDS, (lower, upper), strategies, strict=True):
        limits = limits.narrowed(
            kind, np.where(strategy == DISABLED, np.nan, values), _stored("position limit", modules)
        )
    limits = _with_targets(limits, info, modules)
    for kind in SIZES:
        ends = [_field(info, f"{kind}_limit_{end}", count) for end in ("min", "max")]
        limits = limits.narrowed(kind, _least_size(*ends), _stored(f"{kind} limit", modules))
    return limits


def _with_targets(limits: ActuatorLimits, info: Any, modules: Sequence[Module]) -> ActuatorLimits:
    targets = [_field(info, f"position_{end}_target", len(modules)) for end in ("min", "max")]
    is_range = targets[0] < targets[1]
    for kind, end, values in zip(ENDS, ("min", "max"), targets, strict=True):
        source = _stored(f"position_{end}_target", modules)
        limits = limits.narrowed(kind, np.where(is_range, values, np.nan), source)
    return limits


def _of_actuators(limits: ActuatorLimits, mirrors: Mirrors, actuators: int) -> ActuatorLimits:
    """Let an actuator of two modules be limited by both; each of them gives half of its effort."""
    first = slice(0, actuators)
    doubled = {mirror.leader for mirror in mirrors.pairs}
    shares = np.array([2.0 if index in doubled else 1.0 for index in range(actuators)])
    found = ActuatorLimits.none(actuators)
    for kind in (*ENDS, SIZES[0]):
        found = found.narrowed(kind, getattr(limits, kind)[first], limits.sources[kind][first])
    found = found.narrowed("effort", limits.effort[first] * shares, limits.sources["effort"][first])
    for place, mirror in enumerate(mirrors.pairs, actuators):
        found = found.joined([_mirrored(limits, place, mirror.leader, mirror.sign, actuators)])
    return found


def _mirrored(limits: ActuatorLimits, place: int, leader: int, sign: float, actuators: int) -> ActuatorLimits:
    """Return the limits of a second module as those of the actuator that it helps to move."""
    lower, upper = ENDS if sign > 0 else reversed(ENDS)
    wanted: dict[LimitKind, tuple[LimitKind, float]] = {
        "lower": (lower, sign),
        "upper": (upper, sign),
        "velocity": ("velocity", 1.0),
        "effort": ("effort", 2.0),
    }
    found = ActuatorLimits.none(actuators)
    for kind, (of_module, factor) in wanted.items():
        values = np.full(actuators, np.nan)
        values[leader] = factor * getattr(limits, of_module)[place]
        found = found.narrowed(kind, values, limits.sources[of_module][place])
    return found


def _field(info: Any, name: str, count: int) -> Floats:
    """Return a field of all modules; NaN where this version of the vendor's library or a module has none."""
    return np.asarray(getattr(info, name, np.full(count, np.nan)), float)


def _least_size(lowest: Floats, highest: Floats) -> Floats:
    """Return the size that neither bound forbids; NaN where none is set, as 0 stands for that as well."""
    sizes = np.fmin(np.abs(lowest), np.abs(highest))
    return np.where(sizes > 0, sizes, np.nan)


def _stored(what: str, modules: Sequence[Module]) -> list[str]:
    return [f"HEBI's stored {what} of module {module}" for module in modules]
