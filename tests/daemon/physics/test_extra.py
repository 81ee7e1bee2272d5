"""Without MuJoCo: nothing needs it until it is asked for, and then it says how to get it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import ReportHub
from motiond.daemon.config.settings import load_settings
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.physics import PhysicalRobot, PhysicsError, load_mujoco, make_world
from motiond.daemon.robots.assembly import make_registry
from motiond.formats import load_robot
from tests.daemon.programs import run_here
from tests.daemon.rig import make_clock
from tests.daemon.virtual_forks import VirtualForks

if TYPE_CHECKING:
    from motiond.daemon.physics import World

CONFIG = Path(__file__).parents[3] / "config"
ARM, WAVE = CONFIG / "robots" / "six_axis.hrdf", CONFIG / "motions" / "wave.seq"
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


ASKS = {
    "driver: {type: sim, physics: true}": "arm: `physics`: ",
    "driver: {type: sim}\n    effort: {}": "arm: effort: ",
}


def asking(folder: Path, asks: str) -> Path:
    config = folder / "motiond.yaml"
    robot = f"model: {ARM}\n    {asks}\n    motions: [{WAVE}]"
    config.write_text(f"mqtt: {{broker: 'mqtt://localhost'}}\nrobots:\n  arm:\n    {robot}\n")
    return config


@pytest.mark.parametrize("asks", ASKS)
@pytest.mark.parametrize("program", ["check", "play --dry-run arm wave"])
def test_no_program_does_without_it_what_the_configuration_asks_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], program: str, asks: str
) -> None:
    code, _, err = run_here(capsys, *program.split(), "-c", asking(tmp_path, asks))
    message = f"{ASKS[asks]}needs MuJoCo, which cannot be imported; {MISSING}"
    assert (code, err.splitlines()[-1]) == (2, message)


@pytest.mark.parametrize("asks", ASKS)
def test_no_daemon_begins_without_it_where_the_configuration_asks_for_it(tmp_path: Path, asks: str) -> None:
    settings = load_settings(asking(tmp_path, asks))
    with pytest.raises(PhysicsError) as caught:
        make_registry(settings, ReportHub(), VirtualForks(), make_clock())
    assert str(caught.value) == f"{ASKS[asks]}needs MuJoCo, which cannot be imported; {MISSING}"
    assert caught.value.exit_code == 2
