"""`motiond scan` and `motiond emulate` as a user calls them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import orjson
from typer.testing import CliRunner

from motiond.daemon.cli.actuators import app
from tests.waiting import PATIENCE_S, lines_until, started

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest

PROGRAM = "from motiond.daemon.cli.actuators import app; app()"


@contextmanager
def emulating(kind: str, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", PROGRAM, "emulate", kind, "--pty", *options]
    with started(command, stdout=subprocess.PIPE, text=True) as process:
        yield process


@contextmanager
def emulated(kind: str, *options: str) -> Iterator[str]:
    with emulating(kind, *options) as process:
        try:
            yield lines_until(process.stdout, "/dev/")[0]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0


def test_scans_and_restarts_emulated_servos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiond.drivers.serial_bus.scanning.ANSWER_TIMEOUT_S", 3.0)
    run = CliRunner().invoke
    with emulated("dynamixel", "--id", "7", "--id", "3", "--model", "XL430-W250") as port:
        (three, seven) = orjson.loads(run(app, ["scan", port, "--baud", "1000000", "--json"]).stdout)
        restarted = run(app, ["scan", port, "--baud", "1000000", "--reboot", "7"])
        table = run(app, ["scan", port, "--baud", "57600"], terminal_width=100).stdout
    assert three == {
        "protocol": "dynamixel",
        "baud_rate": 1_000_000,
        "servo_id": 3,
        "model": "XL430-W250",
        "firmware": 52,
        "torque": False,
        "position_ticks": 2048,
        "position_rad": 0.0,
        "voltage_v": 12.0,
        "temperature_c": 30,
        "hardware_error": "",
        "locked": None,
        "problem": None,
    }
    assert seven["servo_id"] == 7
    assert restarted.stdout == f"{port}: restarted 7\n"
    words = next(line for line in table.splitlines() if "XL430" in line).split()
    assert words == ["57600", "3", "XL430-W250", "52", "off", "2048", "0.000", "12.0", "30", "none"]


def test_scans_numbers_and_restarts_emulated_feetech_servos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiond.drivers.serial_bus.scanning.ANSWER_TIMEOUT_S", 1.0)
    at = ["--protocol", "feetech", "--baud", "1000000"]
    run = CliRunner().invoke
    with emulated("feetech", "--id", "1", "--id", "3") as port:
        given = run(app, ["scan", port, *at, "--set-id", "1", "6", "--yes"])
        taken = run(app, ["scan", port, *at, "--set-id", "6", "3", "--yes"], standalone_mode=False)
        found = orjson.loads(run(app, ["scan", port, *at, "--json"]).stdout)
        restarted = run(app, ["scan", port, *at, "--reboot", "6"])
    assert given.stdout == f"{port}: servo 1 is servo 6 now\n"
    assert str(taken.exception).startswith(f"{port} servo 6: another servo has the id 3; ")
    assert restarted.stdout == f"{port}: restarted 6\n"
    assert [(one["protocol"], one["servo_id"], one["model"]) for one in found] == [
        ("feetech", 3, "STS3215"),
        ("feetech", 6, "STS3215"),
    ]


def test_an_emulator_ends_by_a_signal_that_came_while_it_was_suspended() -> None:
    with emulating("dynamixel") as process:
        lines_until(process.stdout, "/dev/")
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGCONT):
            process.send_signal(number)
        assert process.wait(PATIENCE_S) == 0


def test_says_that_no_servo_answers() -> None:
    ours, theirs = os.openpty()
    port = os.ttyname(theirs)
    nothing = CliRunner().invoke(app, ["scan", port, "--baud", "9600"], standalone_mode=False)
    os.close(ours)
    os.close(theirs)
    assert nothing.return_value == 1
    assert nothing.stderr == (f"{port}: no servo answers at 9600 baud; check power, cable and --baud\n")
