"""A robot's driver on the joints' side: setpoints out of the telemetry record, feedback into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers import ActuatorCommand, ActuatorState, DriverError

from ...trajectory import Transmission

if TYPE_CHECKING:
    from motiond.drivers import Driver
    from motiond.formats.arrays import Booleans

    from ...ipc.messages import Setup
    from ...ipc.ring import Record
    from .checks import Checks

LATE_S = 0.5
REPORTED = 5  # rows of an actuator's state that are published: all but the stamps


class Actuators:
    """The actuators of one robot.

    `stamps_s` (actuators,): when each actuator's feedback was received. `measured` (joints,): the joints'
    positions by that; in rad or m. `torque` (actuators,): 1 where an actuator reports that its torque is on,
    0 where it is off; NaN where it is not known. `loose`: whether it is off in any.
    """

    def __init__(self, driver: Driver, setup: Setup, record: Record) -> None:
        self.driver = driver
        self.record = record
        self._robot = setup.robot
        self._transmission = Transmission.from_lists(setup.transmission)
        self._command, self._nothing = (ActuatorCommand(len(setup.actuators)) for _ in range(2))
        self._state = ActuatorState(len(setup.actuators), record.contacts)
        self._commanded, self._reported = self._command.values, self._state.values[:REPORTED]
        self._reference, self._feedback = record.reference, record.feedback
        self.stamps_s, self.torque = self._state.stamp_s, self._state.torque
        self.torque_changes, self.loose = 0, False
        self._held_s = -np.inf
        self._torque_before = self.torque.tobytes()
        self.measured = record["position"]

    def write(self) -> None:
        """Send the reference."""
        self._transmission.to_actuators(self._reference, self._commanded)
        self.driver.write(self._command)

    def write_nothing(self) -> None:
        """Let guided actuators go on carrying the robot's weight."""
        self.driver.write(self._nothing)

    def read(self) -> None:
        """Fill in feedback."""
        try:
            self.driver.read(self._state)
        finally:
            self._note_torque()
        self._transmission.to_joints(self._reported, self._feedback)

    def _note_torque(self) -> None:
        torque = self.torque.tobytes()  # bytes compare ten times as fast as arrays, NaN included
        if torque != self._torque_before:
            self._torque_before = torque
            self.torque_changes += 1
            self.loose = bool((self.torque == 0.0).any())

    @property
    def any_holds(self) -> bool:
        """Whether any actuator reports that its torque is on, whoever has switched it on."""
        return bool((self.torque == 1.0).any())

    @property
    def loose_joints(self) -> Booleans:
        """Return which joints are measured by an actuator whose torque is off, shape (joints,)."""
        loose: Booleans = (self.torque == 0.0)[self._transmission.actuator_of]
        return loose

    def refuse_loose(self, now_s: float) -> None:
        """Raise if an actuator has released by itself; its driver may have reported it better before.

        Feedback may be late, so that for `LATE_S` after `take_hold` it may be from before.

        Raises DriverError naming all that have.
        """
        if self.loose and now_s - self._held_s > LATE_S:
            names = [self.driver.actuators[index] for index in np.flatnonzero(self.torque == 0.0)]
            problem, reason = f"torque is off in {', '.join(names)}", "it went off by itself"
            raise DriverError(
                self._robot, problem, reason, "check the actuators, then reset and enable the robot"
            )

    def guide(self, now_s: float) -> None:
        """Let the actuators carry the robot's weight alone; raises DriverError if the driver fails at it."""
        self.driver.guide()
        self._held_s = now_s

    def take_hold(self, checks: Checks, now_s: float) -> None:
        """Switch torque on, and read where the joints are.

        Raises DriverError if the driver refuses, or the feedback is missing or too old; torque is off then,
        unless some held before, which would drop.
        """
        held = self.any_holds
        self.driver.enable()
        self._read_held(checks, now_s, else_releases=not held)

    def catch(self, checks: Checks, now_s: float, *, else_releases: bool) -> None:
        """Do as `take_hold` with joints that somebody moves; what carries itself would drop if released."""
        self.driver.catch()
        self._read_held(checks, now_s, else_releases=else_releases)

    def _read_held(self, checks: Checks, now_s: float, *, else_releases: bool) -> None:
        self._held_s = now_s
        self.read()
        problem, hint = "no position feedback after enable", "check the actuators"
        if stale := checks.check_age(self.stamps_s, now_s):
            # The joint may be elsewhere by now, and would be sent back to where it was.
            problem, hint = stale.message, ""
        if stale or not np.isfinite(self.measured).all():
            if else_releases:
                self.driver.disable()
            raise DriverError(self._robot, problem, "", hint)

    def set_period(self, period_s: float) -> str | None:
        """Set the time between two setpoints; return why the driver refuses it, or None."""
        try:
            self.driver.set_period(period_s)
        except DriverError as error:
            return str(error)
        return None
