"""Calibration files of LeRobot."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverConfigError
from motiond.drivers.feetech.calibration import MOST_BYTES, Calibrated, load_calibration
from tests.drivers.errors import message_of

if TYPE_CHECKING:
    from pathlib import Path

PAN = {"id": 1, "drive_mode": 0, "homing_offset": -1470, "range_min": 758, "range_max": 3292}
OBJECT = "it should be an object with an entry for each joint"
DIGITS = "Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits"
LIFT = {"id": 2, "drive_mode": 1, "homing_offset": 157, "range_min": 0, "range_max": 4095}


def _file(folder: Path, content: object) -> Path:
    path = folder / "arm.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_reads_what_the_actuators_need(tmp_path: Path) -> None:
    path = _file(tmp_path, {"shoulder_pan": PAN, "shoulder_lift": LIFT, "gripper": "not looked at"})
    found = load_calibration(path, ["shoulder_lift", "shoulder_pan"])
    assert found == {
        "shoulder_lift": Calibrated(2, True, 157, 0, 4095),
        "shoulder_pan": Calibrated(1, False, -1470, 758, 3292),
    }
    assert [one.zero_ticks for one in found.values()] == [2047.5, 2025.0]


def test_says_everything_that_is_wrong_at_once(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {
        "shoulder_pan": PAN | {"id": 254, "range_max": True, "homing_offset": 1.5},
        "shoulder_lift": {key: value for key, value in LIFT.items() if key != "drive_mode"},
        "elbow": PAN | {"range_min": 3292},
        "wrist": [1, 2],
        "gripper": PAN | {"range_min": "x" * 999},
    }
    path = _file(tmp_path, wrong)
    whole, there = (
        "it should be a whole number from",
        "it has shoulder_pan, shoulder_lift, elbow, wrist, gripper",
    )
    message = message_of(DriverConfigError, load_calibration, path, [*wrong, "wrist_rol"])
    assert [line.removeprefix(f"{path}: ") for line in message.splitlines()] == [
        f"'id' of 'shoulder_pan' is 254; {whole} 0 to 253; calibrate again",
        f"'homing_offset' of 'shoulder_pan' is 1.5; {whole} -2047 to 2047; calibrate again",
        f"'range_max' of 'shoulder_pan' is True; {whole} 0 to 4095; calibrate again",
        f"'shoulder_lift' has no 'drive_mode'; {whole} 0 to 1; calibrate again",
        "the range of 'elbow' is empty, 3292 to 3292; calibrate again",
        f"'wrist' is no object; {there}",
        f"'range_min' of 'gripper' is '{'x' * 36}…; {whole} 0 to 4095; calibrate again",
        f"has no joint 'wrist_rol'; {there}; did you mean 'wrist'?",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", ":1: is no JSON; Expecting property name enclosed in double quotes; calibrate again"),
        ('{"a": {}, "a": {}}', ": is no JSON; 'a' stands there twice; calibrate again"),
        (
            "[1]",
            f": is no calibration; {OBJECT}; name a file that LeRobot wrote",
        ),
        ('{"a": ' + "9" * 5000 + "}", f": is no JSON; {DIGITS}; calibrate again"),
        ('{"\\ud800": 1}', r": has no joint 'a'; it has \ud800"),
        ("[" * 99_999, ": nests too deeply; calibrate again"),
        (
            " " * (MOST_BYTES + 1),
            f": is larger than {MOST_BYTES} bytes; no calibration is; correct `calibration`",
        ),
    ],
)
def test_refuses_what_is_no_calibration(tmp_path: Path, content: str, message: str) -> None:
    path = _file(tmp_path, content)
    assert message_of(DriverConfigError, load_calibration, path, ["a"]) == f"{path}{message}"


def test_names_a_file_that_is_nearly_called_so(tmp_path: Path) -> None:
    path = _file(tmp_path, {}).with_name("arn.json")
    assert message_of(DriverConfigError, load_calibration, path, ["a"]) == (
        f"{path}: there is no such file; did you mean 'arm.json'?"
    )


def test_says_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    assert message_of(DriverConfigError, load_calibration, tmp_path, ["a"]) == (
        f"{tmp_path}: cannot be read; Is a directory; correct `calibration`"
    )
