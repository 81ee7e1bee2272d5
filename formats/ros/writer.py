"""A motion to a JointTrajectory in YAML, as `ros2 topic pub` and PyYAML read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import orjson

from ..errors import FormatError, Problem
from ..io.digits import ALL_DIGITS, check_digits, rounded_within
from ..io.losses import refuse_losses
from ..io.output import replacing
from ..io.yaml.tree import MOST_VALUES
from .trajectory import COMPONENTS, NS, TIME

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ..arrays import Floats
    from ..model.motion import Motion

OPTIONS: frozenset[str] = frozenset()
# Seconds of a duration are 32 bits.
LATEST_S = 2**31
# Keys and times of a point are values too.
VALUES_PER_POINT = 14


def dump(
    motion: Motion, path: Path, *, precision: int | None = ALL_DIGITS, drop: Collection[str] = ()
) -> None:
    """Write a motion, as `dump_motion` does."""
    check_digits(precision)
    losses = {name: reason for name in motion.components if (reason := _loss(motion, name))}
    if motion.metadata.get("unknown"):
        losses["unknown"] = "it is of another format"
    refuse_losses(path, losses, drop, [*motion.components, *losses])
    positions = motion.positions
    series = {"positions": rounded_within(positions, precision, positions.min(axis=0), positions.max(axis=0))}
    for key, component in COMPONENTS.items():
        if component in motion.components and component not in drop:
            series[key] = motion.components[component]
    _check(motion, len(series), path)
    names = motion.joint_names or tuple(f"joint{number}" for number in range(positions.shape[1]))
    with replacing(path) as out:
        out.write(b"joint_names: [%s]\npoints:\n" % b", ".join(map(orjson.dumps, names)))
        for row, nanoseconds in enumerate(_nanoseconds(motion).tolist()):
            lines = [
                f"{key}: [{', '.join(map(_text, values[row].tolist()))}]" for key, values in series.items()
            ]
            seconds, rest = divmod(nanoseconds, NS)
            lines.append(f"{TIME}: {{sec: {seconds}, nanosec: {rest}}}")
            out.write(b"- %s\n" % "\n  ".join(lines).encode())


def _loss(motion: Motion, name: str) -> str:
    """Return why a component cannot be written; '' if it can."""
    if name not in COMPONENTS.values():
        return "a trajectory holds joints alone"
    values = motion.components[name]
    fits = isinstance(values, np.ndarray) and values.shape == motion.positions.shape
    return "" if fits and "times" not in motion.about(name) else "it has not the rows of the positions"


def _check(motion: Motion, series: int, path: Path) -> None:
    values = motion.positions.size * series + VALUES_PER_POINT * len(motion.positions)
    if not motion.positions.size:
        problem, reason, hint = (
            "there is nothing to write",
            "the motion has no joints",
            "choose another motion",
        )
    elif not np.isfinite(motion.positions).all():
        problem, reason, hint = "a position is not finite", "numbers are", "fix the motion"
    elif not 0 <= motion.times[0] <= motion.times[-1] < LATEST_S:
        problem = f"the motion is at {motion.times[0]:g} to {motion.times[-1]:g} s"
        reason, hint = f"a trajectory lies between 0 and {LATEST_S} s", "shift its times"
    elif not np.all(np.diff(_nanoseconds(motion)) > 0):
        problem, reason, hint = "two rows would have one time", "times are whole ns", "choose another rate"
    elif values > MOST_VALUES:
        problem, reason = f"it would have {values} values", f"{MOST_VALUES} are read of a file in YAML"
        hint = "write it as MCAP or .npz, or with fewer rows"
    else:
        return
    raise FormatError([Problem(str(path), 0, problem, reason, hint)])


def _nanoseconds(motion: Motion) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    whole = np.floor(motion.times)
    rest: Floats = np.rint((motion.times - whole) * NS)
    return whole.astype(np.int64) * NS + rest.astype(np.int64)


def _text(value: float) -> str:
    """Return the shortest text of a number that YAML 1.1 takes for one, which wants a point before an `e`."""
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
