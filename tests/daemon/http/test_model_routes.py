"""The daemon's application leads to models and meshes, behind the same guard as everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.daemon.http.conftest import serving_robots
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.config.http import HttpSettings

MODEL = """<sdf version="1.11"><model name="crane">
    <link name="mast"><visual name="v"><geometry><mesh><uri>mast.stl</uri></mesh></geometry></visual></link>
    <link name="boom"/><link name="hook"/>
    <joint name="slew" type="revolute"><parent>mast</parent><child>boom</child>
      <axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="hoist" type="prismatic"><parent>boom</parent><child>hook</child><axis><xyz>0 0 1</xyz>
      <mimic joint="slew"><multiplier>2</multiplier><offset>0.5</offset><reference>0</reference></mimic>
    </axis></joint></model></sdf>"""


async def test_the_daemons_application_serves_models_and_meshes(
    tmp_path: Path, settings: HttpSettings
) -> None:
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
    async with serving_robots(rig, settings) as site:
        status, model = await site.get("/api/robots/crane/model")
        columns = {one["name"]: one["column"] for joint in model["joints"] for one in joint["coordinates"]}
        assert (status, columns) == (
            200,
            {name: place for place, name in enumerate(site.robots.models["crane"][1].joints)},
        )
        async with site.session.get(f"{site.url}/api/robots/crane/meshes/0") as mesh:
            assert await mesh.read() == b"solid mast"
            assert mesh.headers["X-Content-Type-Options"] == "nosniff"
            assert mesh.headers["Content-Security-Policy"].startswith("default-src 'none'")
        status, refusal = await site.get("/api/robots/arm/model")
        assert (status, refusal["code"]) == (404, "UNKNOWN_MODEL")
        for path in ("model", "meshes/0"):
            headers = {"Origin": "https://example.com"}
            assert (await site.get(f"/api/robots/crane/{path}", headers=headers))[0] == 403
