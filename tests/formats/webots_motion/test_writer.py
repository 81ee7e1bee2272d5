"""Writing of .motion files, which Webots reads, and which are read back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.formats import FormatError, Motion, dump_motion, load_motion

if TYPE_CHECKING:
    from pathlib import Path

ALONE = "a .motion file holds joint positions alone; to lose it, name it in drop"
TO_THE_END = "a .motion file goes from 0 to 2147484 s"


def swing(rate_hz: float = 50.0, **changes: Any) -> Motion:
    """Return a motion of two joints, two seconds long."""
    times = np.arange(int(2 * rate_hz) + 1) / rate_hz
    positions = np.stack([np.sin(3 * times), np.where(times < 0.5, -0.0, 1e-9)], axis=1)
    return replace(Motion("swing", ("hip", "knee"), rate_hz, times, positions), **changes)


def test_a_row_is_a_line(tmp_path: Path) -> None:
    motion = Motion(
        "m", ("hip", "knee"), 2.0, np.array([0.0, 0.5, 61.25]), np.array([[0, 1], [0.1, -2], [1e-9, 3]])
    )
    dump_motion(motion, tmp_path / "m.motion")
    assert (tmp_path / "m.motion").read_text() == (
        "#WEBOTS_MOTION,V1.0,hip,knee\n00:00:000,Pose1,0.0,1.0\n00:00:500,Pose2,0.1,-2.0\n01:01:250,Pose3,1e-9,3.0\n"
    )


@pytest.mark.parametrize("rate_hz", [1000.0, 500.0, 50.0, 31.25, 8.0])
def test_every_row_comes_back_to_the_bit(rate_hz: float, tmp_path: Path) -> None:
    before = swing(rate_hz)
    dump_motion(before, tmp_path / "swing.motion")
    after = load_motion(tmp_path / "swing.motion")
    assert (after.frame_rate, after.joint_names) == (max(rate_hz, 100), before.joint_names)
    assert after.times.tobytes() == before.times.tobytes()
    assert after.positions.tobytes() == before.positions.tobytes()


def test_times_between_milliseconds_are_lost_only_by_name(tmp_path: Path) -> None:
    path = tmp_path / "m.motion"
    with pytest.raises(FormatError) as caught:
        dump_motion(swing(30.0), path)
    assert str(caught.value) == (
        f"{path}: times would be lost; a .motion file has whole milliseconds; "
        "to lose it, name it in drop: 'times'"
    )
    dump_motion(swing(30.0), path, drop=["times"])
    assert np.abs(load_motion(path).times - swing(30.0).times).max() <= 0.0005


def test_rows_that_round_to_one_millisecond_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.motion"
    with pytest.raises(FormatError) as caught:
        dump_motion(swing(2048.0), path, drop=["times"])
    assert str(caught.value) == (
        f"{path}: two rows would have one time; a .motion file has whole milliseconds; resample it"
    )


def test_fewer_digits_stay_within_the_range_of_their_joint(tmp_path: Path) -> None:
    dump_motion(swing(), tmp_path / "m.motion", precision=3)
    rounded = load_motion(tmp_path / "m.motion").positions
    assert np.abs(rounded - swing().positions).max() <= 0.0005
    assert (rounded.max(axis=0) <= swing().positions.max(axis=0)).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"components": {"ZMP": np.zeros((101, 3))}},
            f"m.motion: ZMP would be lost; {ALONE}: 'ZMP'",
        ),
        (
            {"times": np.arange(101) - 1.0},
            f"m.motion: the motion goes from -1 s to 99 s; {TO_THE_END}; shift its times",
        ),
        (
            {"joint_names": ("hip,left", "knee")},
            "m.motion: joint 'hip,left' cannot stand in the first line; names lie between commas; rename it",
        ),
        (
            {"joint_names": ("hip", " knee")},
            "m.motion: joint ' knee' cannot stand in the first line; names lie between commas; rename it",
        ),
        (
            {"joint_names": tuple(f"j{n}" for n in range(1000)), "positions": np.zeros((101, 1000))},
            "m.motion: line 1 has 4910 bytes; Webots reads 4095 of a line; write fewer digits or joints",
        ),
    ],
)
def test_what_webots_cannot_read_is_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        dump_motion(swing(**changes), tmp_path / "m.motion")
    assert str(caught.value).replace(f"{tmp_path}/", "") == message
    assert list(tmp_path.iterdir()) == []
