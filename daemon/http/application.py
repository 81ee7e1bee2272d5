"""Which path leads where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from .answering import add_headers
from .live.clients import Live
from .metrics.route import MetricsRoute
from .routes.exchange import answer_refusals
from .routes.groups import GroupRoutes
from .routes.models import ModelRoutes
from .routes.motions import MotionRoutes
from .routes.page import description, page_routes
from .routes.recordings import RecordingRoutes
from .routes.robots import KNOWN, RobotRoutes
from .security.guard import Guard
from .security.login import Login

if TYPE_CHECKING:
    from ..config.http import HttpSettings
    from .metrics.totals import Tally
    from .security.tokens import Token
    from .served import Served

ROBOT = "{robot:[^/]+}"
"""Part of a path, which aiohttp would otherwise take only without braces."""


def make_application(
    settings: HttpSettings, token: Token | None, served: Served, tally: Tally
) -> tuple[web.Application, Live]:
    """Put the parts together, and return also the one that serves WebSocket clients."""
    live = Live(served)
    guard = Guard(settings.hosts, settings.origins, token)
    login = Login(token, secure=settings.cert_file is not None)
    open_to_all = [*page_routes(), web.post("/api/login", login.serve)]
    guard.bounded_apart = {live.serve}
    guard.open_to_all = {route.handler for route in open_to_all}
    application = web.Application(middlewares=[answer_refusals, guard.middleware])
    application.on_response_prepare.extend((add_headers, guard.let_read))
    application.add_routes(open_to_all)
    application.add_routes(_api_routes(served, live, MetricsRoute(served, tally, lambda: live.clients)))
    return application, live


def _api_routes(served: Served, live: Live, metrics: MetricsRoute) -> list[web.RouteDef]:
    """Return the paths that need the token; those of motions are to be found before those of verbs."""
    motions, robots = MotionRoutes(served.motions, served.dispatcher), RobotRoutes(served)
    recordings = RecordingRoutes(served.motions)
    looks = ModelRoutes(served.models, served.surroundings, served.dispatcher.commands)
    groups = GroupRoutes(served.groups)
    return [
        web.get("/metrics", metrics.serve),
        web.get("/api/ws", live.serve),
        web.get("/api/openapi.json", description().serve),
        web.get("/api/robots", robots.list_robots),
        web.get(f"/api/robots/{ROBOT}/{{subject:{'|'.join(KNOWN)}}}", robots.show),
        web.get(f"/api/robots/{ROBOT}/history", robots.history),
        web.get(f"/api/robots/{ROBOT}/model", looks.show),
        web.get(f"/api/robots/{ROBOT}/meshes/{{mesh:[^/]+}}", looks.mesh),
        web.get(f"/api/robots/{ROBOT}/motions/{{motion:[^/]+}}/plan", motions.plan),
        web.get(f"/api/robots/{ROBOT}/motions/{{motion:[^/]+}}/thumbnail", motions.thumbnail),
        web.post(f"/api/robots/{ROBOT}/motions/upload", motions.upload),
        web.get(f"/api/robots/{ROBOT}/recordings", robots.recordings),
        web.get(f"/api/robots/{ROBOT}/recordings/{{recording:[^/]+}}", recordings.send),
        web.get(f"/api/robots/{ROBOT}/recordings/{{recording:[^/]+}}/run", recordings.run),
        web.post(f"/api/robots/{ROBOT}/{{verb:.+}}", robots.act),
        web.get("/api/fleet", groups.list_robots),
        web.post("/api/fleet/{group:[^/]+}/{verb:.+}", groups.act),
    ]
