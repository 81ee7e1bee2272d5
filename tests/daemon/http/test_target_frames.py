"""Binary frames of targets: what each means, and the one refusal of each that means nothing."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.daemon.api import RequestError
from motiond.daemon.http.live.target_frames import is_frame, read_head

GOAL = UUID("6f1c2d3e-4a5b-4c6d-8e7f-901234567890")
JOINTS = 2
NAN, INF = float("nan"), float("inf")


def frame(kind: int, *numbers: float, sent_at: float = NAN, tail: bytes = b"") -> bytes:
    """Return a frame as a client makes it; of a chunk, its numbers begin with `start_at` and `period_s`."""
    return struct.pack(f"<B16sd{len(numbers)}d", kind, GOAL.bytes, sent_at, *numbers) + tail


def body_of(data: bytes, joints: int = JOINTS) -> tuple[str, dict[str, Any]]:
    read = read_head(data)
    return read.verb, read.body(joints)


@pytest.mark.parametrize(
    ("data", "verb", "keys"),
    [
        (frame(1, 0.5, -1.0), "follow/target", {"positions": [0.5, -1.0]}),
        (frame(1, NAN, 0.1), "follow/target", {"positions": [None, 0.1]}),
        (frame(2, 0.3, NAN, sent_at=5.5), "follow/target", {"velocities": [0.3, None], "sent_at": 5.5}),
        (frame(3, 1, 2, 3, 4, 5, 6), "follow/target", {"twist": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}),
        (
            frame(4, NAN, 0.02, 0.1, 0.2, 0.3, 0.4, sent_at=5.0),
            "follow/chunk",
            {"positions": [[0.1, 0.2], [0.3, 0.4]], "period_s": 0.02, "sent_at": 5.0},
        ),
        (
            frame(4, 6.0, 0.5, 0.1, 0.2),
            "follow/chunk",
            {"positions": [[0.1, 0.2]], "period_s": 0.5, "start_at": 6.0},
        ),
    ],
)
def test_a_frame_is_another_spelling_of_a_request(data: bytes, verb: str, keys: dict[str, Any]) -> None:
    assert body_of(data) == (verb, {"goal_id": GOAL.hex, **keys})


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "0 bytes; a frame has at least 25"),
        (frame(1)[:-1], "24 bytes; a frame has at least 25"),
        (frame(0), "kind 0; there are 1 (positions), 2 (velocities), 3 (twist), 4 (chunk)"),
        (b"{" * 30, "kind 123; there are 1 (positions), 2 (velocities), 3 (twist), 4 (chunk)"),
        (frame(1), "0 values; positions of this goal are 2"),
        (frame(1, 0.1), "1 values; positions of this goal are 2"),
        (frame(2, 0.1, 0.2, 0.3), "3 values; velocities of this goal are 2"),
        (frame(1, 0.1, 0.2, tail=b"\0" * 3), "19 bytes of values; each value has 8"),
        (frame(1, 0.1, INF), "value 1 is inf; it must be finite, or NaN to leave it as it is"),
        (frame(2, -INF, 0.1), "value 0 is -inf; it must be finite, or NaN to leave it as it is"),
        (frame(3, 1, 2, 3, 4, 5), "5 values; twist of this goal are 6"),
        (frame(3, 1, 2, NAN, 4, 5, 6), "value 2 is nan; it must be finite"),
        (frame(4, NAN), "33 bytes; a chunk has 41 before its rows"),
        (frame(4, NAN, 0.02), "0 values; each row of this goal has 2"),
        (frame(4, NAN, 0.02, 0.1, 0.2, 0.3), "3 values; each row of this goal has 2"),
        (frame(4, NAN, 0.02, 0.1, NAN), "value 1 is nan; it must be finite"),
        (frame(4, NAN, NAN, 0.1, 0.2), "period_s is nan; it must be a finite time in s"),
    ],
)
def test_what_means_nothing_is_refused_with_what_is_wrong(data: bytes, problem: str) -> None:
    with pytest.raises(RequestError) as refused:
        body_of(data)
    assert refused.value.code == "INVALID_REQUEST"
    assert str(refused.value) == f"frame: {problem}; correct the frame"


@given(st.binary(max_size=200), st.integers(1, 8))
def test_any_bytes_are_a_request_or_one_refusal(data: bytes, joints: int) -> None:
    verb, goal_id = said_of(data, joints)
    assert verb in {"follow/target", "follow/chunk", "INVALID_REQUEST"}
    assert goal_id in {"", data[1:17].hex()}


def said_of(data: bytes, joints: int) -> tuple[str, str]:
    """Return the verb and the goal of a frame, or the code of its refusal."""
    try:
        verb, body = body_of(data, joints)
    except RequestError as error:
        return error.code, ""
    return verb, body["goal_id"]


@pytest.mark.parametrize("kind", range(32))
def test_a_frame_of_any_kind_is_one_and_a_request_with_blanks_before_it_is_none(kind: int) -> None:
    assert is_frame(frame(kind, 0.5))
    assert not is_frame(b"{}")
    assert chr(kind).isspace() == (not is_frame(bytes([kind]) + b' \n{"id": 1}')) or kind in range(28, 32)
