"""A hand that moves simulated joints, wherever these give way.

It goes from where it finds a joint to where it wants it along `10 u³ - 15 u⁴ + 6 u⁵`, with u the share of
its time that has passed: the straight way of a human hand (T. Flash, N. Hogan, "The coordination of arm
movements", Journal of Neuroscience 5, 1985). A joint without torque it carries. At one that is guided it
pulls like a spring with a damper, and the actuator does the rest. It lets go of a joint that holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .layout import STEP_S, Row

if TYPE_CHECKING:
    from ..base import Booleans, Floats

PULL_RAD_S = 2 * np.pi * 5.0
"""Natural frequency of a guided joint in the hand."""


class Hand:
    """The hand at all joints of one plant, in numbers of its block.

    `moves`: whether it moves any joint. `pull` (actuators,): its effort at guided joints, in N·m or N.
    """

    def __init__(self, rows: Floats) -> None:
        count = rows.shape[1]
        self._position, self._velocity = rows[Row.POSITION], rows[Row.VELOCITY]
        self._inertia, self._limp = rows[Row.INERTIA], rows[Row.LIMP]
        self._from, self._to, self._begin, self._steps, self.pull = np.zeros((5, count))
        self._place, self._speed = np.zeros((2, count))
        self._wants: Booleans = np.zeros(count, bool)
        self._has: Booleans = np.zeros(count, bool)
        self._carries: Booleans = np.zeros(count, bool)
        self._end = np.zeros(count)
        self.moves = self._held = False

    def take(self, which: slice, to: float, step: int, steps: int) -> None:
        """Want some joints elsewhere within so many steps from a step on."""
        self._to[which], self._end[which] = to, step + steps
        self._wants[which], self._has[which] = True, False
        self.moves = True

    def let_go(self) -> None:
        """Want nothing any more."""
        self._wants.fill(False)
        self._has.fill(False)
        self._carries.fill(False)
        self.pull.fill(0.0)
        self.moves = False

    def release_held(self, *, held: bool) -> None:
        """Let go of joints whose actuators hold, until they give way again; `held`: whether those do."""
        self._held = held
        if held:
            self._has &= self._limp > 0

    def move(self, step: int, *, guided: bool) -> None:
        """Go on to a step: find out what to carry, and how to pull at what is guided."""
        self._wants &= step <= self._end
        gives_way = self._wants if not self._held else self._wants & (self._limp > 0)
        new = gives_way & ~self._has
        self._from[new], self._begin[new] = self._position[new], step - 1
        self._has = gives_way.copy()
        lasts = np.maximum(self._end - self._begin, 1.0)
        u = np.clip((step - self._begin) / lasts, 0.0, 1.0)
        way = self._to - self._from
        self._place = self._from + way * u**3 * (10.0 - u * (15.0 - 6.0 * u))
        self._speed = way * 30.0 * (u * (1.0 - u)) ** 2 / (lasts * STEP_S)
        self._carries = self._has & ((self._limp > 0) | (not guided))
        pulls = self._has & ~self._carries
        spring = PULL_RAD_S * (self._place - self._position) + 2.0 * (self._speed - self._velocity)
        self.pull[:] = np.where(pulls, self._inertia * PULL_RAD_S * spring, 0.0)
        self.moves = bool(self._wants.any())

    def drag(self) -> None:
        """Put the joints that it carries where it is."""
        np.copyto(self._position, self._place, where=self._carries)
        np.copyto(self._velocity, self._speed, where=self._carries)
