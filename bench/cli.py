"""What commands cost as a user runs them, beside `python -c pass`, which Python itself takes.

A daemon with a broker of its own and the six-axis arm of the demonstration answers; `start` measures how soon
it does.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.programs import MOTIOND, PASS, YARDSTICKS, Taken, demo_config, medians, run, user_environment
from motiond.client import NoAnswer
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.mqtt.client import address_of
from tests.daemon.asking import ask
from tests.waiting import eventually, started

if TYPE_CHECKING:
    from motiond.daemon.config.mqtt import MqttSettings

RUNS = 15
GOALS_MS = {"motiond --help": 150, "motiond status": 350}


def main() -> None:
    """Print the times of some commands."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = os.environ["XDG_STATE_HOME"] = (
            name  # nothing of it stays with the user
        )
        config = demo_config(Path(name))
        mqtt = load_mqtt_settings(config)
        command = [MOTIOND, "run", "-c", config]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with started(command, env=user_environment(), **quiet):
            eventually("the robot is idle", lambda: _state(mqtt), lambda state: state == "idle")
            broker = ("--broker", str(address_of(mqtt)))
            commands: dict[str, tuple[str, ...]] = {
                **YARDSTICKS,
                "motiond --help": (str(MOTIOND), "--help"),
                "motiond status": (str(MOTIOND), "status", *broker),
                "motiond stop arm": (str(MOTIOND), "stop", "arm", *broker),
                "the same here": (str(MOTIOND), "stop", "arm"),
            }
            _print(_measure(commands))


def _state(mqtt: MqttSettings) -> Any:
    try:
        return asyncio.run(ask(mqtt, "arm", "status"))["state"]
    except NoAnswer as error:
        return error


def _measure(commands: dict[str, tuple[str, ...]]) -> dict[str, Taken]:
    """Return the medians of each command's times, over runs in turn."""
    for command in commands.values():
        run(command)  # the first one compiles what is new, and reads all from the disk
    rounds = [[run(command) for command in commands.values()] for _ in range(RUNS)]
    return {name: medians(runs) for name, runs in zip(commands, zip(*rounds, strict=True), strict=True)}


def _print(times: dict[str, Taken]) -> None:
    print(f"the median of {RUNS} runs, in turn; load {os.getloadavg()[0]:.1f}; in brackets, times `{PASS}`")
    print(f"{'':24}{'processor ms':>20}{'wall ms':>20}{'goal ms':>10}")
    for name, measured in times.items():
        cells = [
            f"{1e3 * one_s:.0f} ({one_s / yardstick_s:.1f})"
            for one_s, yardstick_s in zip(measured, times[PASS], strict=True)
        ]
        goal = f"{GOALS_MS.get(name, ''):>10}"
        print(f"{name:24}" + "".join(f"{cell:>20}" for cell in cells) + goal)


if __name__ == "__main__":
    main()
