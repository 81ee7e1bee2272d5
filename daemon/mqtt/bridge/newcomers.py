"""Robots that come while a connection is there: it hears of each of them, or it ends and is made anew."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection


class Newcomers:
    """Which robots one connection after the other listens to.

    Robots come at any moment, also while a connection is being made; one that no connection listens to could
    not be stopped.

    Parameters
    ----------
    robots : collection of str
        The daemon's own, as of now.
    """

    def __init__(self, robots: Collection[str]) -> None:
        self._robots = robots
        self._listened: set[str] | None = None
        self._left: set[str] = set()
        self._came, self._changed = asyncio.Event(), asyncio.Event()

    def begin(self, listened: Collection[str]) -> None:
        """Take note of a connection, and of the robots that it listens to already."""
        self._listened = set(listened)

    def end(self) -> None:
        """Take note that the connection has gone: who waits need not wait for it."""
        self._listened = None
        self._tell()

    def leave(self, robot: str) -> None:
        """Take note that a robot has gone, which may come again."""
        self._left.add(robot)
        if self._listened is not None:
            self._listened.discard(robot)

    async def catch_up(self, to: Callable[[Collection[str]], Awaitable[None]]) -> None:
        """Listen to all who have come.

        Parameters
        ----------
        to : callable
            Listens to robots; what it raises ends the connection.
        """
        while come := self._missing(self._robots):
            self._left.clear()
            await to(come)
            if self._listened is not None:
                self._listened.update(one for one in come if one not in self._left)
            self._tell()

    async def listen(self, to: Callable[[Collection[str]], Awaitable[None]]) -> NoReturn:
        """Listen to all who come, until that fails; `to` as of `catch_up`."""
        while True:
            self._came.clear()
            await self.catch_up(to)
            await self._came.wait()

    async def heard(self, robots: Collection[str]) -> None:
        """Wait until the connection listens to some robots; where there is none, the next one will."""
        self._came.set()
        while self._missing(robots):
            await self._changed.wait()

    def _missing(self, robots: Collection[str]) -> list[str]:
        """Return the robots to which the connection, if there is one, does not listen."""
        return [] if self._listened is None else [one for one in robots if one not in self._listened]

    def _tell(self) -> None:
        self._changed.set()
        self._changed.clear()
