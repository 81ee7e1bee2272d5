"""Serves an application at an address for as long as it is asked to; what `server` loads aiohttp for."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from aiohttp import web

from ..ipc.listener import listen
from .answering import RequestHandler, in_one_form
from .security.connections import Connections

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Callable, Mapping

    from .live.clients import Live
    from .served import Bounds

# aiohttp writes a traceback of whatever is no HTTP; our own failures are logged by `answering`.
_strangers_mistakes = logging.getLogger(__name__).getChild("strangers")
_strangers_mistakes.disabled = True

MOST_HEAD_BYTES = 8190
LINGER_S = 1.0
HANDLING: Mapping[str, Any] = {
    "access_log": None,
    "logger": _strangers_mistakes,
    "auto_decompress": False,
    "max_line_size": MOST_HEAD_BYTES,
    "max_field_size": MOST_HEAD_BYTES,
    "max_headers": 64,
    "keepalive_timeout": 30.0,
    "lingering_time": LINGER_S,
}
"""How each connection is handled by aiohttp."""


@asynccontextmanager
async def serving(
    application: web.Application,
    live: Live,
    address: tuple[str, int],
    *,
    name: str,
    tls: Callable[[], ssl.SSLContext | None],
    bounds: Bounds,
) -> AsyncIterator[None]:
    """Serve an application while the context lasts."""
    runner = web.AppRunner(application, handle_signals=False, shutdown_timeout=LINGER_S)
    await runner.setup()
    served = cast("web.Server", runner.server)
    served.request_handler = in_one_form(served.request_handler)
    connections = Connections(bounds)
    options = {"loop": asyncio.get_running_loop(), **HANDLING}
    make_handler = partial(RequestHandler, connections, served, **options)
    try:
        patience_s = bounds.ask_within_s if tls() else None
        ends_one = connections.ends_one
        listener = await listen(*address, make_handler, ends_one, name=name, tls=tls, handshake_s=patience_s)
        watching = asyncio.create_task(live.watch_broker(), name="http.broker")
        try:
            yield
        finally:
            watching.cancel()
            listener.close()
            await live.close()
    finally:
        await runner.cleanup()
