"""Sends setpoints to a group of modules in one command, which is empty for those that must stay loose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import CommunicationLost
from .feedback import WHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..base import ActuatorCommand, Booleans, Floats
    from .lookup import HebiGroup
    from .mirror import Mirrors


class Sender:
    """The setpoint of one group while it is open.

    Parameters
    ----------
    hebi : module
        hebi-py.
    group : HebiGroup
        The modules of the actuators, and after them those of `mirrors`.
    mirrors : Mirrors
        Fills in the commands of the second modules of joints.
    counts : tuple of int
        How many actuators and how many modules there are.
    now : callable
        Returns monotonic time in seconds.

    Attributes
    ----------
    setpoint : ndarray, shape (3, actuators)
        Position, velocity and effort; NaN commands nothing.
    effort : ndarray, shape (actuators,)
        A view of its last row.
    loose : ndarray of bool, shape (modules,)
        Modules that must stay loose until `tighten`.
    any_loose : bool
        Whether there are any.
    sent_s : float
        Monotonic time at which the last command was sent.
    """

    def __init__(
        self, hebi: Any, group: HebiGroup, mirrors: Mirrors, counts: tuple[int, int], now: Callable[[], float]
    ) -> None:
        actuators, modules = counts
        self._group, self._mirrors, self._now = group, mirrors, now
        self._command = hebi.GroupCommand(modules)
        self.setpoint = np.full((3, actuators), np.nan)
        self._position, self._velocity, self.effort = self.setpoint
        self._sent = np.full((3, modules), np.nan)
        self._sent_to_actuators = self._sent[:, :actuators]
        self.loose: Booleans = np.zeros(modules, bool)
        self.any_loose = False
        self.sent_s = -math.inf

    def take(self, command: ActuatorCommand) -> None:
        """Take a setpoint; a position of NaN repeats the last one, unless a velocity comes alone."""
        self._take_position(command)
        np.copyto(self._velocity, command.velocity)
        np.copyto(self.effort, command.effort)

    def _take_position(self, command: ActuatorCommand) -> None:
        if math.isfinite(command.position.sum()):
            np.copyto(self._position, command.position)
            return
        commanded = np.isfinite(command.position)
        np.copyto(self._position, np.nan, where=~commanded & np.isfinite(command.velocity))
        np.copyto(self._position, command.position, where=commanded)

    def hold(self, position: Floats) -> None:
        """Set the setpoint to stand still at `position` (actuators,); the effort stays."""
        np.copyto(self._position, position)
        self._velocity.fill(0.0)

    def loosen(self, which: Booleans) -> None:
        """Command nothing to modules (modules,) from now on."""
        self.loose |= which
        self.any_loose = True

    def tighten(self) -> None:
        """Command all modules again."""
        self.loose.fill(False)
        self.any_loose = False

    def send(self) -> None:
        """Send the setpoint to all modules but the loose ones, which get an empty one.

        Raises
        ------
        CommunicationLost
            If the network refuses it.
        """
        sent = self._sent
        np.copyto(self._sent_to_actuators, self.setpoint)
        self._mirrors.spread(sent)
        if self.any_loose:
            np.copyto(sent, np.nan, where=self.loose)
        # Not by hebi-py's writable views: what is written there does not count as set and is not sent.
        # As lists, because hebi-py reads the values one by one, which is twice as slow from an array.
        self._command.position, self._command.velocity, self._command.effort = sent.tolist()
        if not self._group.send_command(self._command):
            raise CommunicationLost(
                WHERE,
                "a command could not be sent",
                "the network refused it",
                "check cables and the interface's address",
            )
        self.sent_s = self._now()
