"""What writers of motions share: refusal of what a file cannot hold, names for joints, and ROS's times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import FormatError, Problem
from ...model.timing import NS
from .losses import refuse_losses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from ...arrays import Floats, Integers
    from ...model.motion import Motion

POSITIONS = "JointDisplacement"
# What a motion's file may say besides series.
ASIDE = ("attributes", "servos", "unknown")
# ROS has seconds in 32 bits.
LATEST_OF_ROS_S = 1 << 31


def joint_names(motion: Motion) -> tuple[str, ...]:
    """Return the name of each joint; joints without names are numbered, as in .seq."""
    return motion.joint_names or tuple(f"joint{number}" for number in range(motion.positions.shape[1]))


def written_series(
    motion: Motion,
    names: Collection[str],
    path: Path,
    drop: Collection[str],
    *,
    reason: str,
    others: Mapping[str, str] | None = None,
    aside: Collection[str] = ASIDE,
) -> dict[str, Floats]:
    """Return the components of these names that have a number for each joint in each row, in their order.

    `reason`: why the file can hold nothing else of the motion; `others`: what is lost besides, and why.
    Raises `FormatError` if anything would be lost that `drop` does not name.
    """
    held = [*motion.components, *(name for name in aside if motion.metadata.get(name))]
    found = {name: motion.components[name] for name in names if _has_rows(motion, name)}
    losses = {name: reason for name in held if name not in found}
    refuse_losses(path, losses | dict(others or {}), drop, held)
    return {name: values for name, values in found.items() if name not in drop}


def _has_rows(motion: Motion, name: str) -> bool:
    values = motion.components.get(name)
    is_whole = isinstance(values, np.ndarray) and values.shape == motion.positions.shape
    return is_whole and "times" not in motion.about(name)


def unwritable(motion: Motion, path: Path, series: Mapping[str, Floats] | None = None) -> list[Problem]:
    """Return what no file can hold of a motion's positions and of other series."""
    problems = [
        Problem(str(path), 0, f"{name} holds {bad} in row {row}", "numbers are finite", "fix the motion")
        for name, values in {POSITIONS: motion.positions, **(series or {})}.items()
        for row, bad in first_not_finite(values)
    ]
    if not motion.positions.shape[1]:
        what, reason = "there is nothing to write", "the motion has no joints"
        problems.append(Problem(str(path), 0, what, reason, "choose another motion"))
    return problems


def first_not_finite(values: Floats) -> Iterator[tuple[int, float]]:
    """Return the number of the first row that has a value which is not finite, and the value."""
    finite = np.isfinite(values)
    if not finite.all():
        place = np.unravel_index(np.argmin(finite), values.shape)
        yield int(place[0]), float(values[place])


def ros_stamps(motion: Motion, path: Path, start_ns: int = 0) -> Integers:
    """Return when each row is due in ns, as ROS counts them.

    Raises `FormatError` where it cannot, or for two rows alike.
    """
    what = f"the motion is at {motion.times[0]:g} to {motion.times[-1]:g} s"
    reason, hint = f"ROS counts from 0 to {LATEST_OF_ROS_S} s", "shift its times"
    if np.abs(motion.times).max() < LATEST_OF_ROS_S:
        whole: Floats = np.floor(motion.times)
        stamps: Integers = whole.astype(np.int64) * NS + start_ns
        stamps += np.rint((motion.times - whole) * NS).astype(np.int64)
        if not (np.diff(stamps) > 0).all():
            what, reason, hint = "two rows would have one time", "ROS counts whole ns", "choose another rate"
        elif stamps[0] >= 0 and stamps[-1] < LATEST_OF_ROS_S * NS:
            return stamps
    raise FormatError([Problem(str(path), 0, what, reason, hint)])
