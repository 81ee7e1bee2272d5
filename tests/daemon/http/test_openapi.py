"""The OpenAPI document is that of the code, and nothing is missing in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from jsonschema import Draft202012Validator

from motiond.daemon.api import VERBS, Dispatcher
from motiond.daemon.api.reports import RETAINED
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.http import Served
from motiond.daemon.http.application import make_application
from motiond.daemon.http.metrics.totals import Tally
from motiond.daemon.http.openapi import openapi
from motiond.daemon.http.typescript import typescript
from tests.daemon.http import contract
from tests.daemon.http.conftest import Choir

if TYPE_CHECKING:
    from motiond.daemon.api import ReportHub
    from tests.daemon.conftest import Robots
    from tests.daemon.http.conftest import Site

ROOT = Path(__file__).parents[3]
BUILT = ROOT / "daemon" / "http" / "openapi.json"


def test_the_document_on_the_pages_is_that_of_the_code() -> None:
    stored = json.loads(BUILT.read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(openapi())), "run scripts/make_openapi.py"


def test_the_types_of_the_page_are_those_of_the_code() -> None:
    stored = (ROOT / "page" / "src" / "protocol.ts").read_text(encoding="utf-8")
    assert stored == typescript(), "run scripts/make_protocol.py"


async def test_the_document_is_served_as_it_was_built(site: Site) -> None:
    async with site.session.get(f"{site.url}/api/openapi.json") as response:
        assert (response.status, response.content_type) == (200, "application/json")
        assert await response.read() == BUILT.read_bytes()


def test_every_schema_is_one_and_every_reference_leads_somewhere() -> None:
    document = contract.document()
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
    references = set(re.findall(r'"\$ref": "#/components/(\w+)/(\w+)"', json.dumps(document)))
    assert len(references) > 20
    assert [(kind, name) for kind, name in references if name not in document["components"][kind]] == []
    names = [
        one["operationId"] for path in document["paths"].values() for one in path.values() if "summary" in one
    ]
    assert len(names) == len(set(names))


async def test_every_route_stands_in_the_document_and_every_path_is_served(
    robots: Robots, hub: ReportHub
) -> None:
    served = Served(Dispatcher(robots), robots, Choir(), hub, {}, "d1", lambda: True, dict)  # type: ignore[arg-type] # it shows no motions
    application, _ = make_application(HttpSettings(), None, served, Tally(lambda: robots.robots))
    routes = {
        (route.method, route.resource.canonical)
        for route in application.router.routes()
        if route.resource is not None
        and (route.resource.canonical.startswith("/api/") or route.resource.canonical == "/metrics")
        and route.method != "HEAD"
    }
    expanded = set()
    for method, path in routes:
        match path.rpartition("/"):
            case "/api/robots/{robot}", _, "{verb}":
                expanded |= {(method, f"/api/robots/{{robot}}/{verb}") for verb in VERBS}
            case "/api/fleet/{group}", _, "{verb}":
                verbs = ("play", "stop", "estop", "pause", "resume")
                expanded |= {(method, f"/api/fleet/{{group}}/{verb}") for verb in verbs}
            case _, _, "{subject}":
                subjects = RETAINED
                expanded |= {(method, f"/api/robots/{{robot}}/{subject}") for subject in subjects}
            case _:
                expanded.add((method, path))
    told = {
        (method.upper(), path)
        for path, operations in contract.document()["paths"].items()
        for method in operations
        if method != "parameters"
    }
    assert told == expanded
