"""Serves `/metrics`; before the first scrape nothing of the library for it is loaded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from ..routes.exchange import NOT_KEPT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ..served import Served
    from .totals import RobotTally, Tally

    Expose = Callable[[Served, Mapping[str, RobotTally], int], bytes]

# What every scraper takes, whatever it would like better.
KIND = "text/plain; version=0.0.4; charset=utf-8"


class MetricsRoute:
    """Serves the metrics of one daemon, in the text format of Prometheus."""

    def __init__(self, served: Served, tally: Tally, clients: Callable[[], int]) -> None:
        self._served, self._tally, self._clients = served, tally, clients
        self._expose: Expose | None = None

    async def serve(self, _request: web.Request) -> web.Response:
        """Answer with all metrics."""
        if self._expose is None:
            self._expose = await asyncio.to_thread(_load)
        body = self._expose(self._served, self._tally.robots, self._clients())
        return web.Response(body=body, headers={hdrs.CONTENT_TYPE: KIND, **NOT_KEPT})


def _load() -> Expose:
    """Import the library: some hundredths of a second, in which a stop must not wait."""
    from .families import expose  # noqa: PLC0415 - where nobody scrapes, it is not loaded

    return expose
