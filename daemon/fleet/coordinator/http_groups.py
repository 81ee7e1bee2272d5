"""Groups for a daemon's HTTP interface: each request has a connection of its own, and is a coordinator."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from motiond.client import NoAnswer

from ...api import RequestError
from .commands import command, shortfall
from .overview import list_robots
from .start import GroupPlay, coordinating

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...api import GroupPlayRequest, GroupVerb
    from ...config.mqtt import MqttSettings

log = logging.getLogger(__name__)

MOST_STARTS = 16
OWN_KEYS = {"motion", "motions", "on_member_failure", "start_at", "transaction", "lease"}


class HttpGroups:
    """Serves requests to groups at the daemon's broker, `most_starts` starts at once.

    Leaving the context ends what it has begun: control is returned, and motions play on.
    """

    def __init__(self, settings: MqttSettings, most_starts: int = MOST_STARTS) -> None:
        self._settings = settings
        self._most_starts = most_starts
        self._starts: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[list[dict[str, Any]]] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """End what is still under way."""
        running = [*self._starts, *([self._looking] if self._looking else [])]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def play(self, group: str, request: GroupPlayRequest, asked_by: str) -> dict[str, Any]:
        """Start a group as of who asks, and return once all have accepted the commit."""
        if len(self._starts) >= self._most_starts:
            problem, reason = "too many starts", f"a daemon has {self._most_starts} under way at once"
            raise RequestError(
                "BUSY", f"{group}/play", problem, reason, "wait until others have been accepted"
            )
        options = request.model_dump(exclude_unset=True, exclude=OWN_KEYS)
        play = GroupPlay(
            group,
            request.motion,
            options,
            request.motions,
            request.on_member_failure,
            request.start_at,
            asked_by=asked_by,
        )
        accepted: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        start = asyncio.create_task(self._start(play, accepted), name="fleet.start")
        self._starts.add(start)
        start.add_done_callback(self._starts.discard)
        with _refusing():
            return await accepted

    async def _start(self, play: GroupPlay, accepted: asyncio.Future[dict[str, Any]]) -> None:
        """Coordinate a start, and stay in control to its end where that is required."""
        try:
            async with coordinating(self._settings, play) as start:
                await start.begin()
                if not accepted.done():
                    accepted.set_result(start.accepted())
                while start.conversation.is_in_control and not await start.outcomes.next():
                    pass
        except (RequestError, NoAnswer) as error:
            if accepted.done():
                log.warning("%s: not followed to its end; %s", play.group, error)
            else:
                accepted.set_exception(error)
        except Exception as error:
            if accepted.done():
                raise
            accepted.set_exception(error)
        finally:
            accepted.cancel()  # only the daemon's end comes here without an answer

    async def command(self, group: str, verb: GroupVerb) -> dict[str, Any]:
        """Send a command to all robots of a group, and return their answers."""
        with _refusing():
            gathered = await command(self._settings, group, verb)
        if failed := shortfall(group, verb, gathered):
            raise failed
        return {"robots": [answer.payload() for answer in gathered]}

    async def overview(self) -> list[dict[str, Any]]:
        """Return what is known of each robot; requests at the same time share one look."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(list_robots(self._settings), name="fleet.overview")
        with _refusing():
            return await asyncio.shield(self._looking)


@contextmanager
def _refusing() -> Iterator[None]:
    """Refuse with OFFLINE where no answer comes."""
    try:
        yield
    except NoAnswer as error:
        raise RequestError.of("OFFLINE", error) from error
