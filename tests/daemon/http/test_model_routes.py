"""The daemon's application leads to models and meshes, behind the same guard as everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp.test_utils import TestClient, TestServer

from motiond.daemon.api.dispatcher import Dispatcher
from motiond.daemon.api.reports import ReportHub
from motiond.daemon.config.http import HttpSettings
from motiond.daemon.config.settings import load_settings
from motiond.daemon.http.application import make_application
from motiond.daemon.robots.assembly import make_registry
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """<sdf version="1.11"><model name="crane">
    <link name="mast"><visual name="v"><geometry><mesh><uri>mast.stl</uri></mesh></geometry></visual></link>
    <link name="boom"/><link name="hook"/>
    <joint name="slew" type="revolute"><parent>mast</parent><child>boom</child>
      <axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="hoist" type="prismatic"><parent>boom</parent><child>hook</child><axis><xyz>0 0 1</xyz>
      <mimic joint="slew"><multiplier>2</multiplier><offset>0.5</offset><reference>0</reference></mimic>
    </axis></joint></model></sdf>"""


async def test_the_daemons_application_serves_models_and_meshes(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    (tmp_path / "mast.stl").write_bytes(b"solid mast")
    (tmp_path / "crane.sdf").write_text(MODEL)
    rig.others = {
        "crane": {
            "model": {"file": "crane.sdf"},
            "joints": {"hoist": {"actuator": "none"}},
            "driver": {"type": "sim"},
        }
    }
    hub = ReportHub()
    robots = make_registry(load_settings(rig.config), hub)
    application, live = make_application(
        HttpSettings(),
        None,
        dispatcher=Dispatcher(robots),
        commands=robots,
        motions=robots,
        hub=hub,
        models=robots.models,
        daemon_id="test",
    )
    async with TestClient(TestServer(application)) as client:
        answer = await client.get("/api/robots/crane/model")
        model = await answer.json()
        columns = {one["name"]: one["column"] for joint in model["joints"] for one in joint["coordinates"]}
        assert columns == {name: place for place, name in enumerate(robots.models["crane"][1].joints)}
        mesh = await client.get("/api/robots/crane/meshes/0")
        assert await mesh.read() == b"solid mast"
        joints_only = await client.get("/api/robots/arm/model")
        assert (joints_only.status, (await joints_only.json())["code"]) == (404, "UNKNOWN_MODEL")
        for path in ("model", "meshes/0"):
            headers = {"Origin": "https://example.com"}
            stranger = await client.get(f"/api/robots/crane/{path}", headers=headers)
            assert stranger.status == 403
        await live.close()
