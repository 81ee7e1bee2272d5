"""How soon a daemon has its robot and its page, what that costs, and where the time goes.

`motiond run` starts as a user starts it, with the six-axis arm of the demonstration and a mosquitto.
"""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import orjson
import psutil
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion

from bench.programs import (
    LIBRARIES_ALONE,
    MOTIOND,
    YARDSTICKS,
    Taken,
    demo_config,
    free_port,
    medians,
    run,
    used_s,
    user_environment,
)
from tests.daemon.conftest import mosquitto_program
from tests.waiting import PATIENCE_S, started

if TYPE_CHECKING:
    from collections.abc import Iterator

STARTS = 15
GOAL_S = 0.6
LINES = {
    "loaded, robots begin": "arm: offline",
    "motions read": "arm: motions:",
    "in the log": "arm: online",
    "page served": "http: the page is at",
}
IDLE = "idle, by MQTT"
ORDER = ("loaded, robots begin", "motions read", IDLE, "in the log", "page served")
LARGEST = 14
_IMPORTED = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


class Start(NamedTuple):
    """One start.

    Attributes
    ----------
    at_s : dict of str to float
        When each of `ORDER` was seen, since the program was executed.
    until_idle_s, until_page_s : (float, float)
        Processor time by then, of the daemon, and of the fork server with the stream process.
    """

    at_s: dict[str, float]
    until_idle_s: tuple[float, float]
    until_page_s: tuple[float, float]


class Observer:
    """An MQTT client that notes when the arm reports that it is idle."""

    def __init__(self, port: int) -> None:
        self.idle_s: float | None = None
        self._wake_out, self._wake_in = os.pipe()
        self._client = mqtt.Client(CallbackAPIVersion.VERSION2)
        self._client.on_message = self._on_message
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._client.connect("127.0.0.1", port)
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)
        self._client.subscribe("motiond/arm/state")
        self._client.loop_start()

    @property
    def fd(self) -> int:
        """Readable once the arm has reported that it is idle."""
        return self._wake_out

    def forget(self) -> None:
        """Wait for the next start."""
        self.idle_s = None
        while select.select([self._wake_out], [], [], 0)[0]:
            os.read(self._wake_out, 1)

    def _on_message(self, _client: mqtt.Client, _data: object, message: mqtt.MQTTMessage) -> None:
        if self.idle_s is None and not message.retain and orjson.loads(message.payload)["state"] == "idle":
            self.idle_s = time.perf_counter()
            os.write(self._wake_in, b"i")


