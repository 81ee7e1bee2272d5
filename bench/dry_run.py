"""How many times faster than real time a dry run plays, for 30 joints at 500 Hz with default options."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from motiond.daemon.api.schemas import PlayRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.dry_run import run_dry
from tests.daemon.rig import Rig, sweep, write_seq

if TYPE_CHECKING:
    from motiond.daemon.tools.dry_run import DryRun

GOAL = 50
JOINTS, RATE_HZ, LASTS_S = 30, 500, 20.0
TRIES = 3


def main() -> None:
    """Print the best of some dry runs, with and without a trace."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # a benchmark leaves nothing in the user's cache
        rig = _rig(Path(folder))
        print(f"dry run of {JOINTS} joints at {RATE_HZ} Hz, the best of {TRIES}")
        for traced in (False, True):
            best = min((_play(rig, traced=traced) for _ in range(TRIES)), key=lambda run: run.took_s)
            faster = best.lasted_s / best.took_s
            tick_us = 1e6 * best.took_s / best.result["timing"]["ticks"]
            verdict = "met" if faster >= GOAL else "MISSED"
            print(
                f"  {'with' if traced else 'without'} a trace: {best.lasted_s:.1f} s in {best.took_s:.2f} s,"
            )
            print(f"    {tick_us:.0f} µs a tick, {faster:.0f} times faster than real time")
            print(f"    goal at least {GOAL}: {verdict}")


def _rig(folder: Path) -> Rig:
    rig = Rig(folder)
    names = tuple(f"joint{number}" for number in range(JOINTS))
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 10.0}
    rig.robot["joints"] = {name: {"limits": limits} for name in names}
    rig.robot["driver"] = {"type": "sim"}
    for path in (folder / "motions").iterdir():
        path.unlink()
    rows = sweep(LASTS_S, RATE_HZ, JOINTS, swings=10)
    write_seq(folder / "motions" / "swing.seq", rows, names, RATE_HZ)
    return rig


def _play(rig: Rig, *, traced: bool) -> DryRun:
    dry_run = run_dry(load_settings(rig.config), "arm", PlayRequest(motion="swing"), traced=traced)
    assert dry_run.result["code"] == "SUCCESSFUL"
    return dry_run


if __name__ == "__main__":
    main()
