"""What following targets costs, how far it lags, and whether its setpoints are on time.

Beside a tick that follows stand one that plays and ruckig alone, asked for the next setpoint in the same way.
Beside the lag stands that of ruckig alone, with the same limits and the same targets. Beside the missed
deadlines of 30 joints stand cyclictest's.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ruckig import OutputParameter, Ruckig

from bench import cyclictest
from bench.many_robots import Layout, running
from bench.null_driver import NAME
from bench.tick import holding, measure, time_us
from motiond.daemon.api import VERBS
from motiond.daemon.ipc import messages
from motiond.daemon.ipc.messages import MOST_ROWS, MOST_VALUES, OFF
from motiond.daemon.stream.engine.pursuit import FollowLimits
from motiond.daemon.stream.timing import realtime

if TYPE_CHECKING:
    from collections.abc import Callable

    from ruckig import InputParameter

    from motiond.daemon.telemetry import Timing
    from motiond.daemon.trajectory import OnlineLimits
    from motiond.drivers.base import Floats

SECONDS = 30
RATE_HZ = 500
TARGETS_HZ, CHUNKS_HZ = 50, 10
CHUNK_ROWS, ROW_S = 50, 0.02
TICKS = 5_000
CHUNKS = (
    ("targets", 0, 0.0),
    ("chunks", CHUNK_ROWS, 0.0),
    ("rough chunks", CHUNK_ROWS, 0.05),
    ("long rough chunks", MOST_ROWS, 0.05),
)
"""What is followed: the rows of a chunk, as far as it may have so many, and how far they are off, in rad."""
JOINTS = (6, 30)
SINE_HZ = 1.0
VELOCITY = 1.0
"""The limit of each joint of the loop; half of it is the sine's."""
SIZE = VELOCITY / 2.0 / (2.0 * np.pi * SINE_HZ)
GOAL_ID = "follow"


def main(seconds: float = SECONDS) -> None:
    """Print all three."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        paces = f"targets at {TARGETS_HZ} Hz of {RATE_HZ}, chunks at {CHUNKS_HZ} Hz"
        print(f"a tick in µs, on virtual time; {paces}")
        for joints in JOINTS:
            print_us("plays", joints, pool.apply(measure, (joints, NAME, 1.0))[0])
            for name, rows, noise in CHUNKS:
                spent_us = pool.apply(follow_us, (joints, name, rows, noise))
                print_us(f"follows {name}", joints, spent_us)
                if rows:
                    print_us("  that take one", joints, spent_us[:: RATE_HZ // CHUNKS_HZ])
                    print_us("  that begin it", joints, spent_us[1 :: RATE_HZ // CHUNKS_HZ])
            print_us("ruckig alone", joints, pool.apply(ruckig_us, (joints,)))
        print(f"lag behind a sine of {SINE_HZ:g} Hz at half the velocity limit, at most")
        alone = pool.apply(ruckig_lag)
        for name, lag in (
            ("targets", pool.apply(lag_of, ("targets",))),
            ("ruckig alone", alone),
            ("targets that move on", pool.apply(lag_of, ("moving targets",))),
            ("chunks", pool.apply(lag_of, ("chunks",))),
        ):
            lag_ms = 1e3 * lag / (VELOCITY / 2.0)
            print(f"{name:22}{lag:10.5f} rad{lag_ms:8.1f} ms{lag / alone:8.2f} of ruckig's")
    if cyclictest.is_there():
        print_punctuality(seconds, Layout(("arm",), JOINTS[-1], {}))


def print_us(name: str, joints: int, spent_us: Floats) -> None:
    """Print what ticks cost."""
    p50, p99 = np.quantile(spent_us, [0.5, 0.99])
    print(f"{joints:6} joints {name:25}{p50:8.1f} p50{p99:8.1f} p99")


# -- on virtual time -----------------------------------------------------------------------------------------


def swing(times: Floats, joints: int) -> tuple[Floats, Floats]:
    """Return where a sine is that grows within a second, and how fast, each of shape (times, joints)."""
    turn = 2.0 * np.pi * SINE_HZ
    growth = np.clip(times, 0.0, 1.0)
    places = SIZE * growth * np.sin(turn * times)
    speeds = SIZE * turn * growth * np.cos(turn * times)
    return np.repeat(places[:, None], joints, axis=1), np.repeat(speeds[:, None], joints, axis=1)


def _follow(joints: int) -> messages.Follow:
    return messages.Follow(
        goal_id=GOAL_ID,
        joints=list(range(joints)),
        mode="position",
        rate_hz=RATE_HZ,
        timeout_s=1.0,
        path_tolerance=[OFF] * joints,
        start=[0.0] * joints,
    )


def _target_at(
    tick: int, limits: OnlineLimits, name: str, rows: int = CHUNK_ROWS, noise: float = 0.0
) -> messages.Command | None:
    """Return what is sent before a tick, by what is followed."""
    now_s, joints = tick / RATE_HZ, len(limits.lower)
    if name.endswith("chunks"):
        if tick % (RATE_HZ // CHUNKS_HZ):
            return None
        times = ROW_S * np.arange(min(rows, MOST_VALUES // joints))
        places = swing(now_s + times, joints)[0]
        places += noise * np.random.default_rng(tick).normal(size=places.shape)
        curve, clipped = limits.path(times, places)
        return messages.Chunk(GOAL_ID, None, None, time.time(), clipped, curve.as_bytes())
    if tick % (RATE_HZ // TARGETS_HZ):
        return None
    places, speeds = (values[0].tolist() for values in swing(np.array([now_s]), joints))
    return messages.Target(GOAL_ID, places, speeds if name == "moving targets" else None, None, time.time())


def follow_us(
    joints: int, name: str, rows: int, noise: float, collision: messages.CollisionSetup | None = None
) -> Floats:
    """Return what each tick that follows costs in µs, what is sent to it included; shape (ticks,)."""
    realtime.prepare(None, None, lock_memory=True)
    spent_us = np.empty(TICKS)
    names = [one[0] for one in collision.joints] if collision is not None else []
    with holding(joints, NAME, names=names, collision=collision) as (loop, channel):
        channel.send(_follow(joints), number=1)
        limits = FollowLimits(loop.setup, loop.driver.limits).own
        loop.step()
        for tick in range(TICKS):
            if (message := _target_at(tick, limits, name, rows, noise)) is not None:
                channel.send(message)
            spent_us[tick] = time_us(loop.step)
        if loop.player.state != "following":
            raise RuntimeError(f"follow_setpoints: the robot is {loop.player.state}, so not all was measured")
    return spent_us


def lag_of(name: str) -> float:
    """Return how far setpoints are from the sine at most, in rad, from the third swing on."""
    most = 0.0
    with holding(1, NAME) as (loop, channel):
        channel.send(_follow(1), number=1)
        limits = FollowLimits(loop.setup, loop.driver.limits).own
        loop.step()
        for tick in range(TICKS):
            if (message := _target_at(tick, limits, name)) is not None:
                channel.send(message)
            loop.step()
            most = max(most, _off(tick, loop.player.position))
    return most


def _off(tick: int, position: Floats) -> float:
    """Return how far a joint is from the sine, in rad; 0 before the third swing."""
    now_s = tick / RATE_HZ
    return float(np.abs(swing(np.array([now_s]), 1)[0][0] - position).max()) if now_s * SINE_HZ > 2.0 else 0.0


def _ruckig(joints: int) -> tuple[InputParameter, Callable[[], Floats]]:
    """Return the input of a ruckig with the loop's limits, and what makes it take a step."""
    with holding(joints, NAME) as (loop, _):
        limits = FollowLimits(loop.setup, loop.driver.limits).own
    ruckig, wanted, after = Ruckig(joints, 1.0 / RATE_HZ), limits.ruckig_input(), OutputParameter(joints)

    def step() -> Floats:
        ruckig.update(wanted, after)
        after.pass_to_input(wanted)
        return np.array(after.new_position)

    return wanted, step


