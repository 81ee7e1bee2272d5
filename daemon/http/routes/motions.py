"""Motions by HTTP: the setpoints of one to look at, its thumbnail, and new ones; a few at once of each."""

from __future__ import annotations

import asyncio
import zlib
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from motiond.text import shortened

from ..live.frames import motion_frame
from .exchange import Refused, answered, read_body
from .sending import send_bytes
from .thumbnail import thumbnail

if TYPE_CHECKING:
    from ...api import Dispatcher, Motions

MOST_UPLOAD_BYTES = 32_000_000
UPLOAD_WITHIN_S = 120.0
MOST_PLANS_AT_ONCE = 4
PLAN_WITHIN_S = 60.0
LEASE_HEADER = "Motiond-Lease"


class MotionRoutes:
    """Serves setpoints and thumbnails of motions, and takes new motions."""

    def __init__(self, motions: Motions, dispatcher: Dispatcher) -> None:
        self._motions = motions
        self._dispatcher = dispatcher
        self._plans = asyncio.Semaphore(MOST_PLANS_AT_ONCE)
        self._one_drawing = asyncio.Lock()
        self._upload = asyncio.Lock()

    async def plan(self, request: web.Request) -> web.StreamResponse:
        """Answer with the setpoints of a motion (`frames`), which may be many: to a few clients at once."""
        if self._plans.locked():
            problem = f"{MOST_PLANS_AT_ONCE} plans are being sent; no more at once; ask again"
            raise Refused(503, "BUSY", f"{request.path[:200]}: {problem}")
        async with self._plans:
            return await self._send_plan(request)

    async def _send_plan(self, request: web.Request) -> web.StreamResponse:
        planned = await self._motions.preview(request.match_info["robot"], request.match_info["motion"])
        body = await asyncio.to_thread(motion_frame, planned.about, planned.positions)
        return await send_bytes(request, body, PLAN_WITHIN_S)

    async def thumbnail(self, request: web.Request) -> web.Response:
        """Answer with a small drawing of a motion, which a browser keeps until the motion is another one."""
        robot, motion = request.match_info["robot"], request.match_info["motion"]
        async with self._one_drawing:  # of a long motion it takes long
            drawing = await asyncio.to_thread(lambda: thumbnail(self._motions.curves(robot, motion)))
        tag = f'"{zlib.crc32(drawing.encode()):08x}-{len(drawing):x}"'
        headers = {hdrs.ETAG: tag, hdrs.CACHE_CONTROL: "no-cache"}
        if tag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
            return web.Response(status=304, headers=headers)
        return web.Response(body=drawing.encode(), content_type="image/svg+xml", headers=headers)

    async def upload(self, request: web.Request) -> web.Response:
        """Take the file `name` of the query, whose content is the body; one at once."""
        robot, name = request.match_info["robot"], request.query.get("name", "")
        if self._upload.locked():
            problem = "another motion is being uploaded; one at a time; upload it again"
            raise Refused(409, "BUSY", f"{request.path}: {problem}")
        async with self._upload:
            kind = "application/octet-stream"
            self._refuse_stranger(request, robot)  # before so much is read, and again as that takes long
            content = await read_body(request, MOST_UPLOAD_BYTES, kind, UPLOAD_WITHIN_S)
            self._refuse_stranger(request, robot)
            data = await self._motions.upload(robot, name, content)
        return answered({"status": "ok", "data": data, "transaction": None})

    def _refuse_stranger(self, request: web.Request, robot: str) -> None:
        where = f"{shortened(robot, 60)}/motions/upload"
        self._dispatcher.admit(robot, where, request.headers.get(LEASE_HEADER))
