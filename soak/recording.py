"""Kills daemons that record: `python -m soak.recording [--rounds N] [--first SEED]`.

Each round a daemon with a simulated robot records all that it does (`when: always`), and is killed (SIGKILL)
at a random moment of the first seconds. The next daemon repairs what was left. Of each file: all but the last
second and a half has to be in it, without a gap, and it has to open; a file may be gone only if it was no
older than that.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import numpy as np
from mcap.exceptions import McapError
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from bench.http import ask, until_idle
from bench.programs import running_daemon
from bench.rig import recorded_robot
from motiond.formats.model.timing import NS
from tests.daemon.programs import all_of
from tests.daemon.rig import RATE_HZ, Rig, sweep
from tests.waiting import eventually, still_running

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 100
LONGEST_S = 5.0
MAY_BE_LOST_S = 1.5
JOINTS = 6


class Killed(NamedTuple):
    """What a daemon was writing when it was killed, and when that file had begun and the daemon ended."""

    part: Path
    began_s: float
    ended_s: float


async def kill_at(rig: Rig, url: str, after_s: float) -> Killed:
    """Let a daemon record and play, and kill it."""
    folder = rig.folder / "recordings"
    left = _parts(folder)
    with running_daemon(rig.config) as daemon:
        begun = await asyncio.to_thread(eventually, "a recording", lambda: _parts(folder) - left, bool)
        began_s = time.time()
        playing = asyncio.create_task(_play(url))
        await asyncio.sleep(after_s)
        processes = all_of(daemon)
        daemon.kill()
        ended_s = time.time()
        daemon.wait()
        playing.cancel()
        await asyncio.to_thread(still_running, processes)
    return Killed(begun.pop(), began_s, ended_s)


def _parts(folder: Path) -> set[Path]:
    return set(folder.glob("*.part"))


async def _play(url: str) -> None:
    async with aiohttp.ClientSession(url) as session:
        await until_idle(session)
        await ask(session, "play", {"motion": "swing", "loop": "forever", "ping_pong": True})


def judged(killed: Killed) -> Iterator[str]:
    """Return what is wrong with what became of a file; nothing where all is as it should be."""
    path = killed.part.with_suffix("")
    if killed.part.exists():
        yield "it was not repaired"
    elif not path.exists():
        if (age_s := killed.ended_s - killed.began_s) > MAY_BE_LOST_S:
            yield f"nothing is left of {age_s:.2f} s"
    else:
        try:
            yield from _wrong_in(path, killed.ended_s)
        except (McapError, ValueError, KeyError) as error:
            yield f"it does not open: {error!r}"


def _wrong_in(path: Path, ended_s: float) -> Iterator[str]:
    numbers: dict[str, list[int]] = {"/reference": [], "/joint_states": []}
    last_ns = 0
    with path.open("rb") as stream:
        reader: Any = make_reader(stream, validate_crcs=True)
        for _, channel, message in reader.iter_messages([*numbers], log_time_order=False):
            numbers[channel.topic].append(message.sequence)
            last_ns = max(last_ns, message.log_time)
        if (
            "repaired"
            not in {one.name: one.metadata for one in reader.iter_metadata()}["motiond-end"]["reason"]
        ):
            yield "it does not say that it was repaired"
    with AnyReader([path]) as others:
        if sum(1 for one in others.messages() if one[0].topic == "/reference") != len(numbers["/reference"]):
            yield "rosbags reads something else"
    if numbers["/reference"] != numbers["/joint_states"] or (np.diff(numbers["/reference"]) != 1).any():
        yield "ticks are missing in between"
    if (lost_s := ended_s - last_ns / NS) > MAY_BE_LOST_S:
        yield f"{lost_s:.2f} s are lost"
    print(f"  {len(numbers['/reference'])} ticks, {lost_s:.2f} s lost", flush=True)


async def kill_all(folder: Path, rounds: int, first: int) -> int:
    """Kill so many daemons; return how many files had findings."""
    os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = str(folder)  # nothing is left behind
    swings = sweep(20.0, RATE_HZ, JOINTS, swings=10)
    rig, url = recorded_robot(folder, swings, RATE_HZ, when="always")
    failed = 0
    killed: Killed | None = None
    for number in range(first, first + rounds + 1):
        before, after_s = killed, random.Random(number).uniform(0.0, LONGEST_S)
        killed = await kill_at(rig, url, after_s if number < first + rounds else LONGEST_S)
        if before is None:
            continue
        print(f"round {number - 1}: killed after {before.ended_s - before.began_s:.2f} s", flush=True)
        if findings := [*judged(before)]:
            failed += 1
            print(f"  {before.part.name}: {'; '.join(findings)}", flush=True)
    return failed


def main() -> int:
    """Kill the daemons that are asked for; 1 if anything was found."""
    parser = argparse.ArgumentParser(prog="python -m soak.recording", description="Kill what records.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        failed = asyncio.run(kill_all(Path(folder), asked.rounds, asked.first))
    print(f"{asked.rounds} rounds from {asked.first}, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
