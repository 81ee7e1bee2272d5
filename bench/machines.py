"""Daemons with robots of one group on a cluster of brokers, as so many machines would have them."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
import yaml

from bench.programs import begun
from motiond.client import NoAnswer
from motiond.daemon.fleet.coordinator import conversing
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import write_seq
from tests.waiting import PATIENCE_S, still_running

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from motiond.daemon.config.mqtt import MqttSettings
    from motiond.drivers.base import Floats

GROUP, MOTION = "choir", "nudge"
DRIVER = {"type": "sim", "command_lifetime_s": 20.0}
"""Its actuators hold where a busy machine leaves the stream without processor time for seconds."""
RATE_HZ, JOINTS = 100, ("shoulder", "elbow")
FIRST, LAST, ROWS = 0.1, 0.101, 31
"""The motion goes from the first place to the last one, so that a trace tells when its first row was left."""


class Machine:
    """One daemon.

    Parameters
    ----------
    number : int
        Of the machine, from 0.
    folder : Path
        Its own.
    robots : int
        How many it has.
    brokers : sequence of str
        URLs, in the order in which it tries them.
    rows : int
        Of the motion.

    Attributes
    ----------
    killed_s : float
        When it was killed last, in monotonic s.
    """

    def __init__(
        self, number: int, folder: Path, robots: int, brokers: Sequence[str], rows: int = ROWS
    ) -> None:
        self.name = f"machine{number}"
        self.robots = tuple(f"robot{number}x{one}" for one in range(robots))
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.killed_s = -math.inf
        (folder / "motions").mkdir(parents=True)
        positions = np.repeat(np.linspace(FIRST, LAST, rows)[:, None], len(JOINTS), axis=1)
        write_seq(folder / "motions" / f"{MOTION}.seq", positions, JOINTS, RATE_HZ)
        limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0}
        common: dict[str, Any] = {
            "joints": {joint: {"limits": limits} for joint in JOINTS},
            "motions": ["motions"],
            "approach": {"velocity": 2.0, "acceleration": 10.0, "jerk": 100.0},
            "groups": [GROUP],
            "idle_rate_hz": 20,
            "on_late": "stretch",
            "max_lateness_s": 10.0,
            "stream_timeout_s": 20.0,
            "daemon_timeout_s": 10.0,
        }
        robots_of = {name: common | {"driver": DRIVER | {"trace": f"{name}.npy"}} for name in self.robots}
        mqtt = {
            "broker": list(brokers),
            "protocol": "3.1.1",
            "reconnect_min_s": 0.05,
            "reconnect_max_s": 0.5,
            "telemetry_hz": 0,
        }
        config = {"id": self.name, "http": None, "mqtt": mqtt, "robots": robots_of}
        (folder / "motiond.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the daemon, unless it runs."""
        if self._process is None or self._process.poll() is not None:
            with (self._folder / "log").open("ab") as log:
                self._process = begun(
                    "run", "-c", self._folder / "motiond.yaml", stderr=log, folder=self._folder
                )

    def kill(self) -> None:
        """End the daemon by SIGKILL, and wait until its streams have ended too."""
        if self._process is not None and self._process.poll() is None:
            below = psutil.Process(self._process.pid).children(recursive=True)
            self.killed_s = time.monotonic()
            self._process.kill()
            self._process.wait()
            still_running(below)

    def first_rows(self, robot: str) -> Floats:
        """Return when a robot left the first row, every time, in monotonic s."""
        rows = read_trace(self._folder / f"{robot}.npy")
        at = rows["position"][:, 0]
        leaves = (at[:-1] == FIRST) & (at[1:] > FIRST)
        times: Floats = rows["time"][:-1][leaves]
        return times


@contextmanager
def machines(
    folder: Path, count: int, robots: int, brokers: Sequence[str], rows: int = ROWS
) -> Iterator[list[Machine]]:
    """Run machines, each with another broker at first; whatever happens, all have ended afterwards."""
    made = []
    for number in range(count):
        order = [*brokers[number % len(brokers) :], *brokers[: number % len(brokers)]]
        made.append(Machine(number, folder / f"machine{number}", robots, order, rows))
    try:
        for machine in made:
            machine.start()
        yield made
    finally:
        for machine in made:
            machine.kill()


async def until_online(settings: MqttSettings, robots: list[str]) -> None:
    """Wait until all robots are known, and they and their daemons are online."""
    deadline_s = time.monotonic() + PATIENCE_S
    absent = dict.fromkeys(robots, "not heard of")
    while absent and time.monotonic() < deadline_s:
        try:
            async with conversing(settings) as conversation:
                await conversation.look_around("description", "availability")
                roster = conversation.roster
        except NoAnswer:  # none has come yet, or nodes elect
            continue
        members = roster.members(GROUP)
        known = {robot: roster.absence(robot) if robot in members else "not heard of" for robot in robots}
        absent = {robot: reason for robot, reason in known.items() if reason}
    if absent:
        raise TimeoutError(f"not online in {PATIENCE_S:g} s: {absent}")
