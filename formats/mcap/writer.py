"""A motion to MCAP as `ros2 bag` writes it: JointStates in CDR, for viewers and `ros2 bag play`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from ..io.ros2 import CHANNEL_METADATA, JOINT_STATE, SCHEMA_ENCODING, JointStates, Topic
from ..io.writers.digits import ALL_DIGITS, check_digits, rounded_columns
from ..io.writers.motion_writing import joint_names, ros_stamps, unwritable, written_series
from ..io.writers.output import replacing
from .joining import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from ..model.motion import Motion

OPTIONS: frozenset[str] = frozenset()
BATCH_ROWS = 1000
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
    arrays = [rounded_columns(motion.positions, precision), *series.values()]
    has = [True, *(component in series for component in COMPONENTS.values())]
    packer = JointStates(joint_names(motion), has)
    with replacing(path) as stream:
        writer: Any = Writer(stream)  # some of its methods have no types
        writer.start(profile="ros2", library="motiond")
        schema = writer.register_schema(JOINT_STATE.name, SCHEMA_ENCODING, JOINT_STATE.text.encode())
        channel = writer.register_channel(Topic.FEEDBACK, "cdr", schema, CHANNEL_METADATA)
        for first in range(0, len(stamps), BATCH_ROWS):
            batch = slice(first, first + BATCH_ROWS)
            states = packer.packed(stamps[batch], *(values[batch] for values in arrays))
            for row, (stamp, state) in enumerate(zip(stamps[batch].tolist(), states, strict=True), first):
                writer.add_message(channel, stamp, state.tobytes(), publish_time=stamp, sequence=row)
        writer.finish()
