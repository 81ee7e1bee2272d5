"""Which path leads where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from .exchange import answered
from .fleet_api import FleetApi
from .guard import Guard, tell_browsers
from .live import Live
from .login import Login
from .metrics import MetricsApi
from .model_api import ModelApi
from .motions_api import MotionsApi, motion_routes
from .page import page_routes
from .robot_api import KNOWN, RobotApi

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..api.dispatcher import Dispatcher
    from ..api.groups import Groups
    from ..api.motions import Motions
    from ..api.reports import ReportHub
    from ..api.requests import Commands
    from ..config.http import HttpSettings
    from .model_api import Models
    from .tally import Tally
    from .tokens import Token


def make_application(
    settings: HttpSettings,
    token: Token | None,
    *,
    dispatcher: Dispatcher,
    commands: Commands,
    motions: Motions,
    groups: Groups,
    hub: ReportHub,
    models: Models,
    daemon_id: str,
    tally: Tally,
    is_broker_connected: Callable[[], bool],
    clock: Callable[[], dict[str, Any]],
    is_fleet: bool = False,
) -> tuple[web.Application, Live]:
    """Put the parts together, and return also the one that serves WebSocket clients."""
    robots = RobotApi(
        dispatcher, commands, hub, daemon_id, is_stale=lambda: is_fleet and not is_broker_connected()
    )
    fleet = FleetApi(groups)
    looks = ModelApi(models, commands)
    live = Live(dispatcher, commands, hub, daemon_id, is_broker_connected, is_fleet=is_fleet)
    metrics = MetricsApi(
        tally,
        hub,
        models,
        is_broker_connected=is_broker_connected,
        clients=lambda: live.clients,
        clock=clock,
    )
    guard = Guard(settings.hosts, token)
    open_to_all = [
        *page_routes(),
        web.post("/api/login", Login(token, secure=settings.cert_file is not None).serve),
    ]
    guard.open_to_all = {route.handler for route in open_to_all}
    application = web.Application(middlewares=[guard.middleware])
    application.on_response_prepare.append(tell_browsers)
    application.add_routes(
        [
            *open_to_all,
            *motion_routes(MotionsApi(motions, dispatcher)),
            web.get("/metrics", metrics.serve),
            web.get("/api/ws", live.serve),
            web.get("/api/openapi.json", _serve_openapi),
            web.get("/api/robots", robots.list_robots),
            web.get(f"/api/robots/{{robot}}/{{subject:{'|'.join(KNOWN)}}}", robots.show),
            web.get("/api/robots/{robot}/model", looks.show),
            web.get("/api/robots/{robot}/meshes/{mesh}", looks.mesh),
            web.post("/api/robots/{robot}/{verb:.+}", robots.act),
            web.get("/api/fleet", fleet.list_robots),
            web.post("/api/fleet/{group}/{verb:.+}", fleet.act),
        ]
    )
    return application, live


async def _serve_openapi(_request: web.Request) -> web.Response:
    """Answer with the document on the interface."""
    from .openapi import openapi  # noqa: PLC0415 - models of all answers, which hardly anybody asks for

    return answered(openapi())
