"""JointStates and TFMessages, whole batches packed or read at once, and a String."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .cdr import Layout, as_bytes, split_stamps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ...arrays import Floats, Integers

_ARRAYS = ("position", "velocity", "effort")


class JointStates:
    """Packs and reads `sensor_msgs/msg/JointState` of joints whose names stay.

    `has`: which of positions, velocities and efforts are there; the others are empty.
    """

    def __init__(self, names: Sequence[str], has: Sequence[bool] = (True, True, True)) -> None:
        layout = self._layout = Layout()
        layout.stamp("stamp")
        layout.text("")  # the frame
        layout.number(len(names))
        for name in names:
            layout.text(name)
        for array, is_there in zip(_ARRAYS, has, strict=True):
            count = len(names) if is_there else 0
            layout.number(count)
            layout.floats(array, count)
        self._joints = len(names)
        self._arrays = [array for array, is_there in zip(_ARRAYS, has, strict=True) if is_there]

    def packed(self, stamps_ns: Integers, *arrays: Floats) -> NDArray[np.uint8]:
        """Return n messages, shape (n, bytes).

        `stamps_ns`: Unix times in ns, shape (n,). `arrays`: those that are there, each of shape (n, joints).
        """
        rows = self._layout.rows(len(stamps_ns))
        rows["stamp"] = split_stamps(stamps_ns)
        for name, values in zip(self._arrays, arrays, strict=True):
            rows[name] = values
        return as_bytes(rows)

    def read(self, messages: Sequence[bytes]) -> Floats | None:
        """Return positions, velocities and efforts of n messages, shape (n, 3, joints), NaN where none are.

        None unless all are as `packed` returns them.
        """
        rows = self._layout.read(messages)
        if rows is None:
            return None
        found = np.full((len(rows), len(_ARRAYS), self._joints), np.nan)
        for name in self._arrays:
            found[:, _ARRAYS.index(name)] = rows[name]
        return found


class Transforms:
    """Packs `tf2_msgs/msg/TFMessage` of the same frames.

    `frames`: each parent and its child.
    """

    def __init__(self, frames: Sequence[tuple[str, str]]) -> None:
        layout = self._layout = Layout()
        layout.number(len(frames))
        for number, (parent, child) in enumerate(frames):
            layout.stamp(f"stamp{number}")
            layout.text(parent)
            layout.text(child)
            layout.floats(f"pose{number}", 7)
        self._count = len(frames)

    def packed(self, stamps_ns: Integers, poses: Floats) -> NDArray[np.uint8]:
        """Return n messages, shape (n, bytes).

        `stamps_ns`: Unix times in ns, shape (n,). `poses`: of each child in its parent, shape (n, frames, 7):
        x, y, z in m and the quaternion x, y, z, w.
        """
        rows = self._layout.rows(len(stamps_ns))
        stamps = split_stamps(stamps_ns)
        for number in range(self._count):
            rows[f"stamp{number}"] = stamps
            rows[f"pose{number}"] = poses[:, number]
        return as_bytes(rows)


def packed_string(text: str) -> bytes:
    """Return a `std_msgs/msg/String`."""
    layout = Layout()
    layout.text(text)
    return layout.rows(1).tobytes()
