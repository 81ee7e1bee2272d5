"""Files as they were built, of the page and on the interface; kept in memory, and by browsers too."""

from __future__ import annotations

import asyncio
import gzip
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
}
START = "index.html"
OWN: Traversable = files("motiond.daemon.http")


class PageFile:
    """One file, packed once: when it is first asked for."""

    def __init__(self, name: str, content: bytes) -> None:
        self._kind = KINDS[name[name.rindex(".") :]]
        self._plain, self._packed = content, b""
        self._tag = f'"{sha256(content).hexdigest()[:32]}"'

    async def serve(self, request: web.Request) -> web.Response:
        """Answer with the file, or that the browser has it."""
        headers = {hdrs.ETAG: self._tag, hdrs.CACHE_CONTROL: "no-cache", hdrs.VARY: hdrs.ACCEPT_ENCODING}
        if self._tag in request.headers.get(hdrs.IF_NONE_MATCH, ""):
            return web.Response(status=304, headers=headers)
        body = self._plain
        if "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, ""):
            body, headers[hdrs.CONTENT_ENCODING] = await self._pack(), "gzip"
        return web.Response(body=body, content_type=self._kind, charset="utf-8", headers=headers)

    async def _pack(self) -> bytes:
        """Pack it beside the event loop, which a stop may be waiting for."""
        if not self._packed:
            self._packed = await asyncio.to_thread(gzip.compress, self._plain, 9, mtime=0)
        return self._packed


def page_routes() -> list[web.RouteDef]:
    """Return a route for each file of the page, and one for its start."""
    found = {one.name: _file(one) for one in (OWN / "static").iterdir() if one.is_file()}
    routes = [web.get(f"/{name}", file.serve) for name, file in sorted(found.items())]
    return [web.get("/", found[START].serve), *routes]


def description() -> PageFile:
    """Return the document on the interface, which `make documents` has made."""
    return _file(OWN / "openapi.json")


def _file(path: Traversable) -> PageFile:
    return PageFile(path.name, path.read_bytes())
