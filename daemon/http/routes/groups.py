"""What groups of robots are asked for, and what robots there are at the broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...api import GROUP_VERBS, GroupDispatcher
from .exchange import answered, passed_on
from .robots import raw_request

if TYPE_CHECKING:
    from aiohttp import web

    from ...api import Groups

MOST_LISTED = 2000


class GroupRoutes:
    """Serves requests to groups."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._dispatcher = GroupDispatcher(groups)

    async def list_robots(self, _request: web.Request) -> web.Response:
        """Answer with every robot that the broker knows."""
        robots = await self._groups.overview()
        return answered({"robots": robots[:MOST_LISTED], "more": max(0, len(robots) - MOST_LISTED)})

    async def act(self, request: web.Request) -> web.Response:
        """Pass a request to a group on, and the gathered answer back; a stop acts whatever its body is."""
        raw = await raw_request(request, request.match_info["group"], GROUP_VERBS)
        return passed_on(await self._dispatcher.answer(raw))
