"""The wire between the `sim` driver and its actuators: what arrives of commands and feedback, and when.

In comes what is sent and what troubles the wire, out comes what arrives. Chance is seeded: the same calls get
the same losses and delays.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from .layout import STEPS_PER_S

if TYPE_CHECKING:
    from ..base import ActuatorState, Floats
    from .faults import Bools, Trouble

TOLD = slice(0, 5)
"""The rows of a state that an actuator tells; the stamps are the receiver's."""


class Wire:
    """Carries commands there and feedback back.

    Parameters
    ----------
    count : int
        Of actuators.
    delay_steps : int
        How long a command takes without any trouble.
    seed : int
        Of the chance by which packets are lost and late.
    """

    def __init__(self, count: int, delay_steps: int, seed: int) -> None:
        self._delay_steps = delay_steps
        self._random = np.random.default_rng([seed, 1])
        self._commands: deque[tuple[int, Floats]] = deque()
        self._feedback: deque[tuple[float, Floats]] = deque()
        self._arrived = np.full((3, count), np.nan)
        self._received = np.full((6, count), np.nan)

    def due(self, step: int) -> tuple[int, Floats] | None:
        """Give the next command that arrives up to `step`, with the step at which it does; none overtakes."""
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

    def send(self, step: int, values: Floats, trouble: Trouble) -> None:
        """Send a command (3, actuators) that is sent at `step`."""
        lost = self._lost(trouble)
        if trouble.deaf or lost.all():
            return
        np.copyto(self._arrived, values, where=~lost)
        arrives = step + self._delay_steps + round(self._late_s(trouble) * STEPS_PER_S)
        self._commands.append((arrives, self._arrived.copy()))

    def remember(self, state: ActuatorState) -> None:
        """Take a state as the last one that came undisturbed."""
        self._received[:] = state.values
        self._feedback.clear()

    def receive(self, now_s: float, state: ActuatorState, trouble: Trouble) -> None:
        """Turn what the actuators tell at `now_s` into what has arrived by then, in place."""
        self._keep_order(now_s + self._late_s(trouble), state.values.copy())
        kept = self._lost(trouble) | trouble.stale | trouble.lost | trouble.unpowered
        while self._feedback and self._feedback[0][0] <= now_s:
            arrived_s, values = self._feedback.popleft()
            values[-1] = arrived_s
            np.copyto(self._received, values, where=~kept)
        state.values[:] = self._received
        state.values[TOLD, trouble.lost | trouble.unpowered] = np.nan

    def _keep_order(self, arrives_s: float, values: Floats) -> None:
        if self._feedback:
            arrives_s = max(arrives_s, self._feedback[-1][0])
        self._feedback.append((arrives_s, values))

    def _late_s(self, trouble: Trouble) -> float:
        if trouble.jitter_s > 0:
            return trouble.delay_s + trouble.jitter_s * self._random.random()
        return trouble.delay_s

    def _lost(self, trouble: Trouble) -> Bools:
        lost: Bools = self._random.random(trouble.loss.shape) < trouble.loss
        return lost
