"""Sends many bytes to a client, who may read them slowly."""

from __future__ import annotations

import asyncio

from aiohttp import web

from ..security.connections import connection_of
from .exchange import NOT_KEPT

SLICE_BYTES = 65_536


async def send_bytes(request: web.Request, body: bytes, within_s: float) -> web.StreamResponse:
    """Send bytes slice by slice; hang up where the client takes longer to read them."""
    response = web.StreamResponse(headers=NOT_KEPT)
    response.content_type, response.content_length = "application/octet-stream", len(body)
    await response.prepare(request)
    try:
        async with asyncio.timeout(within_s):
            for begin in range(0, len(body), SLICE_BYTES):
                await response.write(body[begin : begin + SLICE_BYTES])
            await response.write_eof()
    except TimeoutError as error:
        connection_of(request).hang_up()
        raise ConnectionResetError from error
    return response
