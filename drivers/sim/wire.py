"""The encoders of simulated actuators, and the wire to the driver; noise, losses and delays are seeded."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from .layout import STEPS_PER_S

if TYPE_CHECKING:
    from ..base import ActuatorState, Booleans, Floats
    from .faults import FaultEffects


class Encoder:
    """Measures positions.

    `offset` (actuators,): added to measured positions, not to commands; in rad or m. `noise` (actuators,):
    standard deviation, in rad or m. `resolution` (actuators,): what positions are rounded to, in rad or m; 0
    where they are not. `turned` (actuators,): how far zero has moved, for measured and commanded positions
    alike.
    """

    def __init__(self, offset: Floats, noise: Floats, resolution: Floats, seed: int) -> None:
        self.turned = np.zeros_like(offset)
        self._offset, self._noise, self._resolution = offset, noise, resolution
        self._random = np.random.default_rng(seed)
        self._noisy, self._coarse = bool(noise.any()), resolution > 0
        self._rounds = bool(self._coarse.any())
        self._scratch = np.empty_like(offset)
        self._note_shift()

    def _note_shift(self) -> None:
        self._shift = self._offset + self.turned
        self._shifted = bool(self._shift.any())
        self.is_turned = bool(self.turned.any())
        self.perfect = not (self._noisy or self._rounds or self._shifted)

    def turn(self, by: Floats) -> None:
        """Move zero `by` (actuators,) rad, as an encoder does that has lost count of its turns."""
        self.turned += by
        self._note_shift()

    def measure(self, position: Floats) -> None:
        """Replace true positions (actuators,) by measured ones, in place."""
        if self._shifted:
            np.add(position, self._shift, position)
        if self._noisy:
            self._random.standard_normal(out=self._scratch)
            np.multiply(self._scratch, self._noise, self._scratch)
            np.add(position, self._scratch, position)
        if self._rounds:
            self._round(position)

    def nearest(self, position: Floats) -> Floats:
        """Return the true positions that actuators at `position` assume for themselves: (actuators,)."""
        if not self._rounds:
            return position
        measured = position + self.turned
        self._round(measured)
        return measured - self.turned

    def _round(self, position: Floats) -> None:
        np.divide(position, self._resolution, position, where=self._coarse)
        np.rint(position, position, where=self._coarse)
        np.multiply(position, self._resolution, position, where=self._coarse)


REPORTED = slice(0, 6)
"""The rows of a state that the actuator sends; the stamps are the receiver's."""


class Wire:
    """Carries commands to the actuators and feedback back."""

    def __init__(self, count: int, delay_steps: int, seed: int) -> None:
        self._delay_steps = delay_steps
        self._random = np.random.default_rng([seed, 1])
        self._commands: deque[tuple[int, Floats]] = deque()
        self._feedback: deque[tuple[float, Floats]] = deque()
        self._arrived = np.full((3, count), np.nan)
        self._received = np.full((7, count), np.nan)

    def due(self, step: int) -> tuple[int, Floats] | None:
        """Take the next command that arrives up to `step`, and return it with the step of its arrival."""
        if self._commands and self._commands[0][0] <= step:
            return self._commands.popleft()
        return None

    @property
    def carries_commands(self) -> bool:
        """Whether commands are under way, so that later ones must queue behind them."""
        return bool(self._commands)

    def drop_commands(self) -> None:
        """Forget the commands that are under way."""
        self._commands.clear()

    def send(self, step: int, values: Floats, effects: FaultEffects) -> None:
        """Send a command (3, actuators) at `step`; where it gets lost, the one before arrives again."""
        lost = self._lost(effects)
        if effects.deaf or lost.all():
            return
        np.copyto(self._arrived, values, where=~lost)
        arrives = step + self._delay_steps + round(self._late_s(effects) * STEPS_PER_S)
        self._commands.append((arrives, self._arrived.copy()))

    def remember(self, state: ActuatorState) -> None:
        """Store a state as the last one that arrived undisturbed."""
        self._received[:] = state.values
        self._feedback.clear()

    def receive(self, now_s: float, state: ActuatorState, effects: FaultEffects) -> Booleans:
        """Replace the feedback sent at `now_s` by what has arrived by then; return whose is lost."""
        self._keep_order(now_s + self._late_s(effects), state.values.copy())
        kept = self._lost(effects) | effects.stale | effects.lost | effects.unpowered
        while self._feedback and self._feedback[0][0] <= now_s:
            arrived_s, values = self._feedback.popleft()
            values[-1] = arrived_s
            np.copyto(self._received, values, where=~kept)
        state.values[:] = self._received
        state.values[REPORTED, effects.lost | effects.unpowered] = np.nan
        state.torque[effects.stale] = np.nan  # what they report is of before
        return kept

    def _keep_order(self, arrives_s: float, values: Floats) -> None:
        if self._feedback:
            arrives_s = max(arrives_s, self._feedback[-1][0])
        self._feedback.append((arrives_s, values))

    def _late_s(self, effects: FaultEffects) -> float:
        if effects.jitter_s > 0:
            return effects.delay_s + effects.jitter_s * self._random.random()
        return effects.delay_s

    def _lost(self, effects: FaultEffects) -> Booleans:
        lost: Booleans = self._random.random(effects.loss.shape) < effects.loss
        return lost
