"""What a client needs of a connection to daemons, whatever it speaks."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .errors import ClientError, ConnectionLost, NoAnswer, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from .reports import Report

STOPS = frozenset({"stop", "estop"})
"""Verbs that are sent again on another connection, as a repeated stop does no harm."""
UNEXPIRING = STOPS | {"pause"}
"""Verbs that are served however late they arrive; any other may move what nobody expects to move any more."""
MOST_AT_ONCE = 32
"""So many requests, stops apart, a daemon serves at once for one client, and a robot for all clients."""
GROUP = "group:"
"""Before the name of a group, where a robot's name would stand."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 2.0
POST_S = 1.0
"""How long a target may take to be answered, where there is no other way, before the next is sent."""
LONGEST_S = 1e6
"""Of a request; infinity and NaN could not be written as its expiry."""
Interest = frozenset[tuple[str, str]]
"""Robots (`+` is all) and subjects of which reports are wanted."""


class Deadline:
    """When a request ends, whatever comes between.

    Attributes
    ----------
    timeout_s : float
        How long it had.
    at_s : float
        When it ends, by the event loop's clock.

    Raises
    ------
    ValueError
        If nobody can wait for so long.
    """

    def __init__(self, timeout_s: float) -> None:
        if not 0.0 <= timeout_s <= LONGEST_S:
            raise ValueError(f"timeout_s is {timeout_s:g}; it is in s, from 0 to {LONGEST_S:g}; correct it")
        self.timeout_s = timeout_s
        self.at_s = asyncio.get_running_loop().time() + timeout_s

    @property
    def left_s(self) -> float:
        """How long it has from now on."""
        return max(0.0, self.at_s - asyncio.get_running_loop().time())


