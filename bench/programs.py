"""motiond as a user starts it: the installed script, in a process of its own, with its bytecode at hand."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO, TYPE_CHECKING, NamedTuple

import yaml

from tests.waiting import PATIENCE_S, started

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import psutil

MOTIOND = Path(sys.executable).with_name("motiond")
CONFIG = Path(__file__).parents[1] / "config"
NOT_A_USERS = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
"""Variables that a build machine may set: without bytecode, each start would compile motiond."""
LIBRARIES = "numpy, orjson, pydantic, aiohttp, aiomqtt, typer, lxml.etree, ruckig, yaml"
PASS, LIBRARIES_ALONE = "python -c pass", "python, libraries alone"
YARDSTICKS = {
    PASS: (sys.executable, "-c", "pass"),
    LIBRARIES_ALONE: (sys.executable, "-c", f"import {LIBRARIES}"),
}
"""What Python itself takes, and what it takes with the libraries that a daemon loads."""


class Taken(NamedTuple):
    """What a run took, in s."""

    processor_s: float
    wall_s: float


def user_environment() -> dict[str, str]:
    """Return the environment of a user's shell."""
    return {name: value for name, value in os.environ.items() if name not in NOT_A_USERS}


def demo_config(folder: Path, broker: str = "embedded") -> Path:
    """Write the demonstration's configuration, with ports that are free."""
    settings = yaml.safe_load((CONFIG / "demo.yaml").read_text())
    settings["mqtt"] = {"broker": broker}
    if broker == "embedded":
        settings["mqtt"]["listen"] = f"127.0.0.1:{free_port()}"
    settings["http"] = {"listen": f"127.0.0.1:{free_port()}"}
    arm = settings["robots"]["arm"]
    arm |= {"model": str(CONFIG / arm["model"]), "motions": [str(CONFIG / path) for path in arm["motions"]]}
    path = folder / "motiond.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_daemon(config: Path, stderr: int = subprocess.DEVNULL) -> Iterator[subprocess.Popen[bytes]]:
    """Run `motiond run` beside; at the end it is asked to end, and has ended."""
    command = [MOTIOND, "run", "-c", config]
    with started(command, env=user_environment(), stdin=subprocess.DEVNULL, stderr=stderr) as daemon:
        yield daemon


def begun(*arguments: object, stderr: int | IO[bytes], folder: Path) -> subprocess.Popen[bytes]:
    """Start motiond, whoever ends it; what it keeps lies in a folder."""
    own = {"STATE_DIRECTORY": str(folder), "XDG_CACHE_HOME": str(folder)}
    return subprocess.Popen(
        [str(MOTIOND), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stderr=stderr,
        env=user_environment() | own,
    )


async def ended(daemon: subprocess.Popen[bytes]) -> None:
    """Ask a daemon to end, and wait until it has: its drivers' traces are whole then."""
    daemon.terminate()
    await asyncio.to_thread(daemon.wait, PATIENCE_S)


def run(command: Sequence[object]) -> Taken:
    """Run a program to its end."""
    used_s, started_s = _used_by_children_s(), time.perf_counter()
    subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.DEVNULL,
        env=user_environment(),
        timeout=PATIENCE_S,
        check=True,
    )
    return Taken(_used_by_children_s() - used_s, time.perf_counter() - started_s)


def medians(runs: Sequence[Taken]) -> Taken:
    """Return the median processor time and the median wall time."""
    return Taken(median(one.processor_s for one in runs), median(one.wall_s for one in runs))


def used_s(process: psutil.Process) -> float:
    """Return the processor time that a running process has taken."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _used_by_children_s() -> float:
    """Return the processor time of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
