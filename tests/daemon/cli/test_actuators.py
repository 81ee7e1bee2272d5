"""What `motiond scan` and `motiond emulate` refuse."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from motiond.daemon.cli.actuators import app


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scan", "/dev/ttyUSB0", "--reboot", "7"], "it needs the baud rate; add one --baud"),
        (["emulate", "dynamixel"], "there is no other way yet than a pseudo-terminal; add it"),
        (["emulate", "dynamixel", "--pty", "--model", "XL320"], "there are PH42-020-S300"),
        (["scan", "/dev/ttyUSB0", "--baud", "0"], "baud rate of servos; servos have 9600 to 10500000"),
        (
            ["scan", "/dev/ttyUSB0", "--baud", "57600", "--reboot", "7", "--reboot", "254"],
            "254 is no id of a servo; servos have 0 to 252; correct it",
        ),
        (["emulate", "dynamixel", "--pty", "--id", "-1"], "-1 is no id of a servo; servos have 0 to 252"),
        (["emulate", "dynamixel", "--pty", "--baud", "-1"], "-1 is no baud rate of servos"),
        (["emulate", "dynamixel", "--pty", "--seconds", "nan"], "nan is no time; give seconds from 0 up"),
    ],
)
def test_refuses_what_cannot_be_meant(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    plain = " ".join(result.stderr.replace("│", " ").split())
    assert message in plain
