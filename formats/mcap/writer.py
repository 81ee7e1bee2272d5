"""A motion to MCAP as `ros2 bag` writes it: JointStates in CDR, for viewers and `ros2 bag play`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FormatError, Problem
from ..io.digits import ALL_DIGITS, check_digits, rounded_within
from ..io.losses import refuse_losses
from ..io.output import replacing
from .decoding import NS
from .joining import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ..arrays import Floats, Integers
    from ..model.motion import Motion

OPTIONS: frozenset[str] = frozenset()
TOPIC, SCHEMA_NAME = "/joint_states", "sensor_msgs/msg/JointState"
_RULE = "=" * 80
SCHEMA = f"""std_msgs/Header header
string[] name
float64[] position
float64[] velocity
float64[] effort
{_RULE}
MSG: std_msgs/Header
builtin_interfaces/Time stamp
string frame_id
{_RULE}
MSG: builtin_interfaces/Time
int32 sec
uint32 nanosec
"""
# Seconds of a stamp are 32 bits.
LATEST_S = 1 << 31


def dump(
    motion: Motion, path: Path, *, precision: int | None = ALL_DIGITS, drop: Collection[str] = ()
) -> None:
    """Write a motion, as `dump_motion` does."""
    from mcap.writer import Writer  # noqa: PLC0415 - costly, and not every file needs it

    check_digits(precision)
    losses = {name: reason for name in motion.components if (reason := _loss(motion, name))}
    if motion.metadata.get("unknown"):
        losses["unknown"] = "it is of another format"
    refuse_losses(path, losses, drop, [*motion.components, *losses])
    stamps = _stamps(motion)
    _check(motion, stamps, path)
    positions = motion.positions
    series = [rounded_within(positions, precision, positions.min(axis=0), positions.max(axis=0))]
    for component in COMPONENTS.values():
        kept = component in motion.components and component not in drop
        series.append(motion.components[component] if kept else np.empty((len(positions), 0)))
    names = motion.joint_names or tuple(f"joint{number}" for number in range(positions.shape[1]))
    before = _packed_names(names)
    with replacing(path) as stream:
        writer: Any = Writer(stream)  # some of its methods have no types
        writer.start(profile="ros2", library="motiond")
        schema = writer.register_schema(SCHEMA_NAME, "ros2msg", SCHEMA.encode())
        channel = writer.register_channel(TOPIC, "cdr", schema)
        for row, stamp in enumerate(stamps.tolist()):
            data = _packed(stamp, before, [values[row] for values in series])
            writer.add_message(channel, log_time=stamp, publish_time=stamp, sequence=row, data=data)
        writer.finish()


def _loss(motion: Motion, name: str) -> str:
    """Return why a component cannot be written; '' if it can."""
    if name not in COMPONENTS.values():
        return "JointState holds positions, velocities and efforts"
    values = motion.components[name]
    fits = isinstance(values, np.ndarray) and values.shape == motion.positions.shape
    return "" if fits and "times" not in motion.about(name) else "it has not the rows of the positions"


def _stamps(motion: Motion) -> Integers:
    """Return when each row is stamped, in ns: from where the recording began of which it was read."""
    whole: Floats = np.floor(motion.times)
    rest: Floats = np.rint((motion.times - whole) * NS)
    start = int(motion.metadata.get("start_ns", 0))
    with np.errstate(invalid="ignore"):
        return whole.astype(np.int64) * NS + rest.astype(np.int64) + start


def _check(motion: Motion, stamps: Integers, path: Path) -> None:
    if not motion.positions.size:
        problem, reason, hint = (
            "there is nothing to write",
            "the motion has no joints",
            "choose another motion",
        )
    elif not np.isfinite(motion.positions).all():
        problem, reason, hint = "a position is not finite", "numbers are", "fix the motion"
    elif not (np.abs(motion.times).max() < LATEST_S and 0 <= stamps[0] <= stamps[-1] < LATEST_S * NS):
        problem = f"the motion is at {motion.times[0]:g} to {motion.times[-1]:g} s"
        reason, hint = f"stamps lie between 0 and {LATEST_S} s", "shift its times"
    elif not (np.diff(stamps) > 0).all():
        problem, reason, hint = "two rows would have one stamp", "stamps are whole ns", "choose another rate"
    else:
        return
    raise FormatError([Problem(str(path), 0, problem, reason, hint)])


def _packed_names(names: tuple[str, ...]) -> bytes:
    """Return the frame, which is empty, and the names; they begin at a multiple of four behind the stamp."""
    packed = struct.pack("<IxxxxI", 1, len(names))
    for name in names:
        text = name.encode() + b"\0"
        packed += bytes(-len(packed) % 4) + struct.pack("<I", len(text)) + text
    return packed


def _packed(stamp: int, names: bytes, arrays: list[Floats]) -> bytes:
    """Return a JointState in little-endian CDR; alignment counts from behind its first four bytes."""
    data = b"\0\1\0\0" + struct.pack("<iI", *divmod(stamp, NS)) + names
    for values in arrays:
        data += bytes(-len(data) % 4) + struct.pack("<I", values.size)
        if values.size:
            data += bytes(-(len(data) - 4) % 8) + values.astype("<f8").tobytes()
    return data
