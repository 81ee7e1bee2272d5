"""How far joints were from their setpoints at most, how hard they worked, and what the robot touched.

It takes no more memory the longer a goal lasts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..ipc.ring import in_states, slices
from ..ipc.states import State
from .contacts import ContactPeaks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats.arrays import Booleans, Floats

    from ..api import EffortUnit, PeakEffort, Unit, WorstError
    from ..joints import JointMap

EFFORT_UNIT: Mapping[Unit, EffortUnit] = {"rad": "N·m", "m": "N"}
_ON_THE_MOTION = (State.PLAYING, State.FOLLOWING, State.PAUSING, State.PAUSED, State.STOPPING)
"""States in which a setpoint belongs to the motion, and not to a way towards it."""


class Extremes:
    """The largest of each joint while it was on a motion; shape (joints,), NaN where nothing was known.

    Those of `driven` (joints,) alone where that is given, in whatever state the robot is.

    - `error`: |reference - feedback| of positions, in rad or m
    - `effort`: |feedback|, in N·m or N
    - `contacts`: of the whole robot
    """

    def __init__(self, joints: int, driven: Booleans | None = None) -> None:
        self._slices, self._driven = slices(joints), driven
        self.error: Floats = np.full(joints, np.nan)
        self.effort: Floats = np.full(joints, np.nan)
        self.contacts = ContactPeaks(joints)

    def add(self, records: Floats) -> None:
        """Add records (n, width); those that are not on a motion do not count."""
        ticks = records
        if self._driven is None:
            ticks = records[in_states(records, _ON_THE_MOTION)]
        if not len(ticks):
            return
        self.contacts.add(ticks)
        error = ticks[:, self._slices["reference_position"]] - ticks[:, self._slices["position"]]
        effort = ticks[:, self._slices["effort"]]
        if self._driven is not None:
            error, effort = (np.where(self._driven, values, np.nan) for values in (error, effort))
        # `fmax` passes over what is not known.
        self.error = np.fmax(self.error, np.fmax.reduce(np.abs(error)))
        self.effort = np.fmax(self.effort, np.fmax.reduce(np.abs(effort)))

    def worst_error(self, joint_map: JointMap) -> WorstError | None:
        """Return the joint with the largest error, in its own unit; None where none is known."""
        if (joint := _largest(self.error)) is None:
            return None
        value, unit = float(self.error[joint]), joint_map.units[joint]
        return {"joint": joint_map.joints[joint], "value": value, "unit": unit}

    def peak_effort(self, joint_map: JointMap) -> PeakEffort | None:
        """Return the joint with the largest share of its effort limit; None where no effort is known.

        Where none of them has a limit, it is the one with the largest effort.
        """
        limits = joint_map.limits.effort
        shares = np.where(np.isfinite(limits), self.effort / limits, np.nan)
        if (joint := _largest(self.effort if np.isnan(shares).all() else shares)) is None:
            return None
        value, unit = float(self.effort[joint]), EFFORT_UNIT[joint_map.units[joint]]
        return {"joint": joint_map.joints[joint], "value": value, "unit": unit}


def _largest(values: Floats) -> int | None:
    return None if np.isnan(values).all() else int(np.nanargmax(values))
