"""Several daemons or brokers at once, of which a robot is at one."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from motiond.local import hanging

from .errors import ClientError, ConnectionLost, NoAnswer, Refused
from .transport import GROUP, LONGEST_WAIT_S, STOPS, Interest, Transport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence

    from .reports import Report
    from .transport import Deadline

    Make = Callable[[Callable[[Report], None]], Transport]
    Asked = asyncio.Task[dict[str, Any]]

ALSO_S = 0.5
"""Once a stop has been answered at one place, it has so long to reach the others."""
REPORT_S = 0.05
"""So long before its deadline a stop is given up, to report who has not answered."""
NOT_ALLOWED = "NOT_ALLOWED"
UNKNOWN = frozenset({"UNKNOWN_ROBOT", "UNKNOWN_GROUP"})
NOT_THERE = UNKNOWN | {NOT_ALLOWED}
"""Codes of a daemon that does not have what is asked, or whose user this is not."""


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

    async def ask(self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        """Send a request where the robot is, or a stop everywhere."""
        if verb in STOPS:
            return await self._stop(path, verb, payload, deadline)
        if len(self._places) == 1:
            return await self._ask_at(self._places[0], path, verb, payload, deadline)
        home = self._homes.get(path)
        if home is None or not home.connected.is_set():
            answer = await self._ask_all(path, "status", {}, deadline, 0.0)
            if verb == "status" or answer.get("code") in NOT_THERE:
                return answer
            home = self._homes[path]
        try:
            return await home.ask(path, verb, payload, deadline)
        except (TimeoutError, ConnectionLost, asyncio.CancelledError):
            self._homes.pop(path, None)
            raise

    async def _stop(
        self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline
    ) -> dict[str, Any]:
        return await self._ask_all(path, verb, payload, deadline, ALSO_S)

    async def _ask_all(
        self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline, also_s: float
    ) -> dict[str, Any]:
        """Ask at all places at once, and return the first answer of one that has the robot."""
        places = [
            one
            for one in self._places
            if verb in STOPS or one.connected.is_set() or not self._opening[one].done()
        ]
        refusals: list[dict[str, Any]] = []
        async with self._asking(places, path, verb, payload, deadline) as tasks:
            waiting = set(tasks)
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    with suppress(TimeoutError, ClientError):
                        answer = task.result()
                        if answer.get("code") in NOT_THERE:
                            refusals.append(answer)
                            continue
                        self._homes[path] = tasks[task]
                        if also_s and waiting:
                            await asyncio.wait(waiting, timeout=also_s)
                        return answer
        if not refusals:
            raise TimeoutError
        return max(refusals, key=lambda refusal: refusal["code"] == NOT_ALLOWED)

    @asynccontextmanager
    async def _asking(
        self, places: Collection[Transport], path: str, verb: str, payload: dict[str, Any], deadline: Deadline
    ) -> AsyncIterator[dict[Asked, Transport]]:
        """Ask at several places, until the context ends."""
        tasks = {
            asyncio.create_task(
                self._ask_at(one, path, verb, dict(payload), deadline), name="client.attempt"
            ): one
            for one in places
        }
        try:
            yield tasks
        finally:
            await _cancel(tasks)

    async def _ask_at(
        self, place: Transport, path: str, verb: str, payload: dict[str, Any], deadline: Deadline
    ) -> dict[str, Any]:
        await asyncio.shield(self._opening[place])
        await place.until_connected()
        return await place.ask(path, verb, payload, deadline)

    def post(self, path: str, verb: str, payload: dict[str, Any]) -> None:
        """Send a target where the robot has answered."""
        home = self._places[0] if len(self._places) == 1 else self._homes.get(path)
        if home is None:
            raise self.lost()
        home.post(path, verb, payload)

    async def follow(self, interest: Interest) -> None:
        """Receive these reports from all places."""
        await asyncio.gather(*(one.follow(interest) for one in self._places))

    async def names(self) -> Collection[str]:
        """Return the robots of all places."""
        await asyncio.wait(self._opening.values())
        names = await asyncio.gather(*(one.names() for one in self._opened()), return_exceptions=True)
        known = [one for one in names if not isinstance(one, BaseException)]
        failures = [one for one in names if isinstance(one, BaseException)]
        if failures and not (known and all(isinstance(one, Refused) for one in failures)):
            raise failures[0]
        return sorted(set().union(*known))

    async def look(self) -> None:
        """Find out what `absence` reports, at all places."""
        await asyncio.gather(*(one.look() for one in self._places if one.connected.is_set()))

    def absence(self, robot: str) -> str:
        """Return why a robot may not have answered, by each place."""
        if len(self._places) == 1:
            return self._places[0].absence(robot)
        return "\n".join(("look at what stands below", *(self._absence(one, robot) for one in self._opening)))

    def _absence(self, place: Transport, robot: str) -> str:
        if failure := _failure_of(self._opening[place]):
            return str(failure)
        if not self._opening[place].done():
            return (
                f"{place.place}: no connection; nobody answers there; correct the URL, or look at the network"
            )
        return f"{place.place}: {place.absence(robot)}" if place.connected.is_set() else str(place.lost())


class MachineTransport(SeveralTransport):
    """The daemons of this machine by their sockets; a stop goes to all of them, as `motiond stop` does.

    Where none of them has stopped the robot within a moment, as they are another user's, a stop goes to the
    broker, too. It is reported as done only where no daemon is left that has not answered. Where nobody is
    believed at the sockets, the broker is all there is.

    Parameters
    ----------
    makes : sequence of callable
        How each socket is reached.
    make_broker : callable
        How the broker is, which is connected to for such a stop alone.
    """

    def __init__(self, makes: Sequence[Make], make_broker: Make, take: Callable[[Report], None]) -> None:
        super().__init__(makes, take)
        self.place = "this machine"
        self._make_broker = make_broker
        self._at_broker: set[Asked] = set()
        self.stops_otherwise = True

    async def open(self) -> None:
        """Connect to each daemon, or else to the broker."""
        try:
            await super().open()
        except NoAnswer as error:
            self._places, self.stops_otherwise = [self._made(self._make_broker)], False
            self.has_groups, self.place = False, self._places[0].place
            try:
                await super().open()
            except NoAnswer as other:
                raise NoAnswer(f"{error}\n{other}") from error

    async def close(self) -> None:
        """Disconnect from all."""
        await super().close()
        await asyncio.gather(*self._at_broker, return_exceptions=True)

    async def _stop(
        self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline
    ) -> dict[str, Any]:
        if not self.stops_otherwise:
            return await super()._stop(path, verb, payload, deadline)
        places = [one for one in self._places if not one.is_gone]
        async with self._asking(places, path, verb, payload, deadline) as tasks:
            waiting: set[Asked] = set(tasks)
            if waiting:
                await asyncio.wait(waiting, timeout=ALSO_S)
            by_broker: Asked | None = None
            is_stopped = any(_answer_of(task).get("status") == "ok" for task in tasks)
            if not is_stopped and not path.startswith(GROUP):
                by_broker = asyncio.create_task(
                    self._stop_at_broker(path, verb, payload, deadline), name="client.broker"
                )
                self._at_broker.add(by_broker)
                by_broker.add_done_callback(self._at_broker.discard)
                waiting.add(by_broker)
            try:
                await asyncio.wait(waiting, timeout=deadline.left_s - REPORT_S)
                return self._outcome(path, tasks, by_broker, deadline)
            finally:
                if by_broker is not None:
                    by_broker.cancel()

    async def _stop_at_broker(
        self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline
    ) -> dict[str, Any]:
        broker = self._make_broker(lambda _: None)
        try:
            await broker.open()
            return await broker.ask(path, verb, dict(payload), deadline)
        finally:
            await broker.close()

    def _outcome(
        self, path: str, tasks: Mapping[Asked, Transport], by_broker: Asked | None, deadline: Deadline
    ) -> dict[str, Any]:
        """Return what a stop has come to.

        Raises
        ------
        NoAnswer
            With each daemon that has not answered.
        """
        silent = [
            hanging(path, one.place, deadline.timeout_s)
            for task, one in tasks.items()
            if not _answer_of(task) and not one.is_gone
        ]
        answers = [(one.place, answer) for task, one in tasks.items() if (answer := _answer_of(task))]
        is_at_broker = by_broker is not None and _answer_of(by_broker).get("status") == "ok"
        if by_broker is not None and is_at_broker:
            answers.append(("its daemon at the broker", by_broker.result()))
        stops = [answer for _, answer in answers if answer["status"] == "ok"]
        lines = [f"{path}: {place} has stopped it" for place, answer in answers if answer in stops]
        if silent:
            raise NoAnswer("\n".join((*silent, *lines)))
        refusals = [answer for _, answer in answers if answer["status"] != "ok"]
        refusals.sort(key=lambda answer: answer["code"] in UNKNOWN)
        is_refused = refusals != [] and refusals[0]["code"] not in UNKNOWN
        if stops and (is_at_broker or not is_refused):
            return max(stops, key=lambda answer: answer["data"].get("stops_within_s", 0.0))
        if by_broker is not None and (failure := _failure_of(by_broker)) is not None:
            lines.append(str(failure))
        if not refusals:
            raise NoAnswer("\n".join(lines) or f"{path}: no daemon of this machine is left")
        return {**refusals[0], "error": "\n".join((refusals[0]["error"], *(lines if is_refused else ())))}


def _answer_of(task: Asked) -> dict[str, Any]:
    """Return what a task has got as an answer; nothing where it has none."""
    return task.result() if task.done() and not task.cancelled() and task.exception() is None else {}


def _failure_of(task: asyncio.Task[Any]) -> BaseException | None:
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
