"""Which path leads where."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiohttp import web

from .answering import add_headers
from .live.clients import Live
from .metrics.route import MetricsRoute
from .routes.exchange import answer_refusals, answered
from .routes.groups import GroupRoutes
from .routes.models import ModelRoutes
from .routes.motions import ROBOT, MotionRoutes, motion_routes
from .routes.page import page_routes
from .routes.robots import KNOWN, RobotRoutes
from .security.guard import Guard
from .security.login import Login

if TYPE_CHECKING:
    from ..config.http import HttpSettings
    from .metrics.totals import Tally
    from .security.tokens import Token
    from .served import Served


def make_application(
    settings: HttpSettings, token: Token | None, served: Served, tally: Tally
) -> tuple[web.Application, Live]:
    """Put the parts together, and return also the one that serves WebSocket clients."""
    dispatcher = served.dispatcher
    looks = ModelRoutes(served.models, dispatcher.commands)
    live = Live(served)
    metrics = MetricsRoute(served, tally, lambda: live.clients)
    guard = Guard(settings.hosts, token)
    open_to_all = [
        *page_routes(),
        web.post("/api/login", Login(token, secure=settings.cert_file is not None).serve),
    ]
    guard.bounded_apart = {live.serve}
    guard.open_to_all = {route.handler for route in open_to_all}
    application = web.Application(middlewares=[answer_refusals, guard.middleware])
    application.on_response_prepare.append(add_headers)
    application.add_routes(open_to_all)
    application.add_routes(motion_routes(MotionRoutes(served.motions, dispatcher)))
    application.add_routes(_observer_routes(metrics, live, _Description()))
    application.add_routes(_robot_routes(RobotRoutes(served), looks, GroupRoutes(served.groups)))
    return application, live


def _observer_routes(metrics: MetricsRoute, live: Live, description: _Description) -> list[web.RouteDef]:
    """Return the paths of those who look on, and of the interface's own description."""
    return [
        web.get("/metrics", metrics.serve),
        web.get("/api/ws", live.serve),
        web.get("/api/openapi.json", description.serve),
    ]


def _robot_routes(robots: RobotRoutes, looks: ModelRoutes, fleet: GroupRoutes) -> list[web.RouteDef]:
    """Return the paths of robots and of groups; those of motions are to be found before these."""
    return [
        web.get("/api/robots", robots.list_robots),
        web.get(f"/api/robots/{ROBOT}/{{subject:{'|'.join(KNOWN)}}}", robots.show),
        web.get(f"/api/robots/{ROBOT}/model", looks.show),
        web.get(f"/api/robots/{ROBOT}/meshes/{{mesh:[^/]+}}", looks.mesh),
        web.post(f"/api/robots/{ROBOT}/{{verb:.+}}", robots.act),
        web.get("/api/fleet", fleet.list_robots),
        web.post("/api/fleet/{group:[^/]+}/{verb:.+}", fleet.act),
    ]


class _Description:
    """Serves the document on the interface, which takes a while to make."""

    def __init__(self) -> None:
        self._document: dict[str, Any] = {}

    async def serve(self, _request: web.Request) -> web.Response:
        self._document = self._document or await asyncio.to_thread(_made)
        return answered(self._document)


def _made() -> dict[str, Any]:
    from .openapi import openapi  # noqa: PLC0415 - models of all answers, seldom asked for

    return openapi()
