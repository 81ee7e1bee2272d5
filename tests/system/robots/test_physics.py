"""Robots in a physical world, in processes as a user starts them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from motiond.daemon.api import PlayRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.telemetry.npz import save_trace
from motiond.daemon.tools.dry_run import run_dry
from tests.daemon.programs import motiond
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Mapping

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
ARM = ROOT / "config" / "robots" / "six_axis.hrdf"
MOTIONS = ROOT / "config" / "motions"
JOINTS = ("base", "shoulder", "elbow", "wrist1", "wrist2", "wrist3")


def configured(folder: Path, **changes: Any) -> Path:
    limits = {"lower": -3.0, "upper": 3.0, "acceleration": 20}
    robot: dict[str, Any] = {
        "model": str(ARM),
        "driver": {"type": "sim", "physics": True, "floor": True, "command_lifetime_s": 10.0},
        "motions": [str(MOTIONS)],
        "joints": {name: {"limits": limits} for name in JOINTS},
    }
    path = folder / "arm.yaml"
    path.write_text(yaml.safe_dump({"mqtt": {"broker": "embedded"}, "robots": {"arm": robot | changes}}))
    return path


def bits(trace: Mapping[str, Any]) -> dict[str, bytes]:
    return {name: np.asarray(trace[name]).tobytes() for name in trace}


def test_the_same_run_has_the_same_bits_in_every_process(tmp_path: Path) -> None:
    config = configured(tmp_path)
    traces = []
    for number in range(2):
        path = tmp_path / f"{number}.npz"
        run = motiond("play", "arm", "wave", "--dry-run", "--trace", path, "-c", config)
        assert run.returncode == 0, run.stderr
        with np.load(path) as trace:
            traces.append(bits(trace))
    here = run_dry(load_settings(config), "arm", PlayRequest(motion="wave"), traced=True)
    assert here.trace is not None
    save_trace(tmp_path / "here.npz", here.trace)
    with np.load(tmp_path / "here.npz") as trace:
        traces.append(bits(trace))
    assert len(traces[0]["feedback_position"]) > 8 * 6 * 3200
    assert traces[0] == traces[1] == traces[2]


TEST = """
import numpy as np
import pytest

@pytest.mark.motiond(config="arm.yaml")
def test_plays_under_gravity(motiond_robot):
    assert motiond_robot.play("wave").code == "SUCCESSFUL"
    shoulder = motiond_robot.trace().feedback.of("shoulder")
    assert np.ptp(shoulder.position) > 0.1
    assert np.abs(shoulder.effort).max() > 1.0

@pytest.mark.motiond(config="arm.yaml")
def test_falls_on_the_floor_without_torque(motiond_robot):
    motiond_robot.play("wave")
    held = motiond_robot.feedback().position
    motiond_robot.request("disable")
    def fallen():
        return np.abs(motiond_robot.feedback().position - held).max() > 0.3 or None
    motiond_robot.wait(fallen, 60.0, "it does not fall")
    def lies():
        samples = motiond_robot.messages("telemetry")
        return any("floor" in str(sample["contacts"]) for sample in samples) or None
    motiond_robot.wait(lies, 60.0, "it does not lie on the floor")

@pytest.mark.motiond(config="arm.yaml")
def test_a_stuck_joint_ends_the_motion(motiond_robot):
    goal = motiond_robot.play("wave", loop=20, wait=False)
    motiond_robot.expect_state("playing")
    motiond_robot.inject("stuck", joint="elbow")
    assert goal.result().code == "PATH_TOLERANCE_VIOLATED"
"""


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_users_tests_play_in_a_world(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    patience = dict.fromkeys(("max_lateness_s", "stream_timeout_s", "daemon_timeout_s"), 10.0)
    configured(pytester.path, clock=clock, on_late="stretch", fault_requests=True, **patience)
    pytester.makepyfile(TEST)
    plugin = ("-p", "pytest_motiond", "-p", "no:cacheprovider", "-W", "error")
    result = pytester.runpytest_subprocess(*plugin, timeout=PATIENCE_S)
    result.assert_outcomes(passed=3)
