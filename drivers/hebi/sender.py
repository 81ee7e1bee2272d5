"""Sends setpoints, also to the second modules of joints that two modules move.

A second module gets what the first one gets, mirrored, as `DoubledJointMirror` of hebi-py 2.16 does it:
position and velocity with the sign turned (or not, with `mirror: false`), and to each of the two half the
effort. Here both are members of one group, so that both get their commands in one call and are watched alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import CommunicationLost, DriverError
from .feedback import WHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ..base import ActuatorCommand, Booleans, Floats
    from .lookup import HebiGroup, Module

APART_RAD = 0.05
"""How far two modules on one joint may be from each other, by their zeros and by what bends between them."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """The second module of a joint. `sign`: -1 where it turns against it."""

    module: Module
    leader: int
    sign: float


class Mirrors:
    """The second modules of one group, which come after its actuators."""

    def __init__(self, mirrors: Sequence[Mirror], actuators: int) -> None:
        self.pairs = mirrors
        self._actuators = actuators
        self._leaders = np.array([mirror.leader for mirror in mirrors], np.intp)
        self._signs = np.array([mirror.sign for mirror in mirrors])
        self._followed = np.empty((3, len(mirrors)))

    def spread(self, values: Floats) -> None:
        """Fill in the commands of the second modules, and halve the efforts of those that they follow.

        `values` (3, actuators + mirrors): position, velocity and effort, of which those of the actuators are
        given.
        """
        if not self.pairs:
            return
        followed = self._followed
        np.take(values, self._leaders, axis=1, out=followed)
        followed[2] *= 0.5
        values[2, self._leaders] = followed[2]
        np.multiply(followed, self._signs, values[:, self._actuators :])

    def add_heat(self, temperature_c: Floats, of_all: NDArray[np.float32]) -> None:
        """Let an actuator be as hot as the hotter one of its two modules."""
        if self.pairs:
            np.fmax.at(temperature_c, self._leaders, of_all[self._actuators :])

    def refuse_apart(self, modules: Sequence[Module], measured: Floats) -> None:
        """Raise if two modules on one joint do not report one place, as each would pull to its own.

        `measured` (actuators + mirrors,): positions in rad. Raises DriverError with each such pair, where
        they are, and where the second one should be.
        """
        meant = measured[self._leaders] * self._signs
        apart = np.abs(measured[self._actuators :] - meant) > APART_RAD
        if not apart.any():
            return
        raise DriverError(
            WHERE,
            ", ".join(
                f"{mirror.module} is at {measured[self._actuators + index]:.3f} rad, and {meant[index]:.3f} "
                f"is where {modules[mirror.leader]} has the joint"
                for index, mirror in enumerate(self.pairs)
                if apart[index]
            ),
            "two modules on one joint would pull against each other",
            "set their positions with HEBI Scope, or correct `mirror`, then reset and enable the robot",
        )


class Sender:
    """The setpoint of one group while it is open.

    `setpoint` (3, actuators): position, velocity and effort; NaN commands nothing. `effort` (actuators,): a
    view of its last row. `loose` (modules,): modules that must stay loose until `tighten`.
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

    def give_way(self) -> None:
        """Command no position and no velocity, so that the efforts act alone."""
        self._position.fill(np.nan)
        self._velocity.fill(np.nan)

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

        Raises CommunicationLost if the network refuses it.
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