class Transport(ABC):
    """A connection that is made again whenever it breaks, until it is closed.

    Parameters
    ----------
    take : callable
        Takes each report as it arrives.

    Attributes
    ----------
    place : str
        Where the daemon is asked, for messages.
    connected, ended : asyncio.Event
        Set while there is a connection on which requests are sent, and while there is none.
    """

    sends_all = False
    """Whether reports come without being followed."""
    has_groups = True
    """Whether a daemon is asked, which coordinates groups, and not a broker, at which each robot is asked."""
    stops_otherwise = False
    """Whether a stop has another way while there is no connection."""
    takes_no_result = ""
    """Why a result that was published may not have come, where there is more to say than that."""

    def __init__(self, place: str, take: Callable[[Report], None]) -> None:
        self.place = place
        self.connected, self.ended = asyncio.Event(), asyncio.Event()
        self.ended.set()
        self._take = take
        self._failure: NoAnswer | None = None
        self._task: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()
        self._interest: Interest = frozenset()
        self._posts: dict[str, tuple[str, dict[str, Any]]] = {}
        self._posting: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Connect.

        Raises
        ------
        NoAnswer
            If that does not succeed; it is not tried again then, before it is called again.
        """
        self._tried.clear()
        self._task = asyncio.create_task(self._run(), name="client.connection")
        try:
            await self._tried.wait()
        except asyncio.CancelledError:
            await self.close()
            raise
        if not self.connected.is_set():
            task, self._task = self._task, None
            await task  # which raises what is a defect
            raise self._failure or NoAnswer(f"{self.place}: no connection")

    async def close(self) -> None:
        """Disconnect; any number of times. Who waits for a connection waits no longer."""
        task, self._task = self._task, None
        if self._posting is not None:
            self._posting.cancel()
            await asyncio.wait((self._posting,))
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
            self.connected.set()
            self.connected.clear()

    async def _run(self) -> None:
        """Keep a connection; only the first one, if it fails, is not tried again."""
        wait_s = FIRST_WAIT_S
        while True:
            try:
                await self._serve()
            except NoAnswer as error:
                self._failure = error
            finally:
                is_first = not self._tried.is_set()
                was_connected = not self.ended.is_set()
                self.connected.clear()
                self.ended.set()
                self._tried.set()
            if is_first:
                return
            wait_s = FIRST_WAIT_S if was_connected else min(2.0 * wait_s, LONGEST_WAIT_S)
            await asyncio.sleep(wait_s)

    def _note_connected(self) -> None:
        self.ended.clear()
        self.connected.set()
        self._tried.set()

    @property
    def is_gone(self) -> bool:
        """Whether nobody has listened there who is believed, when it was tried last."""
        return not self.connected.is_set() and self._failure is not None and self._failure.is_refused

    async def until_connected(self) -> None:
        """Wait until there is a connection.

        Raises
        ------
        ConnectionLost
            If it was closed.
        """
        self.refuse_closed()
        await self.connected.wait()
        self.refuse_closed()

    def refuse_closed(self) -> None:
        """Raise ConnectionLost if it was closed."""
        if self._task is None:
            raise ConnectionLost(f"{self.place}: the connection is closed; connect again")

    def lost(self) -> ConnectionLost:
        """Return that there is no connection any more, and why."""
        return ConnectionLost(str(self._failure or f"{self.place}: the connection is lost"))

    @abstractmethod
    async def _serve(self) -> None:
        """Connect, call `_note_connected`, and receive until the connection breaks.

        Raises
        ------
        NoAnswer
            If it cannot be made, or has broken.
        """

    @abstractmethod
    async def ask(self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        """Send a request on the present connection and return the daemon's answer, whatever it is.

        Whoever calls it ends it at the deadline.

        Parameters
        ----------
        path : str
            A robot's name; `group:NAME`; or '' for the daemon itself.

        Raises
        ------
        TimeoutError
            If no answer can come any more.
        ConnectionLost
            If the connection breaks meanwhile.
        """

    def post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        """Send a target to a robot, whose answer nobody waits for; until it is sent, a newer one replaces it.

        Raises
        ------
        ConnectionLost
            If there is no connection.
        """
        if not self.connected.is_set():
            raise self.lost()
        before_verb, before = self._posts.get(path, (verb, None))
        self._posts[path] = verb, _newest(before if before_verb == verb else None, payload)
        if self._posting is None or self._posting.done():
            self._posting = asyncio.create_task(self._post_all(), name="client.post")

    async def _post_all(self) -> None:
        while self._posts:
            path, (verb, payload) = self._posts.popitem()
            with suppress(TimeoutError, ClientError):
                await self._post(path, verb, payload)

    async def _post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        """Send a target, and return once the next may be sent."""
        deadline = Deadline(POST_S)
        async with asyncio.timeout_at(deadline.at_s):
            await self.ask(path, verb, payload, deadline)

    @abstractmethod
    async def follow(self, interest: Interest) -> None:
        """Receive these reports from now on, on each connection, and no others."""

    @abstractmethod
    async def names(self) -> Collection[str]:
        """Return the names of all robots."""

    async def look(self) -> None:  # noqa: B027 - most transports know it already
        """Find out what `absence` reports, while an answer is late."""

    @abstractmethod
    def absence(self, robot: str) -> str:
        """Return why a robot may not have answered, with a hint, as far as that is known."""


def data_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the data of an answer.

    Raises
    ------
    Refused
        If it is a refusal.
    """
    data = answer.get("data")
    data = data if isinstance(data, dict) else {}
    if answer.get("status") != "ok":
        code, message = str(answer.get("code", "INTERNAL")), str(answer.get("error", "refused"))
        raise Refused(code, message, data, answer.get("problems", ()))
    return data


def _newest(before: dict[str, Any] | None, payload: dict[str, Any]) -> dict[str, Any]:
    """Return what stands for two targets of which the first was not sent: what the later leaves as it is."""
    if before is None or before["goal_id"] != payload["goal_id"]:
        return payload
    filled = {
        kind: _filled(payload[kind], before[kind])
        for kind in ("positions", "velocities")
        if None in payload.get(kind, ()) and kind in before
    }
    return payload | filled


def _filled(values: Sequence[float | None], before: Sequence[float | None]) -> list[float | None]:
    return [last if value is None else value for value, last in zip(values, before, strict=True)]
