"""What the daemon knows of a robot from its stream process, and how to wait for a change of it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..api.errors import RequestError
from ..ipc.states import State

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..ipc import messages

ANSWER_TIMEOUT_S = 4.5
"""Clients wait for 5 s."""
MAY_COME = "it may come yet; `state` reports it"
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
    found : list of float or None
        For each actuator, what it reports of its own torque (`messages.Changed`); empty before it is known.
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
    displaced : dict or None
        While it goes back to where something has moved it from: the joint that was furthest, and how far.
    alarms : dict of str to str
        Checks that fail now, each with why.
    updates : int
        Counts what the stream process has said of its state.
    rebooted : Rebooted or None
        What became of the last restart of actuators.
    losses : int
        Counts how often its driver was lost, or could not be opened.
    """

    def __init__(self, robot: str) -> None:
        self.state = State.OFFLINE
        self.torque = False
        self.found: list[float | None] = []
        self.message = "starting"
        self.reference: list[float] | None = None
        self.releasing = False
        self.waits = False
        self.displaced: dict[str, Any] | None = None
        self.alarms: dict[str, str] = {}
        self.updates = 0
        self.losses = 0
        self.rebooted: messages.Rebooted | None = None
        self._robot = robot
        self._changed = asyncio.Event()

    def take(self, told: messages.Changed) -> State:
        """Take over what the stream process tells, and return the state before; `wake` is the caller's."""
        before = self.state
        self.state, self.torque, self.reference = State(told.state), told.torque, told.reference
        self.found = told.found
        self.releasing &= self.torque and self.state is State.IDLE
        self.waits, self.displaced = told.waits, told.displaced
        if not self.torque:
            self.alarms.clear()  # without torque nothing is watched
        self.updates += 1
        return before

    def go_offline(self, why: str) -> State:
        """Note that nothing can be moved, and return the state before; `wake` is the caller's."""
        before = self.state
        self.state, self.torque, self.reference, self.message = State.OFFLINE, False, None, why
        self.found = []
        self.releasing = self.waits = False
        self.displaced = None
        self.alarms.clear()
        return before

    @property
    def why(self) -> str:
        """Why it is as it is: the reason of its state, else the first check that fails; '' if all is well."""
        return self.message or next(iter(self.alarms.values()), "")

    @property
    def holds(self) -> list[bool]:
        """Whether each actuator holds: by what it reports, or by what was asked of it where it does not."""
        return [self.torque if found is None else found > 0.0 for found in self.found]

    @property
    def is_on(self) -> bool:
        """Whether any actuator holds, whoever has switched its torque on."""
        return any(self.holds) if self.found else self.torque

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
        await self.until(lambda: not self.releasing, "torque off", refuse=refuse)

    async def until(
        self,
        holds: Callable[[], bool],
        awaited: str,
        timeout_s: float = ANSWER_TIMEOUT_S,
        refuse: Callable[[], None] = lambda: None,
    ) -> None:
        """Wait for a change; time in which the daemon itself stood still does not count.

        Parameters
        ----------
        awaited : str
            The change, for the message.
        refuse : callable, optional
            Looks at each change first, and raises where nobody is to wait any more.

        Raises
        ------
        RequestError
            TIMEOUT, with the state and what was awaited, if it does not come.
        """
        for _ in range(TURNS):
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s / TURNS):
                    while True:
                        refuse()
                        if holds():
                            return
                        await self._changed.wait()
        raise self.late(awaited, timeout_s)

    def late(self, awaited: str, waited_s: float, mend: str = MAY_COME) -> RequestError:
        """Return that something has not come in time, and what the robot does instead."""
        why = f"the robot is {self.in_words}, and {awaited} is still awaited"
        what, data = f"not done in {waited_s:g} s", {"state": self.state, "torque": self.torque}
        return RequestError("TIMEOUT", self._robot, what, why, mend, awaited=awaited, **data)

    @property
    def in_words(self) -> str:
        """What the robot does, for messages."""
        if self.state in {State.OFFLINE, State.FAULT}:
            return f"{self.state} ({self.message})" if self.message else str(self.state)
        return f"{self.state} with torque {'on' if self.torque else 'off'}"
