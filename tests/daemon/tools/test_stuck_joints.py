"""A joint that does not move never ends with SUCCESSFUL and `reached_goal`, whatever its unit and range."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.api import PlayRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.check import check_motions
from motiond.daemon.tools.dry_run import run_dry
from tests.daemon.rig import write_seq

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

RATE_HZ = 100.0


def joint(lower: float, upper: float, unit: str = "rad", **values: Any) -> dict[str, Any]:
    limits = {"lower": lower, "upper": upper, "velocity": 20.0 * (upper - lower), "acceleration": 1000.0}
    return {"unit": unit, "limits": limits, **values}


GRIPPER = {"finger": joint(0.0, 0.04, "m")}
ARM = {"elbow": joint(-1.0, 1.0)}
CASES: dict[str, dict[str, dict[str, Any]]] = {
    "gripper": GRIPPER,
    "wide gripper": {"finger": joint(0.0, 0.1, "m")},
    "long rail": {"rail": joint(0.0, 3.0, "m")},
    "tiny turn": {"lid": joint(0.0, 0.05)},
    "arm with a gripper": ARM | GRIPPER,
    "arm": ARM,
    "geared gripper": {"finger": joint(0.0, 0.04, "m", reduction=-250.0)},
    "two fingers": GRIPPER
    | {"other": joint(-0.04, 0.0, "m", actuator="none", mimic={"joint": "finger", "multiplier": -1.0})},
}


def play(
    folder: Path, joints: dict[str, dict[str, Any]], share: float = 1.0, lasts_s: float = 1.0, **robot: Any
) -> tuple[dict[str, Any], list[str]]:
    """Play from the lower limits over a share of the ranges; return the result, and warnings of `check`."""
    (folder / "motions").mkdir()
    moving = {name: one["limits"] for name, one in joints.items() if "mimic" not in one}
    lower = np.array([one["lower"] for one in moving.values()])
    spans = np.array([one["upper"] for one in moving.values()]) - lower
    place = (1.0 - np.cos(np.linspace(0.0, np.pi, round(lasts_s * RATE_HZ) + 1))) / 2.0
    write_seq(
        folder / "motions" / "close.seq", lower + share * place[:, None] * spans, tuple(moving), RATE_HZ
    )
    driver = {
        "type": "sim",
        "disable_commands": True,
        "initial": {
            name: (limits["lower"] - joints[name].get("offset", 0.0)) * joints[name].get("reduction", 1.0)
            for name, limits in moving.items()
        },
    }
    file = folder / "robot.yaml"
    config = {"robots": {"grip": {"driver": driver, "motions": ["motions"], "joints": joints, **robot}}}
    file.write_text(json.dumps(config))
    settings = load_settings(file)
    (finding,) = check_motions(settings)
    assert finding.problems == ()
    result = run_dry(settings, "grip", PlayRequest(motion="close")).result
    return result, list(finding.warnings)


@pytest.mark.parametrize("share", [1.0, 0.6, 0.3])
@pytest.mark.parametrize("joints", CASES.values(), ids=CASES)
def test_a_joint_that_never_moved_has_not_reached_its_goal(
    tmp_path: Path, joints: dict[str, dict[str, Any]], share: float
) -> None:
    result, warnings = play(tmp_path, joints, share)
    assert result["code"] in {"GOAL_TOLERANCE_VIOLATED", "PATH_TOLERANCE_VIOLATED"}
    assert result["details"]["reached_goal"] is False
    assert warnings == []


@pytest.mark.parametrize("lasts_s", [0.2, 1.0])
def test_a_joint_that_is_stuck_is_noticed_without_the_stall_check_too(tmp_path: Path, lasts_s: float) -> None:
    result, _ = play(tmp_path, GRIPPER, lasts_s=lasts_s, checks={"stall_s": None})
    assert result["code"] == "GOAL_TOLERANCE_VIOLATED"
    assert result["message"].startswith("joint 'finger' is 0.04 m off")
    assert "its goal tolerance is 0.004 m" in result["message"]


@pytest.mark.parametrize("lasts_s", [0.2, 1.0])
def test_a_gripper_that_may_stall_is_forgiven_but_has_not_reached_its_goal(
    tmp_path: Path, lasts_s: float
) -> None:
    joints = {"finger": GRIPPER["finger"] | {"allow_stalling": True}}
    result, _ = play(tmp_path, joints, lasts_s=lasts_s)
    assert result["code"] == "SUCCESSFUL"
    assert result["details"]["stalled"] == ["finger"]
    assert result["details"]["reached_goal"] is False


def test_a_tolerance_that_can_never_fail_is_named_by_check_and_by_a_dry_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, (warning, of_motion) = play(tmp_path, GRIPPER, tolerances={"goal": 0.1}, checks={"stall_s": None})
    assert warning == (
        "goal tolerance of finger (0.1 m of 0.04 m): half of the range or more; a joint that does not move "
        "at all would pass for one that has arrived; lower `joints.NAME.tolerances`"
    )
    assert of_motion.startswith("close: no check would find out if these joints stood still: finger (0.04 m)")
    assert caplog.messages == [f"grip: {warning}", f"grip: {of_motion}"]
