"""Simulated actuators whose process is killed, or crashes."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers.sim.command_log import read_trace
from motiond.drivers.sim.plant_file import read_plant
from tests.waiting import PATIENCE_S, eventually, lines_until, started

if TYPE_CHECKING:
    from motiond.drivers.base import Floats

PROJECT = Path(__file__).parents[3]
GOAL = [0.5, -0.5]
LIFETIME_S = 10.0  # so long may a busy machine keep the program from its next setpoint

PLAY_FOR_EVER = f"""
import sys, time
from motiond.drivers.base import ActuatorCommand
from motiond.drivers.registry import make_driver

plant, trace = sys.argv[1:]
options = dict(plant=plant, trace=trace, command_lifetime_s={LIFETIME_S})
driver = make_driver("sim", options, ["base", "elbow"])
driver.open()
driver.enable()
command = ActuatorCommand(2)
command.position[:] = {GOAL}
print("playing", flush=True)
while True:
    driver.write(command)
    time.sleep(0.005)
"""


def where_now(path: Path) -> Floats:
    return read_plant(path, time.monotonic()).position


def test_the_robot_outlives_a_process_that_is_killed(tmp_path: Path) -> None:
    path, trace = tmp_path / "arm.plant", tmp_path / "arm.npy"
    command = [sys.executable, "-c", PLAY_FOR_EVER, path, trace]
    with started(command, cwd=PROJECT, stdout=subprocess.PIPE) as process:
        lines_until(process.stdout, "playing")
        eventually("the robot is there", partial(where_now, path), partial(np.allclose, GOAL, atol=0.01))
        eventually("two commands are in the trace", lambda: len(read_trace(trace)), lambda rows: rows >= 2)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)
        killed_s = time.monotonic()

    # A command is in the trace before it is in the plant: the last one may have got no further.
    last_but_one_s = read_trace(trace)["time"][-2]
    assert read_plant(path, last_but_one_s + LIFETIME_S - 0.01).torque
    later = read_plant(path, killed_s + LIFETIME_S + 0.1)
    assert not later.torque
    since_last_but_one_s = killed_s + LIFETIME_S + 0.1 - last_but_one_s
    assert LIFETIME_S + 0.1 <= later.command_age_s <= since_last_but_one_s + 0.001
    np.testing.assert_allclose(later.position, GOAL, atol=0.01)