def main() -> None:
    """Print when a daemon has what, and what its start costs, beside Python and its libraries alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = (
            name  # nothing of it stays with the user
        )
        with _broker() as port:
            config = demo_config(folder, f"mqtt://127.0.0.1:{port}")
            observer = Observer(port)
            _start(config, observer)  # the first one compiles, and reads all from the disk
            for command in YARDSTICKS.values():
                run(command)
            starts: list[Start] = []
            yardsticks: dict[str, list[Taken]] = {name: [] for name in YARDSTICKS}
            for _ in range(STARTS):
                starts.append(_start(config, observer))
                for yardstick, command in YARDSTICKS.items():
                    yardsticks[yardstick].append(run(command))
            _print(starts, {name: medians(runs) for name, runs in yardsticks.items()})
            _print_imports(_imports(config, observer))


@contextmanager
def _broker() -> Iterator[int]:
    port = free_port()
    with started([mosquitto_program(), "-p", port], stderr=subprocess.DEVNULL):
        yield port


def _start(config: Path, observer: Observer) -> Start:
    """Start a daemon, and end it once the page is served."""
    observer.forget()
    started_s = time.perf_counter()
    command = [MOTIOND, "run", "-c", config]
    with started(command, stderr=subprocess.PIPE, env=user_environment()) as daemon:
        at_s, until_idle_s = _events(daemon, observer, started_s)
        return Start(at_s, until_idle_s, _used(daemon))


def _events(
    daemon: subprocess.Popen[bytes], observer: Observer, started_s: float
) -> tuple[dict[str, float], tuple[float, float]]:
    """Return when each event was seen, and the processor time that was used when the robot was idle."""
    assert daemon.stderr is not None
    lines, said = daemon.stderr.fileno(), ""
    at_s: dict[str, float] = {}
    used = (0.0, 0.0)
    waited_for = {lines, observer.fd}
    while len(at_s) < len(ORDER):
        ready, _, _ = select.select(waited_for, [], [], PATIENCE_S)
        now_s = time.perf_counter()
        assert ready, f"no start in {PATIENCE_S:g} s; there came:\n{said}"
        if lines in ready:
            came = os.read(lines, 65_536).decode()
            assert came, f"the daemon has ended; there came:\n{said}"
            said += came
            for event, line in LINES.items():
                if event not in at_s and line in said:
                    at_s[event] = now_s - started_s
        if observer.fd in ready and observer.idle_s is not None:
            at_s[IDLE] = observer.idle_s - started_s
            used = _used(daemon)
            waited_for.discard(observer.fd)
    return at_s, used


def _used(daemon: subprocess.Popen[bytes]) -> tuple[float, float]:
    own = psutil.Process(daemon.pid)
    return used_s(own), sum(used_s(one) for one in own.children(recursive=True))


def _imports(config: Path, observer: Observer) -> dict[str, float]:
    """Return how long the daemon imports each package, in ms, until it has served its page."""
    observer.forget()
    command = [sys.executable, "-X", "importtime", str(MOTIOND), "run", "-c", str(config)]
    with started(command, stderr=subprocess.PIPE, env=user_environment()) as daemon:
        assert daemon.stderr is not None
        times: dict[str, float] = defaultdict(float)
        for line in daemon.stderr:
            text = line.decode()
            if LINES["page served"] in text:
                break
            if found := _IMPORTED.match(text):
                package = found[2].split(".")
                times[".".join(package[: 3 if package[0] == "motiond" else 1])] += int(found[1]) / 1000
    return times


def _print(starts: list[Start], yardsticks: dict[str, Taken]) -> None:
    print(f"the median of {STARTS} starts, in turn with the yardsticks; load {os.getloadavg()[0]:.1f}")
    print(f"{'':28}{'wall ms':>10}{'worst':>10}{'processor ms: daemon':>24}{'streams':>10}")
    for event in ORDER:
        walls = [one.at_s[event] for one in starts]
        row = f"{event:28}{1e3 * median(walls):10.0f}{1e3 * max(walls):10.0f}"
        if event in (IDLE, "page served"):
            used = [one.until_idle_s if event == IDLE else one.until_page_s for one in starts]
            daemon_s, streams_s = median(one for one, _ in used), median(one for _, one in used)
            row += f"{1e3 * daemon_s:24.0f}{1e3 * streams_s:10.0f}"
        print(row)
    for name, taken in yardsticks.items():
        print(f"{name:28}{1e3 * taken.wall_s:10.0f}{'':10}{1e3 * taken.processor_s:24.0f}")
    idle_s = median(one.at_s[IDLE] for one in starts)
    libraries_s = yardsticks[LIBRARIES_ALONE].wall_s
    held = "held" if idle_s <= GOAL_S else "MISSED"
    print(
        f"idle after {idle_s / libraries_s:.2f} times the libraries alone; goal {1e3 * GOAL_S:.0f} ms: {held}"
    )


def _print_imports(times: dict[str, float]) -> None:
    """Print what was imported, longest first; measuring takes a part of that time."""
    print(f"its imports take {sum(times.values()):.0f} ms of these, in another run that measures them:")
    for package, taken_ms in sorted(times.items(), key=lambda one: -one[1])[:LARGEST]:
        print(f"  {package:30}{taken_ms:8.1f} ms")


if __name__ == "__main__":
    main()
