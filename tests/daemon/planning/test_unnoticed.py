"""Motions of joints that could stand still without anybody noticing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.check import check_motions
from tests.daemon.rig import Rig, write_seq
from tests.tables import table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

RATE_HZ = 100


def bump(height: float, duration_s: float) -> NDArray[np.float64]:
    """To and fro."""
    return np.asarray(height * np.sin(np.pi * np.linspace(0, 1, round(duration_s * RATE_HZ) + 1)) ** 2)


def ramp(height: float, duration_s: float) -> NDArray[np.float64]:
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


@table("motion, options, travel")
def test_check_names_joints_that_could_stand_still_and_no_others(
    tmp_path: Path, motion: tuple[str, float, float], options: dict[str, Any], travel: str
) -> None:
    problem = f"no check would find out if these joints stood still: elbow ({travel} rad)"
    reason = "they move so little, or so briefly; lower `joints.NAME.tolerances`, or set their `path`"
    shape, height, duration_s = motion
    elbow = {"ramp": ramp, "bump": bump}[shape](height, duration_s)
    told = [f"nudge: {problem}; {reason}"] if travel else []
    assert warnings_of(rig_of(tmp_path, elbow, **options)) == told
