"""A robot's driver on the joints' side: setpoints out of the telemetry record, feedback into it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers.base import ActuatorCommand, ActuatorState, DriverError

from ..joints.transmission import Transmission

if TYPE_CHECKING:
    from motiond.drivers.base import Driver

    from ..ipc.messages import Setup
    from ..ipc.ring import Record
    from .checks import Checks

REPORTED = 5  # rows of an actuator's state that are published: all but the stamps


class Actuators:
    """The actuators of one robot.

    Parameters
    ----------
    driver : Driver
        Open already.
    setup : Setup
        With the actuators, and the transmission between them and the joints.
    record : Record
        Whose reference is written, and whose feedback is filled.

    Attributes
    ----------
    record : Record
    stamps_s : ndarray, shape (actuators,)
        When each actuator's feedback was received.
    measured : ndarray, shape (joints,)
        The joints' positions by that; in rad or m.
    """

    def __init__(self, driver: Driver, setup: Setup, record: Record) -> None:
        self.driver = driver
        self.record = record
        self._robot = setup.robot
        self._transmission = Transmission.from_lists(setup.transmission)
        self._command = ActuatorCommand(len(setup.actuators))
        self._state = ActuatorState(len(setup.actuators))
        self._commanded, self._reported = self._command.values, self._state.values[:REPORTED]
        self._reference, self._feedback = record.reference, record.feedback
        self.stamps_s = self._state.stamp_s
        self.measured = record["position"]

    def write(self) -> None:
        """Send the reference."""
        self._transmission.to_actuators(self._reference, self._commanded)
        self.driver.write(self._command)

    def read(self) -> None:
        """Fill in feedback."""
        self.driver.read(self._state)
        self._transmission.to_joints(self._reported, self._feedback)

    def take_hold(self, checks: Checks, now_s: float) -> None:
        """Switch torque on, and read where the joints are.

        Raises
        ------
        DriverError
            If the driver refuses, or the feedback is missing or too old; torque is off then.
        """
        self.driver.enable()
        self.read()
        what, mend = "no position feedback after enable", "check the actuators"
        if stale := checks.check_age(self.stamps_s, now_s):
            # The joint may be elsewhere by now, and would be sent back to where it was.
            what, mend = stale.message, ""
        if stale or not np.isfinite(self.measured).all():
            self.driver.disable()
            raise DriverError(self._robot, what, "", mend)

    def set_period(self, period_s: float) -> str | None:
        """Tell the driver the time between two setpoints; return why it refuses, None where it does not."""
        try:
            self.driver.set_period(period_s)
        except DriverError as error:
            return str(error)
        return None
