"""Pictures of motions: what is in them, and what is refused."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.config.robot import DriverSettings, ModelSettings, RobotSettings
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.planning.markers import Marker
from motiond.daemon.planning.planner import plan
from motiond.daemon.planning.violations import PlanError
from motiond.daemon.tools.plot import Drawing, _thinned, plot_motion
from motiond.formats import Motion, MotionError, load_motion, load_robot
from motiond.formats.model.interpolation import curve
from motiond.formats.model.robot import Coordinate, Joint, Link, RobotModel
from tests.daemon.programs import run_here

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.formats import Interpolation

CONFIG = Path(__file__).parents[3] / "config"
ARM, WAVE = CONFIG / "robots" / "six_axis.hrdf", CONFIG / "motions" / "wave.seq"
NAMELESS = Path(__file__).parents[2] / "files" / "good" / "two_feet.seq"
BEYOND, CURVE, MARKED = "stroke: #c62828", "#1f5fa8", "#6b6b6b"
DOT = "fill: #c62828; stroke: #c62828"
TEXT = re.compile(r"<!-- (.*?) -->")


def motion(joints: int, frames: int = 50) -> Motion:
    at = np.arange(frames) / 100
    positions = np.sin(np.outer(at, np.arange(1, joints + 1)))
    return Motion("made", tuple(f"j{number}" for number in range(joints)), 100, at, positions)


def test_every_joint_has_its_positions_and_velocities_with_their_units(tmp_path: Path) -> None:
    unknown = plot_motion(load_motion(WAVE), tmp_path / "wave.svg", Drawing(robot=load_robot(ARM)))
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
        plot_motion(one, tmp_path / "one.svg", Drawing(robot=load_robot(ARM)))
        drawn.append((tmp_path / "one.svg").read_text().count(f"{BEYOND}; stroke-width: 1.8"))
    # The velocities of base and elbow.
    assert drawn == [0, 2]


def test_without_a_robot_no_limit_is_drawn_and_the_unit_is_open(tmp_path: Path) -> None:
    plot_motion(motion(2), tmp_path / "made.svg")
    picture = (tmp_path / "made.svg").read_text()
    assert BEYOND not in picture
    assert {"j0 in rad or m", "j1 in (rad or m)/s"} <= set(TEXT.findall(picture))


def drawn(picture: Path, color: str) -> list[NDArray[np.float64]]:
    """Return the lines of one color as they stand in an SVG, each of shape (points, 2)."""
    paths = re.findall(rf'<path d="([^"]*)"[^>]*style="fill: none;[^"]*stroke: {color}', picture.read_text())
    return [np.array(re.findall(r"[ML] (\S+) (\S+)", path), dtype=float) for path in paths]


def heights(points: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale a line of a picture to the range of the values that it shows."""
    shares = (points[:, 1].max() - points[:, 1]) / np.ptp(points[:, 1])
    return np.asarray(values.min() + shares * np.ptp(values))


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic", "smooth"])
def test_between_rows_the_curve_is_drawn_that_is_played(tmp_path: Path, interpolation: Interpolation) -> None:
    times = np.array([0.0, 0.5, 1.5, 2.0])
    motion = Motion("made", ("elbow",), 100.0, times, np.array([[0.0], [1.0], [-0.5], [0.5]]))
    plot_motion(motion, tmp_path / "made.svg", Drawing(interpolation=interpolation))
    positions, velocities = drawn(tmp_path / "made.svg", CURVE)
    at = (positions[:, 0] - positions[0, 0]) / np.ptp(positions[:, 0]) * 2.0
    values, rates = curve(at, times, motion.positions[:, 0], interpolation, at_rest=True)
    if interpolation == "hold":  # its steps are vertical to within a pixel
        assert np.mean(np.abs(heights(positions, values) - values) < 0.01) > 0.97
        return
    np.testing.assert_allclose(heights(positions, values), values, atol=0.02)
    at = (velocities[:, 0] - velocities[0, 0]) / np.ptp(velocities[:, 0]) * 2.0
    rates = curve(at, times, motion.positions[:, 0], interpolation, at_rest=True)[1]
    if interpolation != "linear":
        np.testing.assert_allclose(heights(velocities, rates), rates, atol=0.1)


def test_a_single_row_beyond_a_limit_has_a_dot(tmp_path: Path) -> None:
    arm = load_robot(ARM)
    (base, *_) = arm.joints
    limited = replace(base, coordinates=(replace(base.coordinates[0], upper=1.0),))
    arm = replace(arm, joints=(limited, *arm.joints[1:]))
    rows = np.full((3000, 1), 0.5)
    shown = []
    for top in (0.9, 1.1):
        rows[1500] = top
        still = Motion("made", ("base",), 1.0, np.arange(3000.0), rows.copy())
        plot_motion(still, tmp_path / "made.svg", Drawing(robot=arm))
        shown.append((tmp_path / "made.svg").read_text().count(DOT))
    assert shown == [0, 1]


def slider(**limits: float) -> RobotModel:
    joint = Joint("a", "prismatic", "base", "tip", np.eye(3)[:1], (Coordinate("a", **limits),))
    return RobotModel("slider", "made", "", (joint,), (Link("base"), Link("tip")), (), "base")


def rows_with(frames: int, far: dict[int, float]) -> NDArray[np.float64]:
    rows = np.zeros((frames, 1))
    rows[[*far], 0] = [*far.values()]
    return rows


