"""Recordings by HTTP: their files, and what they hold, to be drawn; a few at once of each."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from motiond.text import shortened

from ..live.frames import described_arrays
from .exchange import Refused, send_file
from .sending import send_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import web

    from ...api import Motions

MOST_RUNS_AT_ONCE, MOST_FILES_AT_ONCE = 2, 4
RUN_WITHIN_S = 60.0
KIND = "application/octet-stream"


class RecordingRoutes:
    """Serves recordings of robots."""

    def __init__(self, motions: Motions) -> None:
        self._motions = motions
        self._runs = asyncio.Semaphore(MOST_RUNS_AT_ONCE)
        self._files = asyncio.Semaphore(MOST_FILES_AT_ONCE)

    async def send(self, request: web.Request) -> web.StreamResponse:
        """Send the file of a recording, or a range of it."""
        robot, name = request.match_info["robot"], request.match_info["recording"]
        async with _one_of(self._files, request, f"{MOST_FILES_AT_ONCE} recordings are being sent"):
            file, called = await self._motions.open_recording(robot, name)
            with file:
                return await send_file(request, file, KIND, called)

    async def run(self, request: web.Request) -> web.StreamResponse:
        """Answer with what a recording holds, thinned (`frames`)."""
        robot, name = request.match_info["robot"], request.match_info["recording"]
        async with _one_of(self._runs, request, f"{MOST_RUNS_AT_ONCE} recordings are being read"):
            run = await self._motions.recorded_run(robot, name)
            arrays = run.times, run.reference, run.feedback, run.error
            body = await asyncio.to_thread(described_arrays, run.about, *arrays)
            return await send_bytes(request, body, RUN_WITHIN_S)


@asynccontextmanager
async def _one_of(places: asyncio.Semaphore, request: web.Request, problem: str) -> AsyncIterator[None]:
    """Take one of a few places, or refuse the request."""
    if places.locked():
        raise Refused(503, "BUSY", f"{shortened(request.path, 200)}: {problem}; no more at once; ask again")
    async with places:
        yield
