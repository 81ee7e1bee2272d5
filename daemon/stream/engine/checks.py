"""Checks while torque is on: effort, temperature, lost feedback, and joints away from their setpoints.

They are made in turn, so that they cost a tick little; they are about tenths of seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ipc.states import ResultCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats.arrays import Booleans, Floats

    from ...ipc.messages import CheckLimits
    from ...ipc.ring import Record

CALM_S = 1.0
"""A check that has failed passes again once it is well for so long: what flickers is one failure."""


class Onsets:
    """The joints, or actuators, that fail one check."""

    def __init__(self, count: int) -> None:
        self._failing: Booleans = np.zeros(count, dtype=bool)
        self._well_since = np.full(count, np.inf)
        self.any = False

    def clear(self) -> None:
        """Forget what has failed."""
        self._failing.fill(False)
        self.any = False

    def begin(self, bad: Booleans) -> bool:
        """Note which fail now, shape (count,); return whether one of them did not before."""
        is_new = bool((bad & ~self._failing).any())
        self._failing |= bad
        self._well_since[bad] = np.inf
        self.any = True
        return is_new

    def end(self, well: Booleans, now_s: float) -> bool:
        """Note which are well by some margin, shape (count,); return whether all that failed are over it."""
        np.minimum(self._well_since, now_s, out=self._well_since, where=self._failing & well)
        self._well_since[~well] = np.inf
        self._failing &= now_s - self._well_since < CALM_S
        if self.any and not self._failing.any():
            self.any = False
            return True
        return False


STILL = 0.1  # of the stall error: a joint that moves less stands still
WELL = 0.95  # of a limit: below it, what was beyond is so no more
NEAR = 0.5  # of the stall error: the same
_EFFORT_UNIT = {"rad": "N·m", "m": "N"}


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """What a check has found."""

    code: ResultCode
    message: str
    details: dict[str, Any]
    is_new: bool = True


class Checks:
    """The checks of one robot.

    `stalled` (joints,): the joints that stand still although their setpoint is elsewhere. `forgiven`
    (joints,): those of them that may. `held` (joints,): setpoint less feedback where the joints are held: 0,
    or what a halt left; NaN before that is known.
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
        self.rests = False
        self.held: Floats = np.zeros(count)
        self.passed: list[str] = []
        self._effort_since = np.full(count, np.inf)
        self._still_since, self._lost_since = np.full(count, np.inf), np.full(count, np.inf)
        self._still_at, self._least = np.full(count, np.nan), np.full(count, np.nan)
        self._all_near = False
        self._error, self._bad = np.zeros(count), np.zeros(count, dtype=bool)
        self._stall_error = np.array(limits.stall_error)
        asked = self._asked_for()
        self._failing = {check: Onsets(count) for check in asked}
        if "stale" in asked:
            self._failing["stale"] = Onsets(len(actuators))
            self._failing["position"] = Onsets(count)
        self._lacks_feedback = self._failing.get("stale", Onsets(0))
        self._turn = cycle(asked.values() or [lambda *_: None])
        self.count = max(1, len(asked))

    def _asked_for(self) -> dict[str, Any]:
        """Return the checks that can fail."""
        limits = self._limits
        bounds = {
            "effort": (self._check_effort, limits.effort_s if np.isfinite(self._effort).any() else None),
            "temperature": (self._check_temperature, limits.temperature_c),
            "stale": (self._check_feedback, limits.stale_s),
            "stall": (self._check_position, limits.stall_s),
        }
        return {name: check for name, (check, bound) in bounds.items() if bound is not None}

    def start(self, position: Floats, now_s: float) -> None:
        """Forget what was before a motion; `position` is the measured one, shape (joints,)."""
        self._effort_since[:] = np.inf
        self._begin_again(position, now_s)

    def forget(self) -> None:
        """Forget what has failed: a check that fails still is reported again."""
        for failing in self._failing.values():
            failing.clear()

    def _begin_again(self, position: Floats, now_s: float) -> None:
        """Take every joint for one that has moved just now."""
        self._forget_stalls()
        self._all_near = False
        self._still_since.fill(now_s)
        self._still_at[:] = position
        self._least.fill(np.inf)

    def _forget_stalls(self) -> None:
        """Take no joint for stalled; what stands still is looked for again when one is off its setpoint."""
        if not self._all_near:
            self.stalled.fill(False)
            self.forgiven.fill(False)
            self._all_near = True

    def next_check(self, record: Record, stamps_s: Floats, now_s: float) -> CheckFailure | None:
        """Make the next check; None where it does not fail."""
        failure: CheckFailure | None = next(self._turn)(record, stamps_s, now_s)
        return failure

    def _fails(self, check: str, bad: Booleans, well: Booleans, now_s: float) -> bool:
        """Note which joints fail a check; return whether one of them did not before."""
        failing = self._failing[check]
        is_new = failing.begin(bad)
        failing.end(well & ~bad, now_s)
        return is_new

    def _passes(self, check: str, well: Booleans, now_s: float) -> None:
        """Note that no joint fails a check now."""
        if self._failing[check].end(well, now_s):
            self.passed.append(check)

    def _check_effort(self, record: Record, _stamps_s: Floats, now_s: float) -> CheckFailure | None:
        effort = np.abs(record["effort"])
        since = np.minimum(self._effort_since, now_s)
        self._effort_since[:] = np.where(effort > self._effort, since, np.inf)
        joint = int(self._effort_since.argmin())
        lasts_s = now_s - float(self._effort_since[joint])
        limit_s = self._limits.effort_s or 0.0
        if lasts_s < limit_s:
            if self._failing["effort"].any:
                self._passes("effort", effort <= WELL * self._effort, now_s)
            return None
        bad = now_s - self._effort_since >= limit_s
        is_new = self._fails("effort", bad, effort <= WELL * self._effort, now_s)
        value, limit = float(effort[joint]), float(self._effort[joint])
        unit = _EFFORT_UNIT[self._units[joint]]
        what = f"joint '{self._joints[joint]}' needs {value:.4g} {unit} for {lasts_s:.2f} s"
        message = f"{what}; its effort limit is {limit:.4g} {unit}; look for what holds it"
        details = {"joint": self._joints[joint], "value": value, "limit": limit, "unit": unit}
        return CheckFailure(ResultCode.HARDWARE_FAULT, message, {"check": "effort", **details}, is_new)

    def _check_temperature(self, record: Record, _stamps_s: Floats, now_s: float) -> CheckFailure | None:
        temperature, limit = record["temperature_c"], self._limits.temperature_c or 0.0
        hot = np.greater(temperature, limit, self._bad)
        if not np.count_nonzero(hot):
            if self._failing["temperature"].any:
                self._passes("temperature", temperature <= WELL * limit, now_s)
            return None
        is_new = self._fails("temperature", hot, temperature <= WELL * limit, now_s)
        joint = int(np.where(hot, temperature, -np.inf).argmax())
        value = float(temperature[joint])
        what = f"joint '{self._joints[joint]}' is at {value:.1f} °C"
        hint = "support the robot and disable it, or take its load away"
        message = f"{what}; checks.temperature_c is {limit:g} °C; {hint}"
        details = {"joint": self._joints[joint], "value": value, "limit": limit, "unit": "°C"}
        return CheckFailure(ResultCode.HARDWARE_FAULT, message, {"check": "temperature", **details}, is_new)

    def check_feedback(self, record: Record, stamps_s: Floats, now_s: float) -> CheckFailure | None:
        """Check the feedback alone; None where it does not fail, or is not checked."""
        return None if self._limits.stale_s is None else self._check_feedback(record, stamps_s, now_s)

    def _check_feedback(self, record: Record, stamps_s: Floats, now_s: float) -> CheckFailure | None:
        failure = self.check_age(stamps_s, now_s)
        if failure is not None:
            bad = ~(now_s - stamps_s <= (self._limits.stale_s or 0.0))
            is_new = self._fails("stale", bad, ~bad, now_s)
            return CheckFailure(failure.code, failure.message, failure.details, is_new)
        if self._failing["stale"].any:
            self._passes("stale", np.isfinite(stamps_s), now_s)
        return self._check_presence(record["position"], now_s)

    def check_age(self, stamps_s: Floats, now_s: float) -> CheckFailure | None:
        """Check the age of the feedback alone; nothing is too old where there is no such check."""
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

    def _check_presence(self, position: Floats, now_s: float) -> CheckFailure | None:
        """Check that each joint has a position: feedback may be fresh, and have none."""
        lost, limit = np.isnan(position, self._bad), self._limits.stale_s or 0.0
        if not np.count_nonzero(lost):
            self._lost_since.fill(np.inf)
            if self._failing["position"].any:
                self._passes("position", ~lost, now_s)
            return None
        np.minimum(self._lost_since, now_s, self._lost_since)
        self._lost_since[~lost] = np.inf
        joint = int(self._lost_since.argmin())
        lasts_s = now_s - float(self._lost_since[joint])
        if lasts_s < limit:
            return None
        is_new = self._fails("position", now_s - self._lost_since >= limit, ~lost, now_s)
        what = f"joint '{self._joints[joint]}' has had no measured position for {lasts_s:.3f} s"
        message = f"{what}; checks.stale_s is {limit:g} s; check the actuator and its cable"
        details = {"check": "position", "joint": self._joints[joint], "value": lasts_s}
        return CheckFailure(ResultCode.COMM_LOST, message, details | {"limit": limit, "unit": "s"}, is_new)

    def _check_position(self, record: Record, _stamps_s: Floats, now_s: float) -> CheckFailure | None:
        position, error = record["position"], self._error
        if self._lacks_feedback.any:
            return None  # where the joints are is not known
        np.subtract(record["reference_position"], position, error)
        np.subtract(error, self.held, error)
        np.abs(error, error)
        far = np.greater(error, self._stall_error, self._bad)
        if not np.count_nonzero(far):
            self._forget_stalls()
            if self._failing["stall"].any:
                self._passes("stall", error <= NEAR * self._stall_error, now_s)
            return None
        if self._all_near:
            self._begin_again(position, now_s)
        np.copyto(self._still_since, now_s, where=~(far & self._stands_still(position, error)))
        np.greater_equal(now_s - self._still_since, self._limits.stall_s or 0.0, out=self.stalled)
        np.logical_and(self.stalled, self._may_stall, out=self.forgiven)
        faulty = self.stalled & ~self._may_stall
        if not faulty.any():
            return None
        is_new = self._fails("stall", faulty, error <= NEAR * self._stall_error, now_s)
        return self._stall_of(int(np.where(faulty, error, -np.inf).argmax()), now_s, is_new=is_new)

    def _stands_still(self, position: Floats, error: Floats) -> Booleans:
        """Return which joints do not move, shape (joints,); of a robot that rests, which do not come nearer.

        Who pushes a joint to and fro does not bring it back; a slow one that follows does.
        """
        least_step = STILL * self._stall_error
        if self.rests:
            nearer = np.less(error, self._least - least_step)
            np.copyto(self._least, error, where=nearer)
            still: Booleans = np.logical_not(nearer)
            return still
        here: Booleans = np.less_equal(np.abs(position - self._still_at), least_step)
        np.copyto(self._still_at, position, where=~here)
        return here

    def _stall_of(self, joint: int, now_s: float, *, is_new: bool) -> CheckFailure:
        value, unit, limit = float(self._error[joint]), self._units[joint], float(self._stall_error[joint])
        lasts_s = now_s - float(self._still_since[joint])
        if self.rests:
            what = f"joint '{self._joints[joint]}' is {value:.4g} {unit} off where it is held"
            message = f"{what}, for {lasts_s:.2f} s; look for what moves it, or set allow_stalling"
        else:
            what = f"joint '{self._joints[joint]}' stands still for {lasts_s:.2f} s, {value:.4g} {unit} off"
            message = f"{what}; look for what blocks it, or set allow_stalling"
        details = {"joint": self._joints[joint], "value": value, "limit": limit, "unit": unit}
        return CheckFailure(
            ResultCode.PATH_TOLERANCE_VIOLATED, message, {"check": "stall", **details}, is_new
        )
