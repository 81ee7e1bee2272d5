"""Behaviour of tolerances: what a request may ask for, and which joint is told."""

from __future__ import annotations

import numpy as np
import pytest

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.stream.tolerances import Excess, ToleranceError, Tolerances, resolve

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


def test_the_joint_that_passes_its_tolerance_most_is_told() -> None:
    found = Tolerances([0.1, OFF, 0.3]).worst(np.zeros(3), np.array([0.15, 9.0, -0.9]))
    assert found == Excess(2, 0.9, 0.3)


def test_within_the_tolerances_and_without_any_nothing_is_told() -> None:
    assert Tolerances([0.1, OFF, 0.3]).worst(np.zeros(3), np.array([0.1, 9.0, 0.0])) is None
    assert Tolerances([OFF] * 3).worst(np.zeros(3), np.full(3, np.nan)) is None
    assert not Tolerances([OFF] * 3).any
    assert Tolerances([OFF, 0.1]).any
    assert Tolerances([OFF, 0.1]).any


def test_a_joint_without_feedback_passes_its_tolerance() -> None:
    found = Tolerances([0.1, OFF, 0.3]).worst(np.zeros(3), np.array([0.2, 0.0, np.nan]))
    assert found is not None
    assert (found.joint, np.isnan(found.error)) == (2, True)
