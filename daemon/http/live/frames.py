"""Telemetry and motions as arrays of numbers, which a browser takes as they are.

Everything is little-endian. A frame of telemetry is a head of 24 bytes and six arrays of float32, each as
long as the robot has joints: position, velocity and effort of the reference, then of the feedback; NaN where
there is none. What touches follows in JSON, only where the driver knows it. A planned motion, and what was
recorded, is a description in JSON, and after it float32 by rows.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats.arrays import Floats

TELEMETRY = 1
HEAD = struct.Struct("<BxHHxxdd")
"""Kind, the robot's place in the list of robots, its joints, `stamp_s`, `frame`."""
SIDES, QUANTITIES = ("reference", "feedback"), ("position", "velocity", "effort")
LENGTH = struct.Struct("<I")


def telemetry_frame(robot: int, data: Mapping[str, Any]) -> bytes:
    """Return a report of telemetry of the robot at a place in the list of robots, as a frame."""
    arrays = [data[side][quantity] for side in SIDES for quantity in QUANTITIES]
    head = HEAD.pack(TELEMETRY, robot, len(arrays[0]), data["stamp_s"], data["frame"])
    contacts = _padded(orjson.dumps(data["contacts"])) if "contacts" in data else b""
    return head + np.concatenate(arrays, dtype="<f4", casting="same_kind").tobytes() + contacts


def motion_frame(about: Mapping[str, Any], positions: Floats) -> bytes:
    """Return a planned motion: the length of its description in bytes, that, and its positions.

    They are in rad or m, of shape (rows, joints).
    """
    return described_arrays(about, positions)


def described_arrays(about: Mapping[str, Any], *arrays: Floats) -> bytes:
    """Return the length of a description in bytes, that, and arrays one after the other, by rows.

    Spaces let them begin at a multiple of four bytes.
    """
    text = _padded(orjson.dumps(about))
    parts = (values.astype("<f4").tobytes() for values in arrays)
    return b"".join((LENGTH.pack(len(text)), text, *parts))


def _padded(text: bytes) -> bytes:
    """Let what follows begin at a multiple of four bytes."""
    return text + b" " * (-len(text) % 4)