UNEVEN = np.cumsum(np.where(np.arange(2001) % 2, 0.009, 0.011))


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic", "smooth"])
@pytest.mark.parametrize("even", [True, False])
@pytest.mark.parametrize(
    ("frames", "far", "limits"),
    [
        (2001, {100: 1.5}, {"velocity_limit": 3.0}),
        (2001, {100: 1.0, 101: 1.0}, {"upper": 1.05}),
        (201, {100: -1.0, 101: -1.0}, {"lower": -0.9, "velocity_limit": 1000.0}),
        (2001, {}, {"velocity_limit": 3.0, "lower": 0.0, "upper": 0.0}),
    ],
)
def test_marked_is_what_check_finds(
    tmp_path: Path,
    interpolation: Interpolation,
    *,
    even: bool,
    frames: int,
    far: dict[int, float],
    limits: dict[str, float],
) -> None:
    times = np.arange(frames) / 100 if even else UNEVEN[:frames]
    one = Motion("made", ("a",), 100.0, times, rows_with(frames, far))
    arm = slider(**limits)
    plot_motion(one, tmp_path / "made.svg", Drawing(interpolation=interpolation, robot=arm))
    found = set()
    try:
        model, driver = ModelSettings(file=ARM), DriverSettings(type="sim")
        settings = RobotSettings(model=model, driver=driver, interpolation=interpolation)
        plan(one, build_joint_map("arm", arm, {}), settings, np.inf)
    except PlanError as error:
        found = {violation.kind for violation in error.violations}
    assert red_panels(tmp_path / "made.svg") == ("lower" in found or "upper" in found, "velocity" in found)


def red_panels(picture: Path) -> tuple[bool, bool]:
    """Return whether something is marked among the positions and among the velocities of one joint."""
    _, positions, velocities = picture.read_text().split('<g id="axes_')
    return f"{BEYOND}; stroke-width: 1.8" in positions, f"{BEYOND}; stroke-width: 1.8" in velocities


def test_markers_are_lines_with_their_names(tmp_path: Path) -> None:
    markers = (Marker("clap", 0.1), Marker("cost $5_{x", 0.3))
    shifted = replace(motion(2), times=motion(2).times + 5.0)
    plot_motion(shifted, tmp_path / "made.svg", Drawing(markers=markers))
    texts = TEXT.findall((tmp_path / "made.svg").read_text())
    assert texts.count(" clap") == texts.count(" cost $5_{x") == 2  # above the positions and the velocities
    assert any("dotted: markers" in text for text in texts)
    lines = drawn(tmp_path / "made.svg", MARKED)
    assert len(lines) == 8  # two of them in each of four panels
    # Where the curve, whose 50 frames take 0.49 s, is after 0.1 s and 0.3 s.
    (shown, *_) = drawn(tmp_path / "made.svg", CURVE)
    places = shown[0, 0] + np.ptp(shown[:, 0]) * np.array([0.1, 0.3]) / 0.49
    np.testing.assert_allclose([line[0, 0] for line in lines[:2]], places, atol=1.0)


def test_columns_are_chosen_by_name_or_by_number(tmp_path: Path) -> None:
    for joints, nameless in ((("j2", "j0"), False), (("2", "0"), False), (("2", "0"), True)):
        one = replace(motion(3), joint_names=()) if nameless else motion(3)
        plot_motion(one, tmp_path / "made.svg", Drawing(joints=joints))
        titles = [text for text in TEXT.findall((tmp_path / "made.svg").read_text()) if text.endswith("or m")]
        name = "joint " if nameless else "j"
        assert titles == [f"{name}2 in rad or m", f"{name}0 in rad or m"]


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        ("3", "made: no column 3; its columns are 0 to 2; name one of them"),
        ("9" * 70, f"made: no column {'9' * 59}…; its columns are 0 to 2; name one of them"),
        ("j7", "made: no joint 'j7'; it has j0, j1, j2; did you mean 'j2'?"),
        ("arm", "made: no joint 'arm'; it has j0, j1, j2; name another, or give the number of its column"),
    ],
)
def test_a_column_that_is_not_there_is_refused(tmp_path: Path, joint: str, message: str) -> None:
    with pytest.raises(MotionError) as caught:
        plot_motion(motion(3), tmp_path / "made.svg", Drawing(joints=(joint,)))
    assert str(caught.value) == message
    assert not list(tmp_path.iterdir())


def test_markers_beside_a_file_are_drawn_by_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "wave.seq").write_bytes(WAVE.read_bytes())
    (tmp_path / "wave.markers.yaml").write_text("markers: {clap: {time: 1.5}}\n")
    out = tmp_path / "wave.svg"
    said = (0, f"{out}: drawn\n", "")
    arguments = ("-o", out, "--joints", "0,elbow", "--interpolation", "linear")
    assert run_here(capsys, "plot", tmp_path / "wave.seq", *arguments) == said
    assert {" clap", "base in rad or m", "elbow in rad or m"} <= set(TEXT.findall(out.read_text()))


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
    assert plot_motion(nameless, tmp_path / "six.svg", Drawing(robot=load_robot(ARM))) == ()
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


def test_a_name_that_is_no_utf_8_is_told_with_escapes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file, robot = (Path(os.fsdecode(name)) for name in (b"a\xff.seq", b"a\xff.hrdf"))
    file.write_bytes(NAMELESS.read_bytes())
    robot.write_bytes(ARM.read_bytes())
    lacks = "warning: a\\xff.hrdf: has no joint 'joint 0'; no limits are drawn there; check the names\n"
    assert run_here(capsys, "plot", file, "--robot", robot) == (0, "a\\xff.png: drawn\n", lacks)
    out = Path(os.fsdecode(b"b\xff.seq"))
    _, told, _ = run_here(capsys, "convert", file, out)
    assert told.startswith("b\\xff.seq: a\\xff; ")


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
