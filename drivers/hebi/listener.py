"""Receives the feedback of a group of modules, and finds those that are silent.

hebi-py may withhold the feedback of all modules while one is missing, so silent modules are also asked alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import CommunicationLost, DriverTimeout
from .feedback import WHERE, Flags, GroupState, named

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Sequence

    from ..base import ActuatorState, Booleans, ErrorCounts, Floats
    from .lookup import HebiGroup, Module

TRIES = 3


class Listener:
    """The feedback of one group while it is open.

    `measured` (modules,): last positions in rad; NaN where none ever came. `received_s` (modules,): monotonic
    times at which they came. `lost` (modules,): modules that are lost. `errors`: counts how often an
    actuator, one of the first modules, fell silent, or reported an m-stop or heat.
    """

    def __init__(
        self,
        hebi: Any,
        group: HebiGroup,
        alone: Sequence[HebiGroup],
        modules: Sequence[Module],
        *,
        timeout_s: float,
        now: Callable[[], float],
        notices: deque[str],
        errors: ErrorCounts,
    ) -> None:
        count = len(modules)
        self._errors, self._actuators = errors, slice(len(errors.missed))
        self._group, self._alone, self._modules = group, tuple(alone), modules
        self._timeout_s, self._now, self._notices = timeout_s, now, notices
        self._feedback, self._answer = hebi.GroupFeedback(count), hebi.GroupFeedback(1)
        self.seen, self.flags = GroupState(self._feedback), Flags(modules)
        self.measured, self.received_s, self._taken = np.full((3, count), np.nan)
        self.lost, self._silent = np.zeros((2, count), bool)
        self._any_lost = self._all_came = self._asked = False

    def measure(self, timeout_ms: float) -> None:
        """Wait until all modules have reported their positions.

        Raises DriverTimeout if some did not; names them.
        """
        before_s = self.received_s.copy()
        self.received_s.fill(-np.inf)
        for _ in range(TRIES):
            self.take(timeout_ms / TRIES)
            silent = np.isneginf(self.received_s)
            if not silent.any():
                return
        np.copyto(self.received_s, before_s, where=silent)
        raise DriverTimeout(
            WHERE,
            f"no feedback in {timeout_ms:g} ms from {named(self._modules, silent)}",
            hint="check power and network",
        )

    def take(self, timeout_ms: float) -> bool:
        """Take the next feedback; return whether any came in time."""
        if self._group.get_next_feedback(timeout_ms=timeout_ms, reuse_fbk=self._feedback) is None:
            return False
        self._all_came = self.seen.take_position(self._taken)
        if self._all_came:
            np.copyto(self.measured, self._taken)
            self.received_s.fill(self._now())
        else:
            known = self.seen.known(self._taken)
            np.copyto(self.measured, self._taken, where=known)
            np.copyto(self.received_s, self._now(), where=known)
        if self.seen.flags_changed():
            had_failed = self.flags.stopped | self.flags.hot
            self._notices.extend(self.flags.update(self.seen.flags()))
            fails = (self.flags.stopped | self.flags.hot) & ~had_failed
            self._errors.reported += fails[self._actuators]
        return True

    def fill(self, state: ActuatorState) -> bool:
        """Fill `state` with the newest feedback; return whether all modules reported now and before.

        The state is that of the first modules, if there are more of them than it has room for.
        """
        came = self.take(0)
        count = len(state.position)
        state.position[:] = self.measured[:count]
        state.stamp_s[:] = self.received_s[:count]
        if came:
            seen = self.seen
            state.velocity[:] = seen.velocity[:count]
            state.effort[:] = seen.effort[:count]
            state.temperature_c[:] = seen.temperature_c[:count]
            state.voltage_v[:] = seen.voltage_v[:count]
        return came and self._all_came and not self._any_lost

    def silence(self) -> CommunicationLost | None:
        """Update `lost`, report modules that are back, and return an error if any module is lost."""
        age_s = self._now() - self.received_s
        silent = age_s > self._timeout_s
        self._ask_each_alone(age_s)
        if (silent != self._silent).any():
            back = self.lost & ~silent
            if back.any():
                self._notices.append(f"{named(self._modules, back)}: reports again; enable to take hold")
            self._errors.missed += (silent & ~self._silent)[self._actuators]
            self._silent, self.lost = silent, self._narrowed(silent)
            self._any_lost = bool(self.lost.any())
        if not self._any_lost:
            return None
        return CommunicationLost(
            WHERE,
            f"no feedback for {age_s[self.lost].max():.2f} s from {named(self._modules, self.lost)}",
            f"`feedback_timeout_s` is {self._timeout_s:g}",
            "check power, cables and the network",
        )

    def _ask_each_alone(self, age_s: Floats) -> None:
        """Ask every module alone once half the timeout has passed without feedback from any."""
        doubtful = bool((age_s > self._timeout_s / 2).all())
        if doubtful and not self._asked:
            for group in self._alone:
                group.send_feedback_request()
        self._asked = doubtful

    def _narrowed(self, silent: Booleans) -> Booleans:
        """Return the silent modules; if all are, those that did not answer when asked alone."""
        if not silent.all():
            return silent
        answers = [group.get_next_feedback(timeout_ms=0, reuse_fbk=self._answer) for group in self._alone]
        mute = np.array([answer is None for answer in answers])
        return mute if mute.any() else silent
