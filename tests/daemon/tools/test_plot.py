"""Pictures of motions: what is in them, and what is refused."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from motiond.daemon.tools.plot import _thinned, plot_motion
from motiond.formats import Motion, load_motion, load_robot
from tests.daemon.programs import run_here

CONFIG = Path(__file__).parents[3] / "config"
ARM, WAVE = CONFIG / "robots" / "six_axis.hrdf", CONFIG / "motions" / "wave.seq"
NAMELESS = Path(__file__).parents[2] / "files" / "good" / "two_feet.seq"
BEYOND = "stroke: #c62828"
TEXT = re.compile(r"<!-- (.*?) -->")


def motion(joints: int, frames: int = 50) -> Motion:
    at = np.arange(frames) / 100
    positions = np.sin(np.outer(at, np.arange(1, joints + 1)))
    return Motion("made", tuple(f"j{number}" for number in range(joints)), 100, at, positions)


def test_every_joint_has_its_positions_and_velocities_with_their_units(tmp_path: Path) -> None:
    unknown = plot_motion(load_motion(WAVE), tmp_path / "wave.svg", load_robot(ARM))
    texts = TEXT.findall((tmp_path / "wave.svg").read_text())
    assert unknown == ()
    assert "wave: 6.4 s, 3201 frames at 500/s; dashed: limits; red: beyond them" in texts
    for joint in load_motion(WAVE).joint_names:
        assert {f"{joint} in rad", f"{joint} in rad/s"} <= set(texts)


def test_what_is_beyond_a_limit_is_red(tmp_path: Path) -> None:
    wave = load_motion(WAVE)
    hurried = replace(wave, times=wave.times / 6, frame_rate=6 * wave.frame_rate)
    drawn = []
    for one in (wave, hurried):
        plot_motion(one, tmp_path / "one.svg", load_robot(ARM))
        drawn.append((tmp_path / "one.svg").read_text().count(f"{BEYOND}; stroke-width: 1.8"))
    # The velocities of base and elbow.
    assert drawn == [0, 2]


def test_without_a_robot_no_limit_is_drawn_and_the_unit_is_open(tmp_path: Path) -> None:
    plot_motion(motion(2), tmp_path / "made.svg")
    picture = (tmp_path / "made.svg").read_text()
    assert BEYOND not in picture
    assert {"j0 in rad or m", "j1 in (rad or m)/s"} <= set(TEXT.findall(picture))


@pytest.mark.parametrize(("joints", "size_px"), [(6, (990, 869)), (31, (1782, 1501))])
def test_many_joints_stand_side_by_side(tmp_path: Path, joints: int, size_px: tuple[int, int]) -> None:
    plot_motion(motion(joints), tmp_path / "made.png")
    header = (tmp_path / "made.png").read_bytes()[:24]
    assert header.startswith(b"\x89PNG")
    assert (int.from_bytes(header[16:20]), int.from_bytes(header[20:24])) == size_px


def test_a_long_motion_is_thinned_and_keeps_its_peaks() -> None:
    times = np.arange(100_000) / 1000
    values = np.sin(times)
    values[[12_345, 67_890]] = 5, -5
    at, shown = _thinned(times, values)
    assert shown.size == 2000
    assert (shown.max(), shown.min()) == (5, -5)
    assert abs(at[shown.argmax()] - 12.345) < 0.1


def test_a_motion_without_names_takes_those_of_a_robot_with_as_many_joints(tmp_path: Path) -> None:
    nameless = replace(motion(6), joint_names=())
    assert plot_motion(nameless, tmp_path / "six.svg", load_robot(ARM)) == ()
    assert "wrist3 in rad" in TEXT.findall((tmp_path / "six.svg").read_text())


def test_the_picture_is_named_after_the_motion_and_not_overwritten(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_here(capsys, "plot", WAVE, "--joints", "elbow") == (0, "wave.png: drawn\n", "")
    first = (tmp_path / "wave.png").read_bytes()
    refused = "wave.png: exists already; it would be overwritten; name another file, or --force it\n"
    assert run_here(capsys, "plot", WAVE) == (2, "", refused)
    assert run_here(capsys, "plot", WAVE, "--force", "--joints", "base,elbow")[0] == 0
    assert (tmp_path / "wave.png").read_bytes() != first


def test_a_joint_that_the_robot_lacks_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "feet.png"
    said = f"warning: {ARM}: has no joint 'joint 0'; no limits are drawn there; check the names\n"
    assert run_here(capsys, "plot", NAMELESS, "-o", out, "--robot", ARM) == (0, f"{out}: drawn\n", said)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (WAVE, "-o", "wave.bmp"),
            "wave.bmp: its suffix '.bmp' names no picture; PNG and SVG are drawn; choose another",
        ),
        ((ARM,), f"{ARM}: is a robot description (hrdf); a motion is wanted here; give the right file"),
        (
            (WAVE, "--name", "arm"),
            (
                "motiond: invalid value for --name: it has no effect without --robot; remove it; "
                "see `motiond --help`"
            ),
        ),
        (
            (WAVE, "-o", "none/wave.png"),
            "none/wave.png: cannot be written; No such file or directory; check the path",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[object, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_here(capsys, "plot", *arguments) == (2, "", message + "\n")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    mend = "install it with: pip install 'motiond[plot]'"
    said = f"motiond: plot needs matplotlib; it is not installed; {mend}\n"
    assert run_here(capsys, "plot", WAVE, "-o", tmp_path / "wave.png") == (1, "", said)
    assert list(tmp_path.iterdir()) == []
