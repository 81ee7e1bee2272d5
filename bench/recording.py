"""What recording costs, of 30 joints at 1 kHz: processor time, bytes a tick, memory, missed deadlines.

First the writer alone, on ticks that are at hand. Then a daemon and its stream process, which plays to and
fro: for a while without, then with a recording, then without again. What the daemon takes more is what
recording costs, all of it: reading the ring, packing, compressing, writing. Beside all that runs cyclictest.
At the end every tick has to be in the file.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import aiohttp
import numpy as np
import orjson
import psutil
from mcap.reader import make_reader

from bench import cyclictest
from bench.http import ask, share_of, until_idle
from bench.programs import running_daemon
from bench.rig import recorded_robot
from motiond.daemon.ipc.ring import slices
from motiond.daemon.recording import RecordingWriter
from soak.service import held_bytes
from tests.daemon.recording.recordings import about, records
from tests.daemon.rig import sweep

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

SECONDS = 60.0
ALONE_S, MOST_WITHOUT_S, SETTLE_S, SAMPLE_S = 20, 60.0, 2.0, 1.0
RATE_HZ, JOINTS = 1000, 30
GOAL_SHARE = 0.03
TEXT_AT = 8  # of a String in CDR
NAMES = tuple(f"joint{number}" for number in range(JOINTS))


class Figures(NamedTuple):
    """What was measured of a daemon.

    Attributes
    ----------
    without, recording : float
        The processor time that the daemon takes of a core.
    held : list of float
        The memory that the daemon alone holds while it records, in bytes.
    file : Path
    theirs, theirs_without : int
        Deadlines that cyclictest missed, beside the recording and without.
    missed : int
        Deadlines of the whole motion, with the recording and without.
    played_s : float
        How long that was.
    """

    without: float
    recording: float
    held: list[float]
    file: Path
    theirs: int
    theirs_without: int
    missed: int
    played_s: float


class Held(NamedTuple):
    """What a file holds: the numbers of its ticks, the deadlines that were missed, and its size."""

    numbers: list[int]
    missed: int
    size: int


def main(seconds: float = SECONDS) -> None:
    """Print what the writer costs alone, and in a daemon."""
    with tempfile.TemporaryDirectory() as name:
        share, size = alone(Path(name))
    print(f"{JOINTS} joints at {RATE_HZ} Hz")
    print(f"the writer alone: {100 * share:.2f} % of a core, {size:.0f} bytes a tick")
    if not cyclictest.is_there():
        return
    with tempfile.TemporaryDirectory() as name:
        figures = asyncio.run(_measure(Path(name), seconds))
        held = _held(figures.file)
    cost = figures.recording - figures.without
    parts = f"{100 * figures.recording:.2f} %, {100 * figures.without:.2f} % without"
    print(f"a daemon that records for {seconds:g} s: {100 * cost:.2f} % of a core more ({parts})")
    print(f"  goal: at most {100 * GOAL_SHARE:g} %")
    ticks, gaps = len(held.numbers), int((np.diff(held.numbers) != 1).sum())
    print(f"  {ticks} ticks, {held.size / ticks:.0f} bytes each, {gaps} gaps (goal: none)")
    print(f"  missed deadlines: {held.missed}; cyclictest beside it: {figures.theirs} (goal: no more)")
    without_s, missed = figures.played_s - ticks / RATE_HZ, figures.missed - held.missed
    print(f"  without a recording, in {without_s:.0f} s: {missed}; cyclictest: {figures.theirs_without}")
    fifth = max(1, len(figures.held) // 5)
    early, last = (
        np.median(figures.held[part]) / 1e6 for part in (slice(fifth, 2 * fifth), slice(-fifth, None))
    )
    print(f"  memory: {early:.1f} MB after a fifth of the time, {last:.1f} MB at the end")


def alone(folder: Path, seconds: int = ALONE_S) -> tuple[float, float]:
    """Return the share of a core that a writer takes, and how many bytes it writes for a tick."""
    ticks = _ticks(seconds)
    writer = RecordingWriter(folder / "alone.mcap", about(joints=NAMES, units=("rad",) * JOINTS))
    writer.add(ticks[:RATE_HZ])
    writer.cut()  # the libraries are loaded
    before_s, size = time.process_time(), writer.size
    for second in np.array_split(ticks[RATE_HZ:], seconds - 1):
        for batch in np.array_split(second, 20):
            writer.add(batch)
        writer.cut()
    used_s = time.process_time() - before_s
    written = writer.size - size
    writer.finish("the end")
    return used_s / (seconds - 1), written / len(ticks[RATE_HZ:])


def _ticks(seconds: int) -> Floats:
    """Return the ticks of a robot that swings, with noise in what is measured."""
    ticks, parts = records(seconds * RATE_HZ, joints=JOINTS), slices(JOINTS)
    position = sweep(seconds, RATE_HZ, JOINTS, swings=seconds)[:-1]
    velocity = np.gradient(position, axis=0) * RATE_HZ
    noise = np.random.default_rng(1).normal(scale=1e-4, size=position.shape)
    for name, values in (("position", position), ("velocity", velocity), ("effort", 0.1 * position)):
        ticks[:, parts[f"reference_{name}"]] = values
        ticks[:, parts[name]] = values + noise
    return ticks


async def _measure(folder: Path, seconds: float) -> Figures:
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = str(folder)  # nothing is left behind
    rig, url = recorded_robot(folder, sweep(20.0, RATE_HZ, JOINTS, swings=10), RATE_HZ)
    without_s = min(seconds / 2, MOST_WITHOUT_S)
    with running_daemon(rig.config) as daemon:
        process = psutil.Process(daemon.pid)
        async with aiohttp.ClientSession(url) as session:
            await until_idle(session)
            await ask(session, "play", {"motion": "swing", "loop": "forever", "ping_pong": True})
            await asyncio.sleep(SETTLE_S)
            before, missed_before = await _beside_cyclictest(process, without_s)
            file = (await ask(session, "record/start", {}))["file"]
            held: list[float] = []
            sampling = asyncio.create_task(_sample(daemon.pid, held))
            recording, theirs = await _beside_cyclictest(process, seconds)
            sampling.cancel()
            await ask(session, "record/stop", {})
            after, missed_after = await _beside_cyclictest(process, without_s)
            await ask(session, "stop", {})
            await until_idle(session)
            (result,) = (await ask(session, "history", {"limit": 1}))["results"]
    return Figures(
        without=(before + after) / 2,
        recording=recording,
        held=held,
        file=folder / "recordings" / file,
        theirs=theirs,
        theirs_without=missed_before + missed_after,
        missed=result["missed_deadlines"],
        played_s=result["played_s"],
    )


async def _beside_cyclictest(process: psutil.Process, seconds: float) -> tuple[float, int]:
    """Return the processor time that a process takes of a core, and the deadlines that cyclictest misses."""
    measuring = asyncio.create_task(cyclictest.measure(seconds, RATE_HZ))
    share = await share_of(process, measuring)
    return share, measuring.result().missed(1 / RATE_HZ)


async def _sample(pid: int, held: list[float]) -> None:
    while True:
        held.append(held_bytes(pid))
        await asyncio.sleep(SAMPLE_S)


def _held(file: Path) -> Held:
    with file.open("rb") as stream:
        reader, numbers, missed = make_reader(stream), [], 0
        for _, channel, message in reader.iter_messages(
            ["/reference", "/motiond/timing"], log_time_order=False
        ):
            if channel.topic == "/reference":
                numbers.append(message.sequence)
            else:
                missed += orjson.loads(message.data[TEXT_AT:].rstrip(b"\0"))["missed"]
    return Held(numbers, missed, file.stat().st_size)


if __name__ == "__main__":
    main()
