"""A recording to look at: what the robot did, and its ticks, thinned to as many as are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class PlayedGoal:
    """What one goal, with what played beside it, asked of the joints, and what they did, in rad or m and s.

    Arrays have the shape (joints,).

    - `result`: as it was reported; None where the recording lacks it. Of what was played beside others only
      where it had the robot to itself
    - `joints`: () where it did not come to its first row
    - `rows`, `duration_s`: its ticks, from the first row of the motion on, and from the first to the last
    - `lowest`, `highest`, `velocity`, `acceleration`: of the setpoints; as differences from tick to tick,
      from what moved before it or from rest, and to rest, as far as the recording has beginning and end
    - `error`, `error_time_s`, `error_rms`: the largest distance of the feedback from its setpoint, when that
      was, and over all; NaN where no feedback is known
    """

    result: Mapping[str, Any] | None
    joints: tuple[str, ...]
    rows: int
    duration_s: float
    lowest: Floats
    highest: Floats
    velocity: Floats
    acceleration: Floats
    error: Floats
    error_time_s: Floats
    error_rms: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a recording of motiond holds.

    Attributes
    ----------
    about : mapping
        JSON-ready: what happened, and the largest errors (docs/http.md, Runs).
    times : ndarray, shape (points,)
        In s, from the first tick.
    reference, feedback, error : ndarray, shape (points, joints)
        In rad or m; NaN where nothing is known. Where ticks were left out, each value is an extreme of the
        ticks around, so that an error is not the difference of the two beside it.
    goals : tuple of PlayedGoal
        Each that was on its way.
    """

    about: Mapping[str, Any]
    times: Floats
    reference: Floats
    feedback: Floats
    error: Floats
    goals: tuple[PlayedGoal, ...] = ()
