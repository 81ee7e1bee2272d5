"""Tables fit a terminal of 80 columns, and no name is cut or broken for it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

from motiond.daemon.cli.actuators import SCANNED, _row_of
from motiond.daemon.cli.output import print_table
from motiond.daemon.tools.describe_tables import show
from motiond.daemon.tools.tables import Column, print_rows
from motiond.drivers.serial_bus.scanning import Scanned

if TYPE_CHECKING:
    import pytest

LONG = "left_front_upper_leg_abduction_joint"


def printed(columns: list[Column], *rows: list[str], width: int = 80) -> list[str]:
    out = io.StringIO()
    print_rows(Console(file=out, width=width), columns, rows)
    return out.getvalue().splitlines()


def test_what_fits_stands_in_one_line() -> None:
    lines = printed([Column("robot"), Column("s", right=True)], ["arm", "1.5"], ["hand", "12"])
    assert [line.rstrip() for line in lines if line.strip()] == [
        " robot     s",
        " ───────────",
        " arm     1.5",
        " hand     12",
    ]


def test_names_wrap_between_each_other_and_none_is_broken() -> None:
    names = [f"wave_with_the_left_hand_{number}" for number in range(6)]
    lines = printed([Column("robot"), Column("motions")], ["arm", ", ".join(names)], width=40)
    assert max(map(len, lines)) <= 40
    assert " ".join(lines).replace(",", "").split()[-6:] == names


def test_a_name_that_is_wider_than_the_terminal_stays_whole() -> None:
    lines = printed([Column("robot"), Column("motion")], [LONG, LONG], width=40)
    assert f" {LONG} {LONG} " in lines


def test_a_text_that_is_no_name_is_broken_where_it_must() -> None:
    payload = '{"colour":"' + "red" * 30 + '"}'
    lines = printed([Column("marker"), Column("payload", folds=True)], ["lights", payload])
    assert max(map(len, lines)) <= 80
    assert "".join(line[10:].strip() for line in lines if "─" not in line).removeprefix("payload") == payload


def test_a_robots_joints_fit_with_names_of_sixteen_characters() -> None:
    joint = {
        "name": LONG[:16], "type": "continuous", "lower": -3.14159, "upper": 3.14159,
        "velocity_limit": 4.08407, "effort_limit": 23.0, "unit": "rad", "continuous": False,
        "follows": "shoulder", "reduction": None,
    }  # fmt: skip
    out = io.StringIO()
    robot = {
        "kind": "robot", "name": "arm", "format": "hrdf", "version": "1.6.0", "dof": 1, "mass_kg": 3.5,
        "joints": [joint], "links": [], "frames": [], "warnings": [],
    }  # fmt: skip
    show(robot, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    assert {LONG[:16], "continuous", "-3.14159", "4.08407", "shoulder"} <= {*words}


def test_a_scanned_servo_shows_its_whole_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    error = "overheating, electrical shock, overload, input voltage"
    servo = Scanned(
        baud_rate=57600, servo_id=1, model="XM430-W350", firmware=46, torque=False,
        position_ticks=2048, position_rad=-3.1416, voltage_v=12.1, temperature_c=81, hardware_error=error,
    )  # fmt: skip
    print_table(SCANNED, [_row_of(servo)], texts={"model", "error"})
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert {*error.split(), "XM430-W350", "-3.142"} <= {*" ".join(lines).split()}
