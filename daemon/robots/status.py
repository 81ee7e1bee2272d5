"""What the daemon knows of a robot from its stream process, and how to wait for a change of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ..api.errors import RequestError
from ..ipc.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ipc import messages

ANSWER_TIMEOUT_S = 5.0
TURNS = 10
"""In how many turns an answer is waited for: while the daemon stands still, only one of them goes by."""


class RobotStatus:
    """The newest status of one robot.

    Parameters
    ----------
    robot : str
        The robot's name, for messages.

    Attributes
    ----------
    state : State
        The stream process's own; `offline` without one.
    torque : bool
        Whether the actuators hold.
    message : str
        Why it is offline or in fault.
    reference : list of float or None
        The setpoint that is held, per joint; None while torque is off.
    releasing : bool
        Whether torque was told to go off and is not known to be off yet: `reference` will not last.
    waits : bool
        Whether it stands on the first row of its goal, for the time at which that is due.
    updates : int
        Counts what the stream process has said of its state.
    """

    def __init__(self, robot: str) -> None:
        self.state = State.OFFLINE
        self.torque = False
        self.message = "starting"
        self.reference: list[float] | None = None
        self.releasing = False
        self.waits = False
        self.updates = 0
        self._robot = robot
        self._changed = asyncio.Event()

    def take(self, told: messages.Status) -> State:
        """Take over what the stream process tells, and return the state before; `wake` is the caller's."""
        before = self.state
        self.state, self.torque, self.reference = State(told.state), told.torque, told.reference
        self.releasing &= self.torque and self.state is State.IDLE
        self.waits = told.waits
        self.updates += 1
        return before

    def go_offline(self, why: str) -> State:
        """Note that nothing can be moved, and return the state before; `wake` is the caller's."""
        before = self.state
        self.state, self.torque, self.reference, self.message = State.OFFLINE, False, None, why
        self.releasing = self.waits = False
        return before

    def expect_release(self) -> None:
        """Note that torque was told to go off."""
        self.releasing = self.torque

    def wake(self) -> None:
        """Let whoever waits for a change look again."""
        self._changed.set()
        self._changed.clear()

    async def change(self, within_s: float | None) -> None:
        """Wait until something has changed, or for so long; None for ever."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._changed.wait()

    async def settled(self, refuse: Callable[[], None]) -> None:
        """Wait until torque that was told to go off is off; raises as `until` does."""
        await self.until(lambda: not self.releasing, "torque could not be switched off", refuse=refuse)

    async def until(
        self,
        holds: Callable[[], bool],
        failure: str,
        timeout_s: float = ANSWER_TIMEOUT_S,
        refuse: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait for a change; time in which the daemon itself stood still does not count.

        Parameters
        ----------
        refuse : callable, optional
            Looks at each change first, and raises where nobody is to wait any more.

        Raises
        ------
        RequestError
            TIMEOUT, with `failure`, if it does not come.
        """
        for _ in range(TURNS):
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s / TURNS):
                    while True:
                        refuse()
                        if holds():
                            return
                        await self._changed.wait()
        why = f"waited {timeout_s:g} s"
        raise RequestError("TIMEOUT", self._robot, failure, why, "ask for status")
