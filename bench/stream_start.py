"""How soon a further robot's stream process is ready and what memory it takes, beside a new interpreter's."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import time
from pathlib import Path

from motiond.daemon.ipc.messages import Ready
from motiond.daemon.ipc.stream_forks import StreamForks
from motiond.daemon.robots.process.stream_process import StreamProcess
from tests.daemon.stream.test_loop import setup_of

ROBOTS, INTERPRETERS = 20, 5
IDLE_HZ = 200.0
SETTLE_S = 3.0
GOAL_MS, GOAL_MB = 150, 12
INTERPRETER = "import time, numpy; print(flush=True); time.sleep(600)"


def main() -> None:
    """Print times and memory."""
    ready_s, own_mb, server_mb = asyncio.run(_measure())
    begins_s, alone_mb = _interpreter()
    print(f"{ROBOTS} stream processes, one after the other; proportional share of memory (PSS) of each")
    print(f"{'':30}{'ms p50':>10}{'worst':>10}{'MB p50':>10}{'most':>10}")
    for name, times, memory in (
        ("a further stream process", ready_s[1:], own_mb[1:]),
        ("the first, with fork server", ready_s[:1], [own_mb[0] + server_mb]),
        ("an interpreter with numpy", begins_s, [alone_mb]),
    ):
        cells = (1e3 * statistics.median(times), 1e3 * max(times), statistics.median(memory), max(memory))
        print(f"{name:30}{cells[0]:10.0f}{cells[1]:10.0f}{cells[2]:10.1f}{cells[3]:10.1f}")
    print(f"goal of a further one: at most {GOAL_MS} ms and {GOAL_MB} MB")


async def _measure() -> tuple[list[float], list[float], float]:
    """Return how long each process took until it was ready, and what each and the fork server hold in MB."""
    processes: list[StreamProcess] = []
    ready_s = []
    setup = setup_of(lock_memory=True, priority=50, idle_rate_hz=IDLE_HZ)
    with StreamForks() as forks:
        for _ in range(ROBOTS):
            begun_s = time.monotonic()
            processes.append(StreamProcess(forks, setup))
            notice = await processes[-1].notice()
            assert isinstance(notice, Ready), notice
            ready_s.append(time.monotonic() - begun_s)
        await asyncio.sleep(SETTLE_S)
        own_mb = [_share_mb(process.pid) for process in processes]
        server_mb = _share_mb(forks.pid)
        for process in processes:
            await process.close(SETTLE_S)
            process.telemetry.close()
    return ready_s, own_mb, server_mb


def _interpreter() -> tuple[list[float], float]:
    """Return how long interpreters take to load numpy, and what one holds in MB beside another."""
    begins_s, running = [], []
    try:
        for _ in range(INTERPRETERS):
            begun_s = time.monotonic()
            running.append(subprocess.Popen([sys.executable, "-c", INTERPRETER], stdout=subprocess.PIPE))
            assert running[-1].stdout is not None
            running[-1].stdout.readline()
            begins_s.append(time.monotonic() - begun_s)
        return begins_s[1:], _share_mb(running[-1].pid)  # the first reads from the disk
    finally:
        for process in running:
            process.kill()
            process.communicate()


def _share_mb(pid: int | None) -> float:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1000
    raise RuntimeError(f"process {pid} has no share of memory")
