"""What stands around a simulated robot, as its page draws it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.daemon.http.conftest import serving_robots
from tests.daemon.rig import Rig

if TYPE_CHECKING:
    from motiond.daemon.config.http import HttpSettings

ARM = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")
CELL = """<mujoco>
  <worldbody>
    <geom name="table" type="box" size="0.2 0.1 0.02" pos="0.5 0 0.3" rgba="0.1 0.2 0.9 1"/>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    limits = {"lower": -3.0, "upper": 3.0}
    rig.robot |= {"model": str(ARM), "joints": {name: {"limits": limits} for name in JOINTS}, "motions": []}
    (tmp_path / "cell.xml").write_text(CELL)
    return rig


async def surroundings(rig: Rig, settings: HttpSettings) -> list[dict[str, Any]]:
    async with serving_robots(rig, settings) as site:
        status, model = await site.get("/api/robots/arm/model")
    assert status == 200
    assert model["links"]
    found: list[dict[str, Any]] = model["surroundings"]
    return found


async def test_the_model_has_the_floor_and_the_scene_of_the_configuration(
    rig: Rig, settings: HttpSettings
) -> None:
    rig.robot["driver"] = {"type": "sim", "physics": True, "floor": True, "scene": "cell.xml"}
    floor, table = await surroundings(rig, settings)
    assert (floor["role"], floor["name"], floor["kind"], floor["pose"][11]) == ("floor", "floor", "plane", 0)
    assert (table["role"], table["name"], table["kind"]) == ("scene", "scene/table", "box")
    assert table["size"] == pytest.approx([0.4, 0.2, 0.04])
    assert [table["pose"][place] for place in (3, 7, 11)] == pytest.approx([0.5, 0.0, 0.3])
    assert table["colour"] == pytest.approx([0.1, 0.2, 0.9, 1.0])


async def test_the_model_has_the_workspace_by_what_it_is_for(rig: Rig, settings: HttpSettings) -> None:
    rig.robot["collision"] = {
        "workspace": [
            {"name": "press", "box": [0.1, 0.2, 0.3], "position": [1.0, 0.0, 0.5]},
            {"name": "cell", "kind": "allowed", "box": [3.0, 3.0, 3.0]},
            {"name": "ground", "plane": [0.0, 0.0, 1.0], "position": [0.0, 0.0, -0.5]},
        ]
    }
    found = await surroundings(rig, settings)
    assert [(one["role"], one["name"], one["kind"], one["size"]) for one in found] == [
        ("forbidden", "press", "box", [0.1, 0.2, 0.3]),
        ("allowed", "cell", "box", [3.0, 3.0, 3.0]),
        ("forbidden", "ground", "plane", []),
    ]
    assert [one["pose"][11] for one in found] == [0.5, 0.0, -0.5]


async def test_nothing_stands_around_a_robot_without_physics(rig: Rig, settings: HttpSettings) -> None:
    assert await surroundings(rig, settings) == []


async def test_a_robot_whose_scene_has_gone_since_is_drawn_without_it(
    rig: Rig, settings: HttpSettings, caplog: pytest.LogCaptureFixture
) -> None:
    rig.robot["driver"] = {"type": "sim", "physics": True, "scene": "cell.xml"}
    async with serving_robots(rig, settings) as site:
        (rig.folder / "cell.xml").unlink()
        _, model = await site.get("/api/robots/arm/model")
    assert model["links"]
    assert model["surroundings"] == []
    assert "cell.xml" in caplog.text
