"""How long a stop takes on real time, from random moments, beside the bound that its answer gives."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path

import numpy as np

from bench.many_robots import Layout, running
from motiond.daemon.api import StopRequest
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import sweep

STOPS, RATE_HZ, JOINTS = 20, 500, 6
LATEST_S = 1.5
HANDOVER_S = 0.02
"""From the request to the tick that takes it: far more than a tick, far less than a stop."""


def main() -> None:
    """Stop a robot that plays to and fro, again and again, and hold the trace against each bound."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.npy"
        stops = asyncio.run(_stop_often(Path(folder), trace))
        times, positions = (read_trace(trace)[name] for name in ("time", "position"))
    moved_s = times[1:][np.abs(np.diff(positions, axis=0)).max(axis=1) > 0.0]
    took = [float(moved_s[moved_s < until_s].max(initial=asked_s)) - asked_s for asked_s, until_s, _ in stops]
    shares = [s / (bound_s + HANDOVER_S) for s, (_, _, bound_s) in zip(took, stops, strict=True)]
    print(f"{STOPS} stops of {JOINTS} joints at {RATE_HZ} Hz, from random moments of approach and motion")
    print(f"took p50 {1e3 * np.median(took):.0f} ms, max {1e3 * max(took):.0f} ms")
    print(f"bound {1e3 * min(stops)[2]:.0f} to {1e3 * max(stop[2] for stop in stops):.0f} ms")
    verdict = "met" if max(shares) <= 1.0 else "MISSED"
    print(f"greatest share of its bound: {max(shares):.2f} (goal: at most 1): {verdict}")


async def _stop_often(folder: Path, trace: Path) -> list[tuple[float, float, float]]:
    """Give, for each stop, when it was asked for, when it was over for sure, and its bound, in s."""
    motions = {"swing": (sweep(4.0, RATE_HZ, JOINTS, swings=4), float(RATE_HZ))}
    layout = Layout(("arm",), JOINTS, motions, {"type": "sim", "trace": str(trace)})
    stops = []
    async with running(folder, layout) as fleet:
        for _ in range(STOPS):
            await fleet.play("arm", "swing", loop="forever", ping_pong=True)
            await asyncio.sleep(random.uniform(0.05, LATEST_S))
            asked_s = time.monotonic()
            answer = await fleet.registry.handle("arm", "stop", StopRequest())
            await fleet.rest("arm")
            await asyncio.sleep(0.1)
            stops.append((asked_s, time.monotonic(), answer["stops_within_s"]))
    return stops


if __name__ == "__main__":
    main()