def ruckig_us(joints: int) -> Floats:
    """Return what each step of ruckig alone costs in µs, shape (ticks,)."""
    wanted, step = _ruckig(joints)
    spent_us = np.empty(TICKS)
    for tick in range(TICKS):
        if tick % (RATE_HZ // TARGETS_HZ) == 0:
            wanted.target_position = swing(np.array([tick / RATE_HZ]), joints)[0][0].tolist()
        spent_us[tick] = time_us(step)
    return spent_us


def ruckig_lag() -> float:
    """Return how far ruckig alone is from the sine at most, in rad, from the third swing on."""
    wanted, step = _ruckig(1)
    most = 0.0
    for tick in range(TICKS):
        if tick % (RATE_HZ // TARGETS_HZ) == 0:
            wanted.target_position = swing(np.array([tick / RATE_HZ]), 1)[0][0].tolist()
        most = max(most, _off(tick, step()))
    return most


# -- on real time --------------------------------------------------------------------------------------------


def print_punctuality(seconds: float, layout: Layout) -> None:
    """Print how late ticks come that follow, and cyclictest's beside them."""
    joints = layout.joints
    timing, theirs, sent = asyncio.run(_measure(layout, seconds))
    period_s = 1.0 / RATE_HZ
    late_us = [1e6 * timing.lateness.quantile_s(share) for share in (0.5, 0.99)]
    print(f"{joints} joints follow {sent} targets at {RATE_HZ} Hz for {seconds:g} s; lateness in µs")
    print(f"motiond     {late_us[0]:8.0f} p50{late_us[1]:8.0f} p99{1e6 * timing.lateness.max_s:8.0f} max")
    row = theirs.quantile_us(0.5), theirs.quantile_us(0.99), theirs.max_us
    print(f"cyclictest  {row[0]:8.0f} p50{row[1]:8.0f} p99{row[2]:8.0f} max")
    print(f"missed deadlines: {timing.missed} of {timing.ticks} ticks; cyclictest {theirs.missed(period_s)}")


async def _measure(layout: Layout, seconds: float) -> tuple[Timing, cyclictest.Latencies, int]:
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder), layout) as fleet:
            ask = partial(fleet.registry.handle, "arm")
            start = VERBS["follow/start"].request.model_validate({"rate_hz": RATE_HZ, "timeout_s": 2.0})
            goal_id = (await ask("follow/start", start))["goal_id"]
            sent = 0

            async def send() -> None:
                nonlocal sent
                begun_s = time.monotonic()
                while True:
                    places = swing(np.array([time.monotonic() - begun_s]), layout.joints)[0][0].tolist()
                    target = {"goal_id": goal_id, "positions": places}
                    await ask("follow/target", VERBS["follow/target"].request.model_validate(target))
                    sent += 1
                    await asyncio.sleep(begun_s + sent / TARGETS_HZ - time.monotonic())

            observer = fleet.robots["arm"].stream.observer
            assert observer is not None
            sending = asyncio.create_task(send(), name="follow_setpoints.send")
            await asyncio.sleep(1.0)
            observer.take()
            observer.start_goal()
            theirs = await cyclictest.measure(seconds, RATE_HZ)
            observer.take()
            timing = observer.goal
            sending.cancel()
            await asyncio.wait([sending])
    return timing, theirs, sent
