"""Behaviour of the tolerances of a play: what a request may ask for."""

from __future__ import annotations

import pytest

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.planning.tolerances import ToleranceError, resolve

JOINTS = ("shoulder", "elbow", "wrist")


def resolved(asked: dict[str, float]) -> list[float]:
    return resolve("arm", "path_tolerance", JOINTS, [0.1, None, 0.3], asked)


def test_what_is_not_asked_for_is_as_configured() -> None:
    assert resolved({}) == [0.1, OFF, 0.3]


def test_0_stands_for_the_configured_one_and_minus_1_for_none() -> None:
    assert resolved({"shoulder": 0.0, "elbow": 0.2, "wrist": -1}) == [0.1, 0.2, OFF]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            {"elbo": 0.1},
            (
                "arm: path_tolerance of an unknown joint 'elbo'; it has shoulder, elbow, wrist; "
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
    ],
)
def test_what_cannot_be_meant_is_refused_and_not_ignored(asked: dict[str, float], message: str) -> None:
    with pytest.raises(ToleranceError) as refusal:
        resolved(asked)
    assert str(refusal.value) == message
