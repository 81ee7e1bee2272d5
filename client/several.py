"""Several daemons or brokers at once, of which a robot is at one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .errors import ClientError, ConnectionLost, NoAnswer
from .transport import LONGEST_WAIT_S, STOPS, Interest, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from .reports import Report

    Make = Callable[[Callable[[Report], None]], Transport]

ALSO_S = 0.5
"""Once a stop has been answered at one place, it has so long to reach the others."""
STATUS_S = 3.0
NOT_THERE = frozenset({"UNKNOWN_ROBOT", "UNKNOWN_GROUP"})
"""Codes of a daemon that does not have what is asked."""


class SeveralTransport(Transport):
    """Asks where the robot answers; a stop goes to all places at once.

    What a broker has retained does not say where a robot is: one that was killed may show a daemon as online
    that has moved on. So reports of a robot are taken from where it answered last.
    """

    def __init__(self, makes: Sequence[Make], take: Callable[[Report], None]) -> None:
        super().__init__("", take)
        self._homes: dict[str, Transport] = {}
        self._opening: dict[Transport, asyncio.Task[None]] = {}
        self._retrying: list[asyncio.Task[None]] = []
        self._places = [self._made(make) for make in makes]
        self.has_groups = any(one.has_groups for one in self._places)
        self.place = ", ".join(one.place for one in self._places)

    def _made(self, make: Make) -> Transport:
        def take(report: Report) -> None:
            if self._homes.get(report.robot) in {None, place}:
                self._take(report)

        place = make(take)
        return place

    async def open(self) -> None:
        """Connect to each, and return once one is connected: one that hangs keeps no stop from the next."""
        self._opening = {
            place: asyncio.create_task(place.open(), name="client.open") for place in self._places
        }
        for task in self._opening.values():
            task.add_done_callback(_failure_of)  # what fails later is reported by those that need it
        waiting = set(self._opening.values())
        try:
            while waiting and not self._opened():
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        failures = [error for task in self._opening.values() if (error := _failure_of(task))]
        if defect := next((one for one in failures if not isinstance(one, NoAnswer)), None):
            raise defect
        if not self._opened():
            raise NoAnswer("\n".join(map(str, failures)))
        self._retrying = [
            asyncio.create_task(self._retry(place), name="client.retry") for place in self._places
        ]
        self._task = asyncio.create_task(self._run(), name="client.several")
        await self._tried.wait()

    async def _retry(self, place: Transport) -> None:
        """Try again to reach a place that was not reached at first."""
        await asyncio.wait((self._opening[place],))
        while _failure_of(self._opening[place]):
            await asyncio.sleep(LONGEST_WAIT_S)
            opening = asyncio.create_task(place.open(), name="client.open")
            try:
                await asyncio.wait((opening,))
            finally:
                self._opening[place] = opening  # until now a request fails at once there
                opening.add_done_callback(_failure_of)

    def _opened(self) -> list[Transport]:
        """Return the places that were reached."""
        return [one for one, task in self._opening.items() if task.done() and not _failure_of(task)]

    async def close(self) -> None:
        """Disconnect from all."""
        await super().close()
        await _cancel(self._retrying)
        await _cancel(self._opening.values())
        await asyncio.gather(*(one.close() for one in self._places))

    async def _serve(self) -> None:
        """Be connected as long as one of them is."""
        while True:
            self._note_connected()
            while any(one.connected.is_set() for one in self._places):
                await _first(
                    [asyncio.create_task(one.ended.wait()) for one in self._places if not one.ended.is_set()]
                )
            self.connected.clear()
            self.ended.set()
            await _first([asyncio.create_task(one.connected.wait()) for one in self._places])

    async def ask(self, path: str, verb: str, payload: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Send a request where the robot is, or a stop everywhere."""
        if verb in STOPS:
            return await self._ask_all(path, verb, payload, timeout_s, ALSO_S)
        home = self._homes.get(path)
        if home is None or not home.connected.is_set():
            answer = await self._ask_all(path, "status", {}, min(STATUS_S, timeout_s), 0.0)
            if verb == "status" or answer.get("code") == "UNKNOWN_ROBOT":
                return answer
            home = self._homes[path]
        try:
            return await home.ask(path, verb, payload, timeout_s)
        except (TimeoutError, ConnectionLost):
            self._homes.pop(path, None)
            raise

    async def _ask_all(
        self, path: str, verb: str, payload: dict[str, Any], timeout_s: float, also_s: float
    ) -> dict[str, Any]:
        """Ask at all places at once, and return the first answer of one that has the robot."""
        tasks = {
            asyncio.create_task(
                self._ask_at(one, path, verb, dict(payload), timeout_s), name="client.attempt"
            ): one
            for one in self._places
            if verb in STOPS or one.connected.is_set() or not self._opening[one].done()
        }
        waiting, refusal = set(tasks), None
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    with suppress(TimeoutError, ClientError):
                        answer = task.result()
                        if answer.get("code") in NOT_THERE:
                            refusal = answer
                            continue
                        self._homes[path] = tasks[task]
                        if also_s and waiting:
                            await asyncio.wait(waiting, timeout=also_s)
                        return answer
        finally:
            await _cancel(tasks)
        if refusal is None:
            raise TimeoutError
        return refusal

    async def _ask_at(
        self, place: Transport, path: str, verb: str, payload: dict[str, Any], timeout_s: float
    ) -> dict[str, Any]:
        async with asyncio.timeout(timeout_s):
            await asyncio.shield(self._opening[place])
            await place.until_connected()
            return await place.ask(path, verb, payload, timeout_s)

    async def follow(self, interest: Interest) -> None:
        """Receive these reports from all places."""
        await asyncio.gather(*(one.follow(interest) for one in self._places))

    async def names(self) -> Collection[str]:
        """Return the robots of all places."""
        await asyncio.wait(self._opening.values())
        names = await asyncio.gather(*(one.names() for one in self._opened()))
        return sorted(set().union(*names))

    async def absence(self, robot: str) -> str:
        """Return why a robot may not have answered, by each place."""
        await asyncio.wait(self._opening.values())
        reasons = [
            str(_failure_of(task) or f"{place.place}: {await place.absence(robot)}")
            for place, task in self._opening.items()
        ]
        return "look at what stands below\n" + "\n".join(reasons)


def _failure_of(task: asyncio.Task[None]) -> BaseException | None:
    """Return with what a task has failed; None where it has not, or was cancelled."""
    return None if not task.done() or task.cancelled() else task.exception()


async def _cancel(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _first(tasks: list[asyncio.Task[Any]]) -> None:
    """Wait until one of several tasks is done, and end the others."""
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
