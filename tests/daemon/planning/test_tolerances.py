"""Behaviour of the tolerances of a play: what a request may ask for."""

from __future__ import annotations

import pytest

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.joints.bounds import ranges_of
from motiond.daemon.planning.tolerances import ToleranceError, resolve
from tests.robots import WIDE, map_of
from tests.tables import table

ARM = map_of(
    {
        "shoulder": {"limits": WIDE},
        "elbow": {"limits": WIDE},
        "wrist": {"limits": WIDE},
        "finger": {"unit": "m", "limits": {"lower": 0.0, "upper": 0.04, "velocity": 0.2}},
    }
)


def resolved(asked: dict[str, float]) -> list[float]:
    return resolve("path_tolerance", ARM, [0.1, None, 0.3, None], asked, ranges_of(ARM))


def test_what_is_not_asked_for_is_as_configured() -> None:
    assert resolved({}) == [0.1, OFF, 0.3, OFF]


def test_0_stands_for_the_configured_one_and_minus_1_for_none() -> None:
    assert resolved({"shoulder": 0.0, "elbow": 0.2, "wrist": -1}) == [0.1, 0.2, OFF, OFF]


@table("asked, message")
def test_what_cannot_be_meant_is_refused_and_not_ignored(asked: dict[str, float], message: str) -> None:
    with pytest.raises(ToleranceError) as refusal:
        resolved(asked)
    assert str(refusal.value) == message
