"""Targets of a follow as binary frames: a shorter spelling of `follow/target` and `follow/chunk`.

Everything is little-endian. A frame is a head of 25 bytes (kind, goal id, `sent_at`), of a chunk 16 bytes
more (`start_at`, `period_s`), and then float64 values in the order of the follow's joints, of a chunk row by
row. NaN as `sent_at` or `start_at` leaves that out; as a position or velocity it is null.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...api import RequestError

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

HEAD = struct.Struct("<B16sd")
"""Kind, the goal's id, `sent_at`."""
CHUNK_HEAD = struct.Struct("<dd")
"""Of a chunk, after the head: `start_at`, `period_s`."""
VALUE_BYTES = 8
CHUNK = 4
KEYS = {1: "positions", 2: "velocities", 3: "twist", CHUNK: "positions"}
"""By kind: the key that the values stand for."""
PARTIAL = frozenset({1, 2})
"""Kinds of which a value may be NaN."""
TWIST_VALUES = 6
HINT = "correct the frame"


class TargetFrame(NamedTuple):
    """A frame whose head has been read."""

    kind: int
    goal_id: str
    sent_at: float | None
    rest: bytes

    @property
    def verb(self) -> str:
        """The verb that it stands for."""
        return "follow/chunk" if self.kind == CHUNK else "follow/target"

    def body(self, joints: int) -> dict[str, Any]:
        """Return the body of the request that it stands for.

        Parameters
        ----------
        joints : int
            How many the goal has that it names.

        Raises
        ------
        RequestError
            INVALID_REQUEST.
        """
        body: dict[str, Any] = {"goal_id": self.goal_id}
        if self.sent_at is not None:
            body["sent_at"] = self.sent_at
        if self.kind == CHUNK:
            return body | self._chunk(joints)
        values = self._values(0)
        count = TWIST_VALUES if self.kind not in PARTIAL else joints
        if len(values) != count:
            raise _invalid(f"{len(values)} values", f"{KEYS[self.kind]} of this goal are {count}")
        return body | {KEYS[self.kind]: [None if math.isnan(value) else value for value in values.tolist()]}

    def _chunk(self, joints: int) -> dict[str, Any]:
        if len(self.rest) < CHUNK_HEAD.size:
            length = HEAD.size + len(self.rest)
            raise _invalid(f"{length} bytes", f"a chunk has {HEAD.size + CHUNK_HEAD.size} before its rows")
        start_at, period_s = CHUNK_HEAD.unpack_from(self.rest)
        values = self._values(CHUNK_HEAD.size)
        if len(values) == 0 or len(values) % joints:
            raise _invalid(f"{len(values)} values", f"each row of this goal has {joints}")
        if not math.isfinite(period_s):
            raise _invalid(f"period_s is {period_s:g}", "it must be a finite time in s")
        start = {} if math.isnan(start_at) else {"start_at": start_at}
        return {"positions": values.reshape(-1, joints).tolist(), "period_s": period_s, **start}

    def _values(self, begin: int) -> Floats:
        """Return the numbers from a byte on, of which those that no request could hold are refused."""
        size = len(self.rest) - begin
        if size % VALUE_BYTES:
            raise _invalid(f"{size} bytes of values", f"each value has {VALUE_BYTES}")
        values = np.frombuffer(self.rest, "<f8", offset=begin)
        wrong = np.isinf(values) if self.kind in PARTIAL else ~np.isfinite(values)
        if wrong.any():
            place = int(wrong.argmax())
            least = "finite, or NaN to leave it as it is" if self.kind in PARTIAL else "finite"
            raise _invalid(f"value {place} is {values[place]:g}", f"it must be {least}")
        return values


def is_frame(message: bytes) -> bool:
    """Whether a binary message is meant as a frame, of whatever kind: JSON has blanks before its object."""
    return message[:1] < b" " and message.lstrip()[:1] != b"{"


def read_head(frame: bytes) -> TargetFrame:
    """Read the head of a frame, and nothing that depends on the goal that it names.

    Raises
    ------
    RequestError
        INVALID_REQUEST.
    """
    if len(frame) < HEAD.size:
        raise _invalid(f"{len(frame)} bytes", f"a frame has at least {HEAD.size}")
    kind, goal_id, sent_at = HEAD.unpack_from(frame)
    if kind not in KEYS:
        known = "1 (positions), 2 (velocities), 3 (twist), 4 (chunk)"
        raise _invalid(f"kind {kind}", f"there are {known}")
    return TargetFrame(kind, goal_id.hex(), None if math.isnan(sent_at) else sent_at, frame[HEAD.size :])


def _invalid(problem: str, reason: str) -> RequestError:
    return RequestError("INVALID_REQUEST", "frame", problem, reason, HINT)
