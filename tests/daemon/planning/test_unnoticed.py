"""Motions of joints that could stand still without anybody noticing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.check import check_motions
from tests.daemon.rig import Rig, write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

RATE_HZ = 100
AWAY = 0.1  # of the default goal tolerance, in rad; half of that is of the stall error


def bump(height: float, duration_s: float) -> NDArray[np.float64]:
    """To and fro."""
    return np.asarray(height * np.sin(np.pi * np.linspace(0, 1, round(duration_s * RATE_HZ) + 1)) ** 2)


def ramp(height: float, duration_s: float = 2.0) -> NDArray[np.float64]:
    """There, from rest to rest."""
    at = np.linspace(0, np.pi, round(duration_s * RATE_HZ) + 1)
    return np.asarray(height * (0.5 - 0.5 * np.cos(at)))


def rig_of(folder: Path, elbow: NDArray[np.float64], **options: Any) -> Rig:
    rig = Rig(folder)
    for file in (folder / "motions").iterdir():
        file.unlink()
    rows = np.column_stack((ramp(1.0, (len(elbow) - 1) / RATE_HZ), elbow))
    write_seq(folder / "motions" / "nudge.seq", rows, ("shoulder", "elbow"), RATE_HZ)
    own = {name: options.pop(name) for name in ("tolerances", "allow_stalling") if name in options}
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 9.0, "acceleration": 900.0}
    rig.robot["joints"] = {"shoulder": {"limits": limits}, "elbow": {"limits": limits} | own}
    rig.robot |= options
    return rig


def warnings_of(rig: Rig) -> list[str]:
    (finding,) = check_motions(load_settings(rig.config), (), lambda _: None)
    assert finding.problems == ()
    return list(finding.warnings)


@pytest.mark.parametrize(
    ("elbow", "options", "travel"),
    [
        (ramp(0.9 * AWAY), {"checks": {"stall_s": None}}, "0.09"),
        (ramp(0.4 * AWAY), {}, "0.04"),
        (bump(0.4 * AWAY, 2.0), {}, "0.04"),
        (bump(0.8, 0.5), {}, "0.8"),
        (ramp(0.9 * AWAY), {"tolerances": {"stall_error": 0.2}}, "0.09"),
        (ramp(0.5), {"tolerances": {"goal": 0.6, "stall_error": 0.6}}, "0.5"),
    ],
)
def test_check_names_joints_that_could_stand_still(
    tmp_path: Path, elbow: NDArray[np.float64], options: dict[str, Any], travel: str
) -> None:
    problem = f"no check would find out if these joints stood still: elbow ({travel} rad)"
    reason = "they move so little, or so briefly; lower `joints.NAME.tolerances`, or set their `path`"
    assert warnings_of(rig_of(tmp_path, elbow, **options)) == [f"nudge: {problem}; {reason}"]


@pytest.mark.parametrize(
    ("elbow", "options"),
    [
        (ramp(1.1 * AWAY), {}),
        (bump(0.8, 2.0), {}),
        (bump(0.8, 0.5), {"tolerances": {"path": 0.2}}),
        (ramp(0.4 * AWAY), {"tolerances": {"goal": 0.01}}),
        (ramp(0.4 * AWAY), {"allow_stalling": True}),
        (ramp(0.001), {}),
        (ramp(0.0), {}),
    ],
)
def test_joints_that_would_be_found_are_not_named(
    tmp_path: Path, elbow: NDArray[np.float64], options: dict[str, Any]
) -> None:
    assert warnings_of(rig_of(tmp_path, elbow, **options)) == []
