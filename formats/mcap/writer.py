"""A motion to MCAP as `ros2 bag` writes it: JointStates in CDR, for viewers and `ros2 bag play`."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FormatError
from ..io.writers.digits import ALL_DIGITS, check_digits, rounded_columns
from ..io.writers.motion_writing import joint_names, ros_stamps, unwritable, written_series
from ..io.writers.output import replacing
from ..model.timing import NS
from .joining import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ..arrays import Floats
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
REASON = "JointState holds positions, velocities and efforts, one for each joint"


def dump(
    motion: Motion, path: Path, *, precision: int | None = ALL_DIGITS, drop: Collection[str] = ()
) -> None:
    """Write a motion, as `dump_motion` does."""
    from mcap.writer import Writer  # noqa: PLC0415 - costly, and not every file needs it

    check_digits(precision)
    series = written_series(motion, COMPONENTS.values(), path, drop, reason=REASON)
    if problems := unwritable(motion, path):
        raise FormatError(problems)
    stamps = ros_stamps(motion, path, int(motion.metadata.get("start_ns", 0)))
    none = np.empty((len(stamps), 0))
    arrays = [rounded_columns(motion.positions, precision)]
    arrays += [series.get(component, none) for component in COMPONENTS.values()]
    before = _packed_names(joint_names(motion))
    with replacing(path) as stream:
        writer: Any = Writer(stream)  # some of its methods have no types
        writer.start(profile="ros2", library="motiond")
        schema = writer.register_schema(SCHEMA_NAME, "ros2msg", SCHEMA.encode())
        channel = writer.register_channel(TOPIC, "cdr", schema)
        for row, stamp in enumerate(stamps.tolist()):
            data = _packed(stamp, before, [values[row] for values in arrays])
            writer.add_message(channel, log_time=stamp, publish_time=stamp, sequence=row, data=data)
        writer.finish()


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
