"""Checks while a motion plays: effort, temperature, stale feedback, and joints that stand still.

They are made in turn, so that they cost a tick little; they are about tenths of seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ..ipc.states import ResultCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ..ipc.messages import CheckLimits
    from ..ipc.ring import Record


STILL = 0.1  # of the stall error: a joint that moves less stands still
_EFFORT_UNIT = {"rad": "N·m", "m": "N"}


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """What a check has found."""

    code: ResultCode
    message: str
    details: dict[str, Any]


class Checks:
    """The checks of one robot.

    Parameters
    ----------
    limits : CheckLimits
    joints, units, actuators : sequence of str

    Attributes
    ----------
    stalled : ndarray of bool, shape (joints,)
        The joints that stand still although their setpoint is elsewhere.
    forgiven : ndarray of bool, shape (joints,)
        Those of them that may.
    """

    def __init__(
        self, limits: CheckLimits, joints: Sequence[str], units: Sequence[str], actuators: Sequence[str]
    ) -> None:
        count = len(joints)
        self._limits = limits
        self._joints, self._units, self._actuators = joints, units, actuators
        self._effort = np.array([np.inf if one is None else one for one in limits.effort])
        self._may_stall = np.array(limits.may_stall, dtype=bool)
        self.stalled: Booleans = np.zeros(count, dtype=bool)
        self.forgiven: Booleans = np.zeros(count, dtype=bool)
        self._effort_since = np.full(count, np.inf)
        self._still_since = np.full(count, np.inf)
        self._still_at = np.full(count, np.nan)
        self._all_near = False
        self._error, self._far = np.zeros(count), np.zeros(count, dtype=bool)
        self._stall_error = np.array(limits.stall_error)
        self._turn = cycle(self._asked_for())

    def _asked_for(self) -> list[Any]:
        """Return the checks that can fail; where there is none, one that cannot."""
        limits = self._limits
        asked = {
            self._check_effort: limits.effort_s if np.isfinite(self._effort).any() else None,
            self._check_temperature: limits.temperature_c,
            self._check_feedback: limits.stale_s,
            self._check_stall: limits.stall_s,
        }
        return [check for check, bound in asked.items() if bound is not None] or [lambda *_: None]

    def start(self, position: Floats, now_s: float) -> None:
        """Forget what was before a motion; `position` is the measured one, shape (joints,)."""
        self._effort_since[:] = np.inf
        self._begin_anew(position, now_s)

    def _begin_anew(self, position: Floats, now_s: float) -> None:
        """Take every joint for one that has moved just now."""
        self._forget_stalls()
        self._all_near = False
        self._still_since.fill(now_s)
        self._still_at[:] = position

    def _forget_stalls(self) -> None:
        """Take no joint for stalled; what stands still is looked for anew when one is off its setpoint."""
        if not self._all_near:
            self.stalled.fill(False)
            self.forgiven.fill(False)
            self._all_near = True

    def next_check(self, record: Record, stamps_s: Floats, now_s: float) -> CheckFailure | None:
        """Make the next check; None where it does not fail.

        Parameters
        ----------
        record : Record
            With the reference and the feedback of this tick.
        stamps_s : ndarray, shape (actuators,)
            When each actuator's feedback was received.
        """
        failure: CheckFailure | None = next(self._turn)(record, stamps_s, now_s)
        return failure

    def _check_effort(self, record: Record, _stamps_s: Floats, now_s: float) -> CheckFailure | None:
        effort = np.abs(record["effort"])
        since = np.minimum(self._effort_since, now_s)
        self._effort_since[:] = np.where(effort > self._effort, since, np.inf)
        joint = int(self._effort_since.argmin())
        lasts_s = now_s - float(self._effort_since[joint])
        if lasts_s < (self._limits.effort_s or 0.0):
            return None
        value, limit = float(effort[joint]), float(self._effort[joint])
        unit = _EFFORT_UNIT[self._units[joint]]
        what = f"joint '{self._joints[joint]}' needs {value:.4g} {unit} for {lasts_s:.2f} s"
        message = f"{what}; its effort limit is {limit:.4g} {unit}; look for what holds it"
        told = {"joint": self._joints[joint], "value": value, "limit": limit, "unit": unit}
        return CheckFailure(ResultCode.HARDWARE_FAULT, message, {"check": "effort", **told})

    def _check_temperature(self, record: Record, _stamps_s: Floats, _now_s: float) -> CheckFailure | None:
        temperature, limit = record["temperature_c"], self._limits.temperature_c or 0.0
        hot = temperature > limit
        if not hot.any():
            return None
        joint = int(np.where(hot, temperature, -np.inf).argmax())
        value = float(temperature[joint])
        what = f"joint '{self._joints[joint]}' is at {value:.1f} °C"
        message = f"{what}; checks.temperature_c is {limit:g} °C; let it cool down"
        told = {"joint": self._joints[joint], "value": value, "limit": limit, "unit": "°C"}
        return CheckFailure(ResultCode.HARDWARE_FAULT, message, {"check": "temperature", **told})

    def _check_feedback(self, _record: Record, stamps_s: Floats, now_s: float) -> CheckFailure | None:
        return self.check_age(stamps_s, now_s)

    def check_age(self, stamps_s: Floats, now_s: float) -> CheckFailure | None:
        """Check the age of the feedback, at rest too; nothing is too old where there is no such check.

        Parameters
        ----------
        stamps_s : ndarray, shape (actuators,)
            When each actuator's feedback was received.
        """
        limit = self._limits.stale_s
        if limit is None or now_s - np.minimum.reduce(stamps_s) <= limit:
            return None
        ages = now_s - stamps_s
        fresh = ages <= limit
        index = int(np.where(fresh, -np.inf, np.where(np.isnan(ages), np.inf, ages)).argmax())
        age_s = float(ages[index])
        old = "never reported" if np.isnan(age_s) else f"last reported {age_s:.3f} s ago"
        what = f"actuator '{self._actuators[index]}' {old}"
        message = f"{what}; checks.stale_s is {limit:g} s; check its cable and power"
        details = {"check": "stale", "actuator": self._actuators[index], "limit": limit, "unit": "s"}
        return CheckFailure(
            ResultCode.COMM_LOST, message, details | {"value": None if np.isnan(age_s) else age_s}
        )

    def _check_stall(self, record: Record, _stamps_s: Floats, now_s: float) -> CheckFailure | None:
        limits, position = self._limits, record["position"]
        error = self._error
        np.subtract(record["reference_position"], position, error)
        np.abs(error, error)
        np.greater(error, self._stall_error, self._far)
        if not np.count_nonzero(self._far):
            self._forget_stalls()
            return None
        if self._all_near:
            self._begin_anew(position, now_s)
        here = np.abs(position - self._still_at) <= STILL * self._stall_error
        blocked = self._far & here
        np.copyto(self._still_since, now_s, where=~blocked)
        np.copyto(self._still_at, position, where=~here)
        np.greater_equal(now_s - self._still_since, limits.stall_s or 0.0, out=self.stalled)
        np.logical_and(self.stalled, self._may_stall, out=self.forgiven)
        faulty = self.stalled & ~self._may_stall
        if not faulty.any():
            return None
        joint = int(np.where(faulty, error, -np.inf).argmax())
        value, unit = float(error[joint]), self._units[joint]
        lasts_s = now_s - float(self._still_since[joint])
        what = f"joint '{self._joints[joint]}' stands still for {lasts_s:.2f} s, {value:.4g} {unit} off"
        message = f"{what}; look for what blocks it, or set allow_stalling"
        limit = float(self._stall_error[joint])
        told = {"joint": self._joints[joint], "value": value, "limit": limit, "unit": unit}
        return CheckFailure(ResultCode.PATH_TOLERANCE_VIOLATED, message, {"check": "stall", **told})
