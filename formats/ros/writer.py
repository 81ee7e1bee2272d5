"""A motion to a JointTrajectory in YAML, as `ros2 topic pub` and PyYAML read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ..errors import FormatError, Problem
from ..io.writers.digits import ALL_DIGITS, check_digits, rounded_columns
from ..io.writers.motion_writing import joint_names, ros_stamps, unwritable, written_series
from ..io.writers.output import replacing
from ..io.yaml.tree import MOST_VALUES
from ..model.timing import NS
from .trajectory import COMPONENTS, TIME

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from ..model.motion import Motion

OPTIONS: frozenset[str] = frozenset()
REASON = "a trajectory has numbers of joints alone, one for each point"
# Keys and times of a point are values too.
VALUES_PER_POINT = 14


def dump(
    motion: Motion, path: Path, *, precision: int | None = ALL_DIGITS, drop: Collection[str] = ()
) -> None:
    """Write a motion, as `dump_motion` does."""
    check_digits(precision)
    written = written_series(motion, COMPONENTS.values(), path, drop, reason=REASON)
    if problems := [*unwritable(motion, path, written), *_too_many(motion, 1 + len(written), path)]:
        raise FormatError(problems)
    series = {"positions": rounded_columns(motion.positions, precision)}
    series |= {key: written[component] for key, component in COMPONENTS.items() if component in written}
    stamps = ros_stamps(motion, path)
    with replacing(path) as out:
        out.write(b"joint_names: [%s]\npoints:\n" % b", ".join(map(orjson.dumps, joint_names(motion))))
        for row, stamp in enumerate(stamps.tolist()):
            lines = [
                f"{key}: [{', '.join(map(_text, values[row].tolist()))}]" for key, values in series.items()
            ]
            seconds, rest = divmod(stamp, NS)
            lines.append(f"{TIME}: {{sec: {seconds}, nanosec: {rest}}}")
            out.write(b"- %s\n" % "\n  ".join(lines).encode())


def _too_many(motion: Motion, series: int, path: Path) -> Iterator[Problem]:
    values = motion.positions.size * series + VALUES_PER_POINT * len(motion.positions)
    if values > MOST_VALUES:
        what, reason = f"it would have {values} values", f"{MOST_VALUES} are read of a file in YAML"
        yield Problem(str(path), 0, what, reason, "write it as MCAP or .npz, or with fewer rows")


def _text(value: float) -> str:
    """Return the shortest text of a number that YAML 1.1 takes for one, which wants a point before an `e`."""
    text = repr(value)
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
