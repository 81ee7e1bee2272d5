"""Teaching: a robot at rest is moved by hand, released or carrying its own weight, until it is caught.

Meanwhile the reference is what is measured, tick by tick. Whatever ends it but a halt, the actuators take
hold where the joints are, and brake softly from there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from motiond.drivers import DriverConfigError

from ...ipc.messages import TeachingEnded
from ...ipc.states import ResultCode, State
from ...trajectory import FULL_RAMP, STEEPEST, Brake, Transmission, of_all

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

    from ...ipc.messages import Setup
    from ..timing import Schedule
    from .actuators import Actuators
    from .player import Player
    from .watch import Watch

LEAST_RATE_HZ = 50.0
"""A brake of few setpoints is none."""
SLOW_S = 0.1
"""So short a brake does not matter to a joint that goes on by no more than its start tolerance meanwhile."""
MOST_SAG = {"rad": 0.05, "m": 0.005}
"""How far from its setpoint weight may keep a joint that is held; what is further is pushed, or stuck."""
TEACHING = State.TEACHING


class _Excess(NamedTuple):
    """A joint beyond one of its limits: which kind, what it does, and by how much."""

    check: str
    joint: int
    value: float
    limit: float
    unit: str

    def message(self, joint: str) -> str:
        does = "moves at" if self.check == "velocity_limit" else "is at"
        what = f"joint '{joint}' {does} {self.value:.4g} {self.unit}"
        return f"{what}; its limit is {self.limit:.4g} {self.unit}"

    def details(self, joint: str) -> dict[str, Any]:
        return self._asdict() | {"joint": joint}


class Teaching:
    """Lets one robot be moved by hand, and catches it."""

    def __init__(
        self, setup: Setup, player: Player, actuators: Actuators, watch: Watch, schedule: Schedule
    ) -> None:
        self._player, self._actuators = player, actuators
        self._watch, self._schedule = watch, schedule
        self._joints, self._units = setup.joints, setup.units
        ways, allowed = setup.ways, actuators.driver.limits
        found = Transmission.from_lists(setup.transmission).limits_of_joints(allowed)
        of_joints = {kind: values for kind, (values, _) in found.items()}
        self._own_lower, self._own_upper = of_joints["lower"], of_joints["upper"]
        self._lower = np.fmax(np.array(ways.lower, float), self._own_lower)
        self._upper = np.fmin(np.array(ways.upper, float), self._own_upper)
        self._fastest = np.fmin(np.array(ways.velocity_limit, float), of_joints["velocity"])
        self._acceleration = np.fmin(np.array(ways.acceleration_limit, float), of_joints["acceleration"])
        tolerance = self._tolerance = np.array(ways.start_tolerance)
        self._least, self._most = self._lower - tolerance, self._upper + tolerance
        self._slow = np.minimum(2.0 * tolerance / SLOW_S, self._acceleration * SLOW_S / STEEPEST)
        self._most_sag = np.array([MOST_SAG[unit] for unit in setup.units])
        self._leaders = np.array(ways.leaders)
        self._brake_s = FULL_RAMP / ways.clock_acceleration
        count = len(setup.joints)
        self._velocity, self._before = np.zeros(count), np.full(count, np.nan)
        self._before_s = math.nan
        self._goal, self._begun = np.full(count, np.nan), np.full(count, np.nan)

    # -- its beginning --------------------------------------------------------------------------------------

    def begin(self, mode: str) -> None:
        """Release the robot, or let it carry its weight alone; or refuse that, with a notice.

        Raises DriverError if the driver fails at it.
        """
        player, actuators, schedule = self._player, self._actuators, self._schedule
        now_s, guided = schedule.clock.now(), mode == "gravity"
        if refusal := self._refusal(now_s, guided=guided):
            self.refuse(refusal)
            return
        player.teach()
        self._goal[:] = player.position if guided and player.torque else np.nan
        self._begun[:] = np.nan
        if guided:
            actuators.guide(now_s)
            player.torque = True
        else:
            actuators.driver.disable()
            player.torque = False
            self._watch.checks.forget()
        schedule.start_grid(schedule.idle_period_s)
        self._watch.start_holding()
        self._before_s = math.nan

    def refuse(self, reason: str) -> None:
        """Report that the robot is not taught."""
        self._player.taught.append(TeachingEnded(ResultCode.INVALID_GOAL, reason, self._player.torque))
        self._player.changes += 1

    def _refusal(self, now_s: float, *, guided: bool) -> str:
        player, actuators, rate_hz = self._player, self._actuators, 1.0 / self._schedule.idle_period_s
        if player.state is not State.IDLE:
            return f"the robot is {player.state}; it cannot be taught now"
        if rate_hz < LEAST_RATE_HZ * (1.0 - 1e-9):
            reason = f"teaching needs {LEAST_RATE_HZ:g} ticks a second to catch the robot softly"
            return f"idle_rate_hz is {rate_hz:g}; {reason}; raise it"
        if guided:
            try:
                actuators.driver.refuse_guiding()
            except DriverConfigError as error:
                return str(error)
        if stale := self._watch.checks.check_age(actuators.stamps_s, now_s):
            return stale.message
        if not np.isfinite(actuators.measured).all():
            lost = self._joints[int(np.isnan(actuators.measured).argmax())]
            return f"joint '{lost}' has no measured position; check the actuators"
        self._measure(now_s)
        excess = self._excess()
        return f"{excess.message(self._joints[excess.joint])}; move it back first" if excess else ""

    # -- each tick ------------------------------------------------------------------------------------------

    def follow(self, now_s: float) -> None:
        """Take what was measured in this tick for the reference; end what is beyond a limit, and catch it.

        Raises DriverError if the actuators do not take hold.
        """
        player, actuators = self._player, self._actuators
        self._measure(now_s)
        if player.state is TEACHING and (excess := self._excess()) is not None:
            joint = self._joints[excess.joint]
            reason = "teaching ends; move it more slowly, or less far"
            message = f"{excess.message(joint)}; {reason}"
            player.stop(ResultCode.PATH_TOLERANCE_VIOLATED, message, excess.details(joint))
        if player.state is not TEACHING:
            self._catch(now_s)
            return
        np.copyto(self._begun, actuators.measured, where=np.isnan(self._begun))
        player.position[:] = actuators.measured
        player.velocity[:] = self._velocity

    def _catch(self, now_s: float) -> None:
        """Take hold where the joints are, and brake from the velocity that the hand has given them.

        One that rests where it rested under its own weight when this began gets its goal of then: with each
        time that it is caught, it would sink a little further below where it is held.
        """
        player, actuators = self._player, self._actuators
        speed = np.abs(self._velocity)  # taking hold moves joints, too
        share = np.divide(self._fastest, speed, out=np.ones_like(speed), where=speed > self._fastest)
        slowed = self._velocity * of_all(np.minimum, share, self._leaders)
        velocity = np.clip(slowed, -self._fastest, self._fastest)
        velocity[of_all(np.logical_and, np.abs(velocity) <= self._slow, self._leaders)] = 0.0
        stayed = (velocity == 0.0) & (np.abs(actuators.measured - self._begun) <= self._tolerance)
        actuators.catch(self._watch.checks, now_s, else_releases=not player.torque)
        self._watch.start_holding()
        here = actuators.measured
        stayed &= np.abs(self._goal - here) <= self._most_sag
        here = np.where(of_all(np.logical_and, stayed, self._leaders), self._goal, here)
        here = np.clip(here, self._own_lower, self._own_upper)  # it takes no others
        brake = Brake.plan(
            here,
            velocity,
            lower=self._lower,
            upper=self._upper,
            acceleration=self._acceleration,
            duration_s=self._brake_s,
            period_s=self._schedule.period_s,
            leaders=self._leaders,
        )
        player.catch(here, brake)

    def _measure(self, now_s: float) -> None:
        """Find the joints' velocities: what is measured, else what the last two positions make of it."""
        measured, velocity = self._actuators.measured, self._velocity
        np.copyto(velocity, self._actuators.record["velocity"])
        if math.isnan(np.add.reduce(velocity)):
            passed_s = now_s - self._before_s
            derived = (measured - self._before) / passed_s if passed_s > 0.0 else np.zeros_like(measured)
            np.copyto(velocity, np.nan_to_num(derived), where=np.isnan(velocity))
        self._before[:], self._before_s = measured, now_s

    def _excess(self) -> _Excess | None:
        """Return the first joint beyond a limit; None where all are within theirs."""
        measured, velocity = self._actuators.measured, self._velocity
        beyond = (measured < self._least) | (measured > self._most)
        fast = np.abs(velocity) > self._fastest
        if not (beyond | fast).any():
            return None
        if beyond.any():
            joint = int(beyond.argmax())
            limit = self._upper if measured[joint] > self._most[joint] else self._lower
            return self._excess_of("position_limit", joint, measured, limit, "")
        return self._excess_of("velocity_limit", int(fast.argmax()), np.abs(velocity), self._fastest, "/s")

    def _excess_of(self, check: str, joint: int, values: Floats, limits: Floats, per: str) -> _Excess:
        unit = f"{self._units[joint]}{per}"
        return _Excess(check, joint, float(values[joint]), float(limits[joint]), unit)
