"""What commands cost and how soon a daemon has its robot, beside `python -c pass`, which Python itself takes.

A daemon with a broker of its own and the six-axis arm of the demonstration answers, and is started.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil
import yaml

from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.mqtt.connection import address_of
from tests.daemon.launched import MOTIOND
from tests.daemon.programs import background
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually, lines_until

if TYPE_CHECKING:
    from motiond.daemon.config.mqtt import MqttSettings

RUNS, STARTS = 9, 5
DAEMON = "daemon, robot idle"
GOALS_MS = {"motiond --help": 150, "motiond status": 350, DAEMON: 600}
CONFIG = Path(__file__).parents[1] / "config"


def main() -> None:
    """Print the times of some commands, and of a daemon until its robot is idle."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = name  # a benchmark leaves nothing in the user's cache
        config = _configuration(Path(name))
        mqtt = load_mqtt_settings(config)
        with background("run", "-c", config, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            eventually("the robot is idle", lambda: _state(mqtt), lambda state: state == "idle")
            broker = ("--broker", str(address_of(mqtt)))
            commands: dict[str, tuple[str, ...]] = {
                "python -c pass": (sys.executable, "-c", "pass"),
                "motiond --help": (str(MOTIOND), "--help"),
                "motiond status": (str(MOTIOND), "status", *broker),
                "motiond stop arm": (str(MOTIOND), "stop", "arm", *broker),
            }
            times = _measure(commands)
        starts = [_start(config) for _ in range(1 + STARTS)][1:]  # the first one fills the cache of motions
        _print(times | {DAEMON: (median(cpu for cpu, _ in starts), median(wall for _, wall in starts))})


def _configuration(folder: Path) -> Path:
    """Write the demonstration's configuration, with a port that is free."""
    settings = yaml.safe_load((CONFIG / "demo.yaml").read_text())
    settings["mqtt"] = {"broker": "embedded", "listen": f"127.0.0.1:{free_port()}"}
    settings["http"] = {"listen": f"127.0.0.1:{free_port()}"}
    arm = settings["robots"]["arm"]
    arm |= {"model": str(CONFIG / arm["model"]), "motions": [str(CONFIG / path) for path in arm["motions"]]}
    path = folder / "motiond.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def _state(mqtt: MqttSettings) -> Any:
    try:
        return asyncio.run(ask(mqtt, "arm", "status"))["state"]
    except NoAnswer as error:
        return error


def _measure(commands: dict[str, tuple[str, ...]]) -> dict[str, tuple[float, float]]:
    """Return the medians of each command's processor time and wall time, in s, over runs in turn."""
    for command in commands.values():
        _run(command)  # the first one compiles what is new, and reads all from the disk
    rounds = [[_run(command) for command in commands.values()] for _ in range(RUNS)]
    each = zip(commands, zip(*rounds, strict=True), strict=True)
    return {name: (median(cpu for cpu, _ in runs), median(wall for _, wall in runs)) for name, runs in each}


def _run(command: tuple[str, ...]) -> tuple[float, float]:
    """Run a command to its end, and give its processor time and wall time in s."""
    used_s, started_s = _used_by_children_s(), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, timeout=PATIENCE_S, check=True)
    return _used_by_children_s() - used_s, time.perf_counter() - started_s


def _start(config: Path) -> tuple[float, float]:
    """Start a daemon, and give the processor time and the wall time until its robot is idle, in s."""
    started_s = time.perf_counter()
    with background("run", "-c", config, stdout=subprocess.DEVNULL) as daemon:
        lines_until(daemon.stderr, "arm: online")
        wall_s = time.perf_counter() - started_s
        own = psutil.Process(daemon.pid)
        used = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return sum(one.user + one.system for one in used), wall_s


def _used_by_children_s() -> float:
    """Return the processor time of the processes that have ended, which the daemon has not."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _print(times: dict[str, tuple[float, float]]) -> None:
    print(f"the median of {RUNS} runs, in turn, and of {STARTS} starts; in brackets, times `python -c pass`")
    print(f"{'':18}{'processor ms':>20}{'wall ms':>20}{'goal ms':>10}")
    yardsticks = times["python -c pass"]
    for name, measured in times.items():
        cells = [
            f"{1e3 * one_s:.0f} ({one_s / yardstick_s:.1f})"
            for one_s, yardstick_s in zip(measured, yardsticks, strict=True)
        ]
        goal = f"{GOALS_MS.get(name, ''):>10}"
        print(f"{name:18}" + "".join(f"{cell:>20}" for cell in cells) + goal)


if __name__ == "__main__":
    main()
