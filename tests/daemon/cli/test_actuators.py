"""What `motiond scan` and `motiond emulate` refuse and ask."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import orjson
import pytest
from typer.testing import CliRunner

from motiond.daemon.cli.actuators import HAND_STEP_S, _hand_ticks_s, _part_twins, app
from motiond.drivers.base import DriverError, DriverTimeout
from motiond.drivers.serial_bus import Scanned
from tests.drivers.dynamixel import bench as dynamixel
from tests.drivers.feetech import bench as feetech


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
        (
            ["scan", "/dev/ttyUSB0", "--protocol", "feetech", "--baud", "4000000"],
            "4000000 is no baud rate of servos; servos have 19200 to 1000000; correct it",
        ),
        (["scan", "/dev/ttyUSB0", "--set-id", "1", "6"], "it needs the baud rate; add one --baud"),
        (
            ["scan", "/dev/ttyUSB0", "--baud", "1000000", "--set-id", "1", "254"],
            "254 is no id of a servo; servos have 0 to 253; correct it",
        ),
        (
            ["scan", "/dev/u", "--protocol", "dynamixel", "--baud", "57600", "--set-id", "1", "6"],
            "ids of DYNAMIXEL servos are not set here; use DYNAMIXEL Wizard",
        ),
        (["emulate", "feetech", "--pty", "--model", "XM430-W350"], "there are SCS0009"),
        (["emulate", "feetech", "--pty", "--baud", "2000000"], "servos have 19200 to 1000000"),
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


def never(*_: object) -> NoReturn:
    raise AssertionError("the bus was asked")


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Have servos whose ids can be set; return what is looked at before anybody is asked."""
    looks: list[tuple[object, ...]] = []
    monkeypatch.setattr("motiond.drivers.feetech.refuse_id", lambda *what: looks.append(what))
    return looks


@pytest.mark.usefixtures("looks")
def test_an_id_is_not_set_unless_somebody_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motiond.drivers.feetech.set_id", never)
    asked = ["scan", "/dev/ttyACM0", "--baud", "1000000", "--set-id", "1", "6"]
    result = CliRunner().invoke(app, asked, input="n\n", standalone_mode=False)
    question = "/dev/ttyACM0: give servo 1 the id 6, which it keeps without power? [y/N]: n\n"
    assert (result.return_value, result.stdout) == (1, question)
    assert result.stderr == "/dev/ttyACM0: servo 1 keeps its id\n"


@pytest.mark.parametrize(("options", "typed"), [([], "y\n"), (["--yes"], "")])
def test_an_id_is_set_where_somebody_does(
    monkeypatch: pytest.MonkeyPatch, looks: list[tuple[object, ...]], options: list[str], typed: str
) -> None:
    done: list[tuple[object, ...]] = []
    monkeypatch.setattr("motiond.drivers.feetech.set_id", lambda *what: done.append(what))
    asked = ["scan", "/dev/ttyACM0", "--baud", "1000000", "--set-id", "1", "6", *options]
    result = CliRunner().invoke(app, asked, input=typed)
    assert result.stdout.endswith("/dev/ttyACM0: servo 1 is servo 6 now\n")
    assert done == looks == [("/dev/ttyACM0", 1_000_000, 1, 6)]


def test_an_id_that_cannot_be_set_is_refused_before_anybody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(port: str, *_: object) -> NoReturn:
        raise DriverError(f"{port} servo 1", "another servo has the id 6")

    monkeypatch.setattr("motiond.drivers.feetech.refuse_id", refuse)
    monkeypatch.setattr("motiond.drivers.feetech.set_id", never)
    asked = ["scan", "/dev/u", "--baud", "1000000", "--set-id", "1", "6"]
    result = CliRunner().invoke(app, asked, input="y\n", standalone_mode=False)
    assert (result.stdout, str(result.exception)) == ("", "/dev/u servo 1: another servo has the id 6")


