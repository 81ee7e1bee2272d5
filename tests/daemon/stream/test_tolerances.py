"""Behaviour of tolerances: which joint is reported."""

from __future__ import annotations

import numpy as np

from motiond.daemon.ipc.messages import OFF
from motiond.daemon.stream.engine.execution import Excess, Tolerances


def test_the_joint_that_passes_its_tolerance_most_is_reported() -> None:
    found = Tolerances([0.1, OFF, 0.3]).worst(np.zeros(3), np.array([0.15, 9.0, -0.9]))
    assert found == Excess(2, 0.9, 0.3)


def test_a_joint_without_feedback_passes_its_tolerance() -> None:
    found = Tolerances([0.1, OFF, 0.3]).worst(np.zeros(3), np.array([0.2, 0.0, np.nan]))
    assert found is not None
    assert (found.joint, np.isnan(found.error)) == (2, True)
