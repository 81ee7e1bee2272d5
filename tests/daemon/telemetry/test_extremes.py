"""How far joints were from their setpoints at most, and how hard they worked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.config.robot import JointSettings
from motiond.daemon.ipc.ring import COLUMN, slices, width
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.joints import build_joint_map
from motiond.daemon.telemetry import Extremes

if TYPE_CHECKING:
    from motiond.daemon.joints import JointMap
    from motiond.formats.arrays import Floats

NAN = np.nan
PARTS = slices(2)


def records(
    errors: list[list[float]], efforts: list[list[float]] | None = None, state: State = State.PLAYING
) -> Floats:
    """Return records of two joints, a row each, that are off and work so much."""
    rows = np.full((len(errors), width(2)), NAN)
    rows[:, COLUMN["state"]] = STATES.index(state)
    rows[:, PARTS["reference_position"]] = 1.0
    rows[:, PARTS["position"]] = 1.0 - np.array(errors)
    rows[:, PARTS["effort"]] = NAN if efforts is None else efforts
    return rows


def joints(*efforts: float | None) -> JointMap:
    """Return two joints, the second of which slides, with limits of their effort."""
    limits = [{} if effort is None else {"limits": {"effort": effort}} for effort in efforts]
    settings = {
        name: JointSettings.model_validate(limit)
        for name, limit in zip(("elbow", "slide"), limits, strict=True)
    }
    return replace(build_joint_map("arm", None, settings), units=("rad", "m"))


def extremes_of(*batches: Floats) -> Extremes:
    extremes = Extremes(2)
    for batch in batches:
        extremes.add(batch)
    return extremes


def test_the_joint_that_was_furthest_off_in_any_batch_has_the_worst_error() -> None:
    extremes = extremes_of(records([[0.25, 0.0], [-0.5, 0.125]]), records([[0.0, -0.25]]))
    assert extremes.worst_error(joints(None, None)) == {"joint": "elbow", "value": 0.5, "unit": "rad"}
    extremes.add(records([[0.0, -0.75]]))
    assert extremes.worst_error(joints(None, None)) == {"joint": "slide", "value": 0.75, "unit": "m"}


@pytest.mark.parametrize(
    ("limits", "joint", "value", "unit"),
    [
        ((None, None), "slide", 8.0, "N"),
        ((2.0, 100.0), "elbow", 1.0, "N·m"),
        ((2.0, None), "elbow", 1.0, "N·m"),
        ((None, 100.0), "slide", 8.0, "N"),
    ],
)
def test_the_peak_effort_is_the_largest_share_of_a_limit_where_there_is_one(
    limits: tuple[float | None, float | None], joint: str, value: float, unit: str
) -> None:
    extremes = extremes_of(records([[0.0, 0.0]] * 2, [[-1.0, 8.0], [0.5, -3.0]]))
    assert extremes.peak_effort(joints(*limits)) == {"joint": joint, "value": value, "unit": unit}


@pytest.mark.parametrize("state", sorted(set(State)))
def test_only_ticks_on_the_motion_count(state: State) -> None:
    extremes = extremes_of(records([[0.5, 0.0]], [[1.0, 0.0]], state))
    counts = state in {
        State.PLAYING,
        State.FOLLOWING,
        State.PAUSING,
        State.PAUSED,
        State.STOPPING,
    }
    assert (extremes.worst_error(joints(None, None)) is not None) is counts
    assert (extremes.peak_effort(joints(None, None)) is not None) is counts


def test_what_is_not_known_is_passed_over() -> None:
    extremes = extremes_of(records([[NAN, NAN], [0.25, NAN]]), records([[NAN, NAN]]))
    assert extremes.worst_error(joints(None, None)) == {"joint": "elbow", "value": 0.25, "unit": "rad"}
    assert extremes.peak_effort(joints(None, None)) is None
    assert extremes_of(records([[1.0, 1.0]])[:0]).worst_error(joints(None, None)) is None
