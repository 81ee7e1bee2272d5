"""A motion to a `.npz` file that `numpy.load` and `reader` read, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FormatError, Problem
from ..io.writers.digits import ALL_DIGITS, check_digits, rounded_columns
from ..io.writers.losses import refuse_losses
from ..io.writers.motion_writing import ASIDE, unwritable
from ..io.writers.output import replacing
from ..model.mapping import si_unit
from ..model.motion import MotionError
from .reader import COMPONENT, NAMES, POSITIONS, RATES, TIMES, TYPE, UNITS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ..model.motion import Motion

OPTIONS: frozenset[str] = frozenset()


def dump(
    motion: Motion, path: Path, *, precision: int | None = ALL_DIGITS, drop: Collection[str] = ()
) -> None:
    """Write a motion, as `dump_motion` does."""
    check_digits(precision)
    losses = {name: reason for name in motion.components if (reason := _loss(motion, name))}
    losses |= {name: "it is of another format" for name in ASIDE if motion.metadata.get(name)}
    refuse_losses(path, losses, drop, [*motion.components, *losses])
    problems = unwritable(motion, path)
    if path.suffix.lower() == ".npy":
        reason = ".npy holds one array, and neither names nor times"
        problems.append(Problem(str(path), 0, "is not written", reason, "name it .npz"))
    if problems:
        raise FormatError(problems)
    arrays: dict[str, Any] = {
        POSITIONS[0]: rounded_columns(motion.positions, precision),
        TIMES[0]: motion.times,
        RATES[0]: np.float64(motion.frame_rate),
    }
    if motion.joint_names:
        arrays[NAMES[0]] = np.array(motion.joint_names)
        units = motion.metadata.get("units", {})
        arrays[UNITS] = np.array([si_unit(units.get(name)) for name in motion.joint_names])
    for name in motion.components:
        if name not in drop:
            arrays[f"{COMPONENT}{name}"] = motion.series(name)[1]
            if type_ := motion.about(name).get("type"):
                arrays[f"{TYPE}{name}"] = np.array(type_)
    with replacing(path) as stream:
        np.savez(stream, **arrays)


def _loss(motion: Motion, name: str) -> str:
    """Return why a component cannot be written; '' if it can."""
    try:
        times, _ = motion.series(name)
    except MotionError:
        return "it is no series of numbers over time that is known here"
    return "" if np.array_equal(times, motion.times) else "it has times of its own"
