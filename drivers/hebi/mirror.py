"""Joints that two modules move: the second one gets what the first one gets, mirrored.

As `DoubledJointMirror` of hebi-py 2.16 does it: position and velocity with the sign turned (or not, with
`mirror: false`), and to each of the two half the effort. Here both are members of one group, so that both get
their commands in one call and are watched alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverError
from .feedback import WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..base import Floats
    from .lookup import Module

APART_RAD = 0.05
"""How far two modules on one joint may be from each other, by their zeros and by what bends between them."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """The second module of a joint.

    Attributes
    ----------
    leader : int
        The index of the actuator that it follows.
    sign : float
        -1 where it turns against it.
    """

    module: Module
    leader: int
    sign: float


class Mirrors:
    """The second modules of one group, which come after its actuators.

    Parameters
    ----------
    mirrors : sequence of Mirror
    actuators : int
        How many actuators there are.
    """

    def __init__(self, mirrors: Sequence[Mirror], actuators: int) -> None:
        self._mirrors = mirrors
        self._actuators = actuators
        self._leaders = np.array([mirror.leader for mirror in mirrors], np.intp)
        self._signs = np.array([mirror.sign for mirror in mirrors])
        self._followed = np.empty((3, len(mirrors)))

    def spread(self, values: Floats) -> None:
        """Fill in the commands of the second modules, and halve the efforts of those that they follow.

        Parameters
        ----------
        values : ndarray, shape (3, actuators + mirrors)
            Position, velocity and effort, of which those of the actuators are given.
        """
        if not self._mirrors:
            return
        followed = self._followed
        np.take(values, self._leaders, axis=1, out=followed)
        followed[2] *= 0.5
        values[2, self._leaders] = followed[2]
        np.multiply(followed, self._signs, values[:, self._actuators :])

    @property
    def pairs(self) -> Sequence[Mirror]:
        """The second modules, in their order."""
        return self._mirrors

    def add_heat(self, temperature_c: Floats, of_all: NDArray[np.float32]) -> None:
        """Let an actuator be as hot as the hotter one of its two modules.

        Parameters
        ----------
        temperature_c : ndarray, shape (actuators,)
        of_all : ndarray, shape (actuators + mirrors,)
        """
        if self._mirrors:
            np.fmax.at(temperature_c, self._leaders, of_all[self._actuators :])

    def refuse_apart(self, modules: Sequence[Module], measured: Floats) -> None:
        """Raise if two modules on one joint do not report one place, as each would pull to its own.

        Parameters
        ----------
        measured : ndarray, shape (actuators + mirrors,)
            Positions in rad.

        Raises
        ------
        DriverError
            With each such pair, where they are, and where the second one should be.
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
                for index, mirror in enumerate(self._mirrors)
                if apart[index]
            ),
            "two modules on one joint would pull against each other",
            "set their positions with HEBI Scope, or correct `mirror`, then enable",
        )
