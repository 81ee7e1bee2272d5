"""Behaviour of the tolerances of a play: what a request may ask for."""

from __future__ import annotations

import pytest

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.joints.bounds import ranges_of
from motiond.daemon.planning.tolerances import ToleranceError, resolve
from tests.robots import WIDE, map_of

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


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"elbo": 0.1},
            (
                "arm: path_tolerance of an unknown joint 'elbo'; it has shoulder, elbow, wrist, finger; "
                "did you mean 'elbow'?"
            ),
        ),
        (
            {"elbow": 5e-324},
            (
                "arm: path_tolerance of joint 'elbow' is 4.94066e-324; "
                "the smallest is 1e-06, and 0 stands for the configured one; correct it"
            ),
        ),
        (
            {"elbow": -0.5},
            (
                "arm: path_tolerance of joint 'elbow' is -0.5; "
                "0 stands for the configured one and -1 for none; "
                "correct it"
            ),
        ),
        (
            {"finger": 0.02},
            (
                "arm: path_tolerance of joint 'finger' is 0.02; its range is 0.04 m, "
                "so that it could hardly fail; make it less than 0.02, or -1 for none"
            ),
        ),
    ],
)
def test_what_cannot_be_meant_is_refused_and_not_ignored(asked: dict[str, float], message: str) -> None:
    with pytest.raises(ToleranceError) as refusal:
        resolved(asked)
    assert str(refusal.value) == message