def test_where_dynamixel_servos_answer_their_ids_are_said_not_to_be_set_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_answer(port: str, *_: object) -> NoReturn:
        raise DriverTimeout(f"{port} servo 1", "no answer")

    monkeypatch.setattr("motiond.drivers.feetech.refuse_id", no_answer)
    there = [Scanned(1_000_000, 1, "XL430-W250", 52)]
    monkeypatch.setattr("motiond.drivers.dynamixel.scan", lambda *_: there)
    asked = ["scan", "/dev/u", "--baud", "1000000", "--set-id", "1", "6"]
    result = CliRunner().invoke(app, asked, standalone_mode=False)
    said = "ids of DYNAMIXEL servos are not set here; those that answer on /dev/u are such; "
    assert (result.stdout, str(result.exception)) == ("", f"{said}use DYNAMIXEL Wizard")
    there.clear()
    result = CliRunner().invoke(app, asked, standalone_mode=False)
    assert str(result.exception) == "/dev/u servo 1: no answer"


def test_servos_that_are_not_understood_or_not_locked_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [
        Scanned(1_000_000, 1, "STS3215", "3.10", problem="its answers are damaged; two"),
        Scanned(1_000_000, 2, "STS3215", "3.10", *(False, 2048, 0.0, 7.4, 30, ""), locked=False),
    ]
    monkeypatch.setattr("motiond.drivers.feetech.scan", lambda *_: found)
    result = CliRunner().invoke(app, ["scan", "/dev/u", "--protocol", "feetech"])
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "1000000 1 STS3215 3.10" in lines
    assert lines[-2:] == [
        "servo 1: its answers are damaged; two; connect one of them alone",
        "the lasting settings of 2 are not locked; the driver locks them when it opens",
    ]


@pytest.mark.parametrize(
    ("options", "looks"),
    [
        ([], ["dynamixel", "feetech"]),
        (["--protocol", "feetech"], ["feetech"]),
        (["--protocol", "dynamixel"], ["dynamixel"]),
        (["--baud", "1000000"], ["dynamixel", "feetech"]),
        (["--baud", "4000000"], ["dynamixel"]),
    ],
)
def test_servos_are_looked_for_by_one_protocol_after_the_other(
    monkeypatch: pytest.MonkeyPatch, options: list[str], looks: list[str]
) -> None:
    looked: list[str] = []
    for name in ("dynamixel", "feetech"):
        monkeypatch.setattr(f"motiond.drivers.{name}.scan", lambda *_, name=name: looked.append(name))
    result = CliRunner().invoke(app, ["scan", "/dev/u", *options], standalone_mode=False)
    rates = f"at {options[1]} baud" if "--baud" in options else "at any common baud rate"
    assert (result.return_value, looked) == (1, looks)
    assert result.stderr == f"/dev/u: no servo answers {rates}; check power, cable and --baud\n"


def test_where_servos_of_one_protocol_answer_the_other_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Scanned(57_600, 7, "XL430-W250", 52)
    monkeypatch.setattr("motiond.drivers.dynamixel.scan", lambda *_: [found])
    monkeypatch.setattr("motiond.drivers.feetech.scan", never)
    result = CliRunner().invoke(app, ["scan", "/dev/u", "--json"], standalone_mode=False)
    (servo,) = orjson.loads(result.stdout)
    assert (result.return_value, servo["protocol"], servo["servo_id"]) == (0, "dynamixel", 7)


@pytest.mark.parametrize("maker", [dynamixel, feetech])
def test_emulated_servos_with_one_id_are_at_different_places(maker: Any) -> None:
    servos = [maker.servo(one) for one in (1, 2, 1, 1)]
    begin = servos[0].position_ticks
    _part_twins(servos)
    assert [one.position_ticks - begin for one in servos] == [0, 0, 100, 200]


def test_an_emulated_hand_moves_a_servo_there_and_back() -> None:
    speeds = np.array([_hand_ticks_s(step * HAND_STEP_S) for step in range(300)])
    ticks = np.cumsum(speeds) * HAND_STEP_S
    assert (ticks.max(), ticks[-1]) == (pytest.approx(250, abs=1), pytest.approx(0, abs=1))
    assert _hand_ticks_s(0.0) == _hand_ticks_s(float("inf")) == 0.0
