"""Without MuJoCo: nothing needs it until it is asked for, and then it says how to get it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import PhysicalRobot, PhysicsError, load_mujoco, make_world
from motiond.formats import load_robot

if TYPE_CHECKING:
    from motiond.daemon.physics import World

ARM = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
MISSING = "import of mujoco halted; None in sys.modules; pip install 'motiond[physics]'"


@pytest.fixture(autouse=True)
def no_mujoco(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)


def world(scene: Path | None = None) -> World:
    model = load_robot(ARM)
    return make_world(model, build_joint_map("arm", model, {}), scene=scene)


def test_what_asks_for_it_is_refused_with_how_to_install_it() -> None:
    with pytest.raises(PhysicsError) as caught:
        load_mujoco("arm: `physics`")
    assert str(caught.value) == f"arm: `physics`: needs MuJoCo, which cannot be imported; {MISSING}"


def test_a_world_is_made_without_it_and_loaded_with_it() -> None:
    made = world()
    with pytest.raises(PhysicsError) as caught:
        PhysicalRobot(made)
    assert str(caught.value) == f"arm: needs MuJoCo, which cannot be imported; {MISSING}"


def test_a_scene_of_its_own_format_needs_it(tmp_path: Path) -> None:
    scene = tmp_path / "cell.xml"
    scene.write_text("<mujoco/>")
    with pytest.raises(PhysicsError) as caught:
        world(scene)
    assert str(caught.value) == f"arm: scene {scene}: needs MuJoCo, which cannot be imported; {MISSING}"
