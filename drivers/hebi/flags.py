"""The states that HEBI modules report: m-stop, heat, position limits, who commands them.

Changes become notices; a state that keeps modules from following commands becomes an error. The numbers are
those of `FeedbackEnumField` in hebi-py 2.16.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverError
from .feedback import ABSENT, WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..base import Booleans
    from .lookup import Module

TEMPERATURE, MSTOP, POSITION_LIMIT, LIFETIME = 0, 1, 2, 5
NORMAL, CRITICAL, MOTOR_TOO_HOT, BOARD_TOO_HOT = range(4)
PRESSED, NOT_PRESSED = 0, 1
INSIDE = 2
UNLOCKED, LOCKED_BY_OTHER, LOCKED_BY_US = range(3)
NOTICES = {
    TEMPERATURE: {
        NORMAL: "its temperature is normal again",
        CRITICAL: "it limits its output because it is hot",
        MOTOR_TOO_HOT: "its motor is too hot",
        BOARD_TOO_HOT: "its electronics are too hot",
    },
    MSTOP: {PRESSED: "its m-stop is pressed", NOT_PRESSED: "its m-stop is released"},
    POSITION_LIMIT: {
        0: "it is below its lower position limit",
        1: "it is at its lower position limit",
        INSIDE: "it is within its position limits again",
        3: "it is at its upper position limit",
        4: "it is above its upper position limit",
        5: "it was never within its position limits since it was switched on",
    },
}
QUIET = {TEMPERATURE: NORMAL, MSTOP: NOT_PRESSED, POSITION_LIMIT: INSIDE}


class Flags:
    """The last reported states of a group's modules.

    Parameters
    ----------
    modules : sequence of Module
        In the group's order.

    Attributes
    ----------
    stopped, hot, foreign, unlocked : ndarray of bool, shape (modules,)
        Modules with their m-stop pressed; switched off by heat; commanded by another program; without a
        living command.
    failing : bool
        Whether any module is stopped, hot or foreign.
    any_unlocked : bool
        Whether any module has no living command.
    torque : ndarray, shape (modules,)
        1 where a living command is obeyed, 0 where none is; NaN where the module does not report it.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = modules
        self._states = np.full((len(modules), LIFETIME + 1), ABSENT, np.int32)
        self._derive()

    def update(self, states: NDArray[np.int32]) -> list[str]:
        """Take new states, and return notices of changes that a user should know.

        Parameters
        ----------
        states : ndarray of int32, shape (modules, 6)
            As `GroupState.flags` returns them.
        """
        before, self._states = self._states, states
        self._derive()
        return [
            f"{self._modules[index]}: {NOTICES[kind][int(states[index, kind])]}"
            for index, kind in np.argwhere(states != before).tolist()
            if _worth_telling(kind, int(before[index, kind]), int(states[index, kind]))
        ]

    def _derive(self) -> None:
        states = self._states
        self.stopped = states[:, MSTOP] == PRESSED
        self.hot = states[:, TEMPERATURE] >= MOTOR_TOO_HOT
        self.foreign = states[:, LIFETIME] == LOCKED_BY_OTHER
        self.unlocked = states[:, LIFETIME] == UNLOCKED
        self.failing = bool((self.stopped | self.hot | self.foreign).any())
        self.any_unlocked = bool(self.unlocked.any())
        self.torque = np.where(states[:, LIFETIME] == ABSENT, np.nan, 1.0)
        self.torque[self.stopped | self.hot | self.unlocked] = 0.0

    def failure(self) -> DriverError | None:
        """Return the error for the gravest state that keeps modules from following commands, if any."""
        if self.stopped.any():
            return DriverError(
                WHERE,
                f"the m-stop is pressed on {self._named(self.stopped)}",
                "their motors obey it and not motiond",
                "release it, then enable",
            )
        if self.hot.any():
            return DriverError(
                WHERE,
                f"too hot: {self._named(self.hot)}",
                "they have switched their motors off",
                "let them cool down, then enable",
            )
        if self.foreign.any():
            return DriverError(
                WHERE,
                f"another program commands {self._named(self.foreign)}",
                "they take no one else's commands while its command lifetime lasts",
                "close it, then enable",
            )
        return None

    def _named(self, which: Booleans) -> str:
        return named(self._modules, which)


def named(modules: Sequence[Module], which: Booleans) -> str:
    """Return the names of the modules for which `which` (modules,) is true."""
    return ", ".join(str(modules[index]) for index in np.flatnonzero(which))


def _worth_telling(kind: int, before: int, now: int) -> bool:
    """Return whether a change is news; a first report that all is well is none."""
    return now in NOTICES.get(kind, ()) and not (before == ABSENT and now == QUIET[kind])
