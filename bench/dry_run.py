"""How many times faster than real time a dry run plays, for 30 joints at 500 Hz with default options."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from bench.programs import MOTIOND, medians, run
from motiond.daemon.api import PlayRequest
from motiond.daemon.config.settings import load_settings
from motiond.daemon.tools.dry_run import run_dry
from tests.daemon.rig import Rig, sweep, write_seq

if TYPE_CHECKING:
    from motiond.daemon.tools.dry_run import DryRun

GOAL = 50
JOINTS, RATE_HZ, LASTS_S = 30, 500, 20.0
TRIES = 5


def main() -> None:
    """Print dry runs in this process, with and without a trace, and one as a user runs it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder  # a benchmark leaves nothing in the user's cache
        rig = _rig(Path(folder))
        print(f"dry run of {JOINTS} joints at {RATE_HZ} Hz, the median of {TRIES}")
        for traced in (False, True):
            tries = [_play(rig, traced=traced) for _ in range(TRIES)]
            took_s, lasted_s = median(one.took_s for one in tries), tries[0].lasted_s
            faster = lasted_s / took_s
            tick_us = 1e6 * took_s / tries[0].result["timing"]["ticks"]
            verdict = "met" if faster >= GOAL else "MISSED"
            print(f"  {'with' if traced else 'without'} a trace: {lasted_s:.1f} s in {took_s:.2f} s,")
            print(f"    {tick_us:.0f} µs a tick, {faster:.0f} times faster than real time")
            print(f"    goal at least {GOAL}: {verdict}")
        command = [MOTIOND, "play", "arm", "swing", "--dry-run", "-c", rig.config]
        run(command)  # compiles
        whole = medians([run(command) for _ in range(TRIES)])
        print(f"  `motiond play --dry-run`, from its start to its end: {whole.wall_s:.2f} s", end="")
        print(f", {whole.processor_s:.2f} s of processor time")


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
