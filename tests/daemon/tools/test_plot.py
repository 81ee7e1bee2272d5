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
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry, fontManager  # where it has no list yet, it asks a program

from motiond.daemon.config.robot import DriverSettings, ModelSettings, RobotSettings
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.planning.library.markers import Marker
from motiond.daemon.planning.planner import plan
from motiond.daemon.planning.violations import PlanError
from motiond.daemon.tools.plot import BEYOND, CURVE, MARKED, Drawing, _curves, _figure, _thinned, plot_motion
from motiond.formats import (
    Coordinate,
    FormatError,
    Joint,
    Link,
    Motion,
    MotionError,
    RobotModel,
    load_motion,
    load_robot,
)
from motiond.formats.model import curve
from tests.daemon.programs import run_here

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from motiond.formats import Interpolation

pytestmark = pytest.mark.slow

CONFIG = Path(__file__).parents[3] / "config"
ARM, WAVE = CONFIG / "robots" / "six_axis.hrdf", CONFIG / "motions" / "wave.seq"
NAMELESS = Path(__file__).parents[2] / "files" / "good" / "two_feet.seq"
TEXT = re.compile(r"<!-- (.*?) -->")


def motion(joints: int, frames: int = 50) -> Motion:
    at = np.arange(frames) / 100
    positions = np.sin(np.outer(at, np.arange(1, joints + 1)))
    return Motion("made", tuple(f"j{number}" for number in range(joints)), 100, at, positions)


def figure(motion: Motion, drawing: Drawing | None = None) -> Figure:
    """Return what is drawn, as it is before a file is written of it, which takes ten times as long."""
    drawing = drawing or Drawing()
    return _figure(motion, _curves(motion, drawing), drawing.markers)


def titles(figure: Figure) -> list[str]:
    return [panel.get_title(loc="left") for panel in figure.axes if panel.get_visible()]


def drawn(figure: Figure, color: str, width: float = 1.0) -> list[NDArray[np.float64]]:
    """Return the lines of one color and width, each of shape (points, 2)."""
    lines = (line for panel in figure.axes for line in panel.lines)
    return [
        np.asarray(line.get_xydata())
        for line in lines
        if (line.get_color(), line.get_linewidth(), line.get_linestyle()) == (color, width, "-")
    ]


def dots(figure: Figure) -> int:
    lines = (line for panel in figure.axes for line in panel.lines)
    return sum(len(np.asarray(line.get_xydata())) for line in lines if line.get_marker() == "o")


def test_a_picture_has_each_joints_positions_and_velocities_with_their_units(tmp_path: Path) -> None:
    wave = load_motion(WAVE)
    hurried = replace(wave, times=wave.times / 6, frame_rate=6 * wave.frame_rate)
    picture = tmp_path / "wave.svg"
    assert plot_motion(hurried, picture, Drawing(robot=load_robot(ARM))) == ()
    texts = TEXT.findall(picture.read_text())
    assert "wave: 1.06667 s, 3201 frames at 3000/s; dashed: limits; red: beyond them" in texts
    for joint in wave.joint_names:
        assert {f"{joint} in rad", f"{joint} in rad/s"} <= set(texts)
    # The velocities of base and elbow are beyond their limits.
    assert picture.read_text().count(f"stroke: {BEYOND}; stroke-width: 1.8") == 2
    assert drawn(figure(wave, Drawing(robot=load_robot(ARM))), BEYOND, 1.8) == []


def test_without_a_robot_no_limit_is_drawn_and_the_unit_is_open() -> None:
    picture = figure(motion(2))
    assert {line.get_color() for panel in picture.axes for line in panel.lines} == {CURVE}
    assert {"j0 in rad or m", "j1 in (rad or m)/s"} <= set(titles(picture))


@pytest.mark.parametrize("interpolation", ["hold", "linear", "cubic", "smooth"])
def test_between_rows_the_curve_is_drawn_that_is_played(interpolation: Interpolation) -> None:
    times = np.array([0.0, 0.5, 1.5, 2.0])
    motion = Motion("made", ("elbow",), 100.0, times, np.array([[0.0], [1.0], [-0.5], [0.5]]))
    positions, velocities = drawn(figure(motion, Drawing(interpolation=interpolation)), CURVE)
    at, shown = positions.T
    assert (at[0], at[-1]) == (0.0, 2.0)
    assert np.diff(at).max() < 0.01
    values, rates = curve(at, times, motion.positions[:, 0], interpolation, at_rest=True)
    np.testing.assert_allclose(shown, values)
    if interpolation != "hold":  # whose steps are drawn as fast as they are played
        np.testing.assert_allclose(velocities[:, 1], rates)


def test_a_single_row_beyond_a_limit_has_a_dot() -> None:
    arm = load_robot(ARM)
    (base, *_) = arm.joints
    limited = replace(base, coordinates=(replace(base.coordinates[0], upper=1.0),))
    arm = replace(arm, joints=(limited, *arm.joints[1:]))
    rows = np.full((3000, 1), 0.5)
    shown = []
    for top in (0.9, 1.1):
        rows[1500] = top
        still = Motion("made", ("base",), 1.0, np.arange(3000.0), rows.copy())
        shown.append(dots(figure(still, Drawing(robot=arm))))
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
    picture = figure(one, Drawing(interpolation=interpolation, robot=arm))
    found = set()
    try:
        model, driver = ModelSettings(file=ARM), DriverSettings(type="sim")
        settings = RobotSettings(model=model, driver=driver, interpolation=interpolation)
        plan(one, build_joint_map("arm", arm, {}), settings, np.inf)
    except PlanError as error:
        found = {violation.kind for violation in error.violations}
    red = [any(line.get_color() == BEYOND and line.get_linewidth() == 1.8 for line in panel.lines)
           for panel in picture.axes]  # fmt: skip
    assert red == ["lower" in found or "upper" in found, "velocity" in found]


def test_markers_are_lines_with_their_names(tmp_path: Path) -> None:
    markers = (Marker("clap", 0.1), Marker("cost $5_{x", 0.3))
    shifted = replace(motion(2), times=motion(2).times + 5.0)
    plot_motion(shifted, tmp_path / "made.svg", Drawing(markers=markers))
    texts = TEXT.findall((tmp_path / "made.svg").read_text())
    assert texts.count(" clap") == texts.count(" cost $5_{x") == 2  # above the positions and the velocities
    assert any("dotted: markers" in text for text in texts)
    for panel in figure(shifted, Drawing(markers=markers)).axes:
        (lines,) = panel.collections
        assert list(map(to_hex, np.asarray(lines.get_edgecolor()))) == [MARKED]
        np.testing.assert_allclose(
            [np.asarray(path.vertices)[0, 0] for path in lines.get_paths()], [5.1, 5.3]
        )


@pytest.mark.parametrize(
    ("joints", "nameless"), [(("j2", "j0"), False), (("2", "0"), False), (("2", "0"), True)]
)
def test_columns_are_chosen_by_name_or_by_number(joints: tuple[str, str], *, nameless: bool) -> None:
    one = replace(motion(3), joint_names=()) if nameless else motion(3)
    name = "joint " if nameless else "j"
    positions = [title for title in titles(figure(one, Drawing(joints=joints))) if title.endswith("or m")]
    assert positions == [f"{name}2 in rad or m", f"{name}0 in rad or m"]


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
def test_many_joints_stand_side_by_side(joints: int, size_px: tuple[int, int]) -> None:
    picture = figure(motion(joints))
    assert tuple(np.rint(picture.get_size_inches() * picture.dpi)) == size_px
    assert len(titles(picture)) == 2 * joints


def test_a_long_motion_is_thinned_and_keeps_its_peaks() -> None:
    times = np.arange(100_000) / 1000
    values = np.sin(times)
    values[[12_345, 67_890]] = 5, -5
    at, shown = _thinned(times, values)
    assert shown.size == 2000
    assert (shown.max(), shown.min()) == (5, -5)
    assert abs(at[shown.argmax()] - 12.345) < 0.1


def test_a_motion_without_names_takes_those_of_a_robot_with_as_many_joints() -> None:
    nameless = replace(motion(6), joint_names=())
    assert "wrist3 in rad" in titles(figure(nameless, Drawing(robot=load_robot(ARM))))


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
    assert told.startswith("b\\xff.seq: b\\xff; ")


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
            (WAVE, "-o", "none/wave.png", "--joints", "base"),
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


@pytest.mark.parametrize("furthest", [2e6, 1e308])
def test_numbers_that_no_joint_reaches_are_not_drawn(tmp_path: Path, furthest: float) -> None:
    motion = Motion("wave", ("elbow",), 10.0, np.array([0.0, 0.1]), np.array([[0.0], [-furthest]]))
    with pytest.raises(FormatError) as caught:
        plot_motion(motion, tmp_path / "wave.png")
    assert str(caught.value) == (
        f"{tmp_path}/wave.png: wave reaches {furthest:g}; beyond 1e+06 rad or m a number is a mistake; "
        "correct the file"
    )


def test_without_matplotlib_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    hint = "install it with: pip install 'motiond[plot]'"
    said = f"motiond: plot needs matplotlib; it is not installed; {hint}\n"
    assert run_here(capsys, "plot", WAVE, "-o", tmp_path / "wave.png") == (1, "", said)
    assert list(tmp_path.iterdir()) == []


HAND = Motion("手", ("右肩", "elbow"), 10.0, np.arange(3) / 10.0, np.zeros((3, 2)))
HOLD = Drawing(markers=[Marker("持つ", 1, 0.1)])


@pytest.fixture
def fonts(monkeypatch: pytest.MonkeyPatch) -> list[FontEntry]:
    """Return the list of installed fonts, which are matplotlib's own here, whatever the machine has."""
    own = [font for font in fontManager.ttflist if "mpl-data" in font.fname]
    monkeypatch.setattr(fontManager, "ttflist", own)
    monkeypatch.setattr("matplotlib.font_manager.findSystemFonts", list)
    return own


def written(motion: Motion, target: Path) -> tuple[list[str], list[str]]:
    """Draw, and return the texts that are drawn, and what is drawn with paths rather than as text."""
    plot_motion(motion, target, HOLD)
    svg = target.read_text()
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg), TEXT.findall(svg)


@pytest.mark.filterwarnings("error")
def test_letters_of_no_installed_font_are_text_in_an_svg(tmp_path: Path, fonts: list[FontEntry]) -> None:
    assert fonts
    texts, _ = written(HAND, tmp_path / "hand.svg")
    assert {"右肩 in rad or m", "elbow in rad or m", " 持つ"} <= set(texts)
    assert "手: 0.2 s, 3 frames at 10/s; dotted: markers" in texts


@pytest.mark.filterwarnings("error")
def test_letters_of_no_installed_font_become_numbers_in_a_png(
    tmp_path: Path, fonts: list[FontEntry], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fonts
    seen: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: seen.append(figure))
    plot_motion(HAND, tmp_path / "hand.png", HOLD)
    texts = {text.get_text() for panel in seen[0].axes for text in panel.texts}
    assert (titles(seen[0])[::2], texts) == (["joint 0 in rad or m", "elbow in rad or m"], {" marker 0"})
    assert seen[0].get_suptitle() == "motion: 0.2 s, 3 frames at 10/s; dotted: markers"
    hint = "install one, such as fonts-noto-cjk, or draw an .svg"
    said = f"{tmp_path / 'hand.png'}: no font has the letters of '手', '右肩', '持つ'"
    assert caplog.messages == [f"{said}; numbers stand for them; {hint}"]


@pytest.fixture
def made_up(tmp_path: Path) -> str:
    """Return a font of one weight, with the letters of these names."""
    builder = FontBuilder(1000)
    letters = sorted({*"手右肩持つ"})
    names = [".notdef", *(f"u{ord(letter):X}" for letter in letters)]
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((0, 700))
    pen.lineTo((700, 700))
    pen.closePath()
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): name for letter, name in zip(letters, names[1:], strict=True)})
    builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (800, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Made Up", "styleName": "Regular", "psName": "MadeUp"})
    builder.setupOS2(usWeightClass=500)
    builder.setupPost()
    builder.save(tmp_path / "made.ttf")
    return str(tmp_path / "made.ttf")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_an_installed_font_that_has_the_letters_is_used(
    suffix: str, tmp_path: Path, made_up: str, fonts: list[FontEntry], caplog: pytest.LogCaptureFixture
) -> None:
    fonts.append(FontEntry(fname=made_up, name="Made Up", weight=500))
    plot_motion(HAND, tmp_path / f"hand{suffix}", HOLD)
    assert caplog.messages == []
    if suffix == ".svg":
        svg = (tmp_path / "hand.svg").read_text()
        assert "<text" not in svg
        assert "右肩 in rad or m" in TEXT.findall(svg)
        assert "MadeUp" in svg


@pytest.mark.filterwarnings("error")
def test_a_font_that_was_installed_since_matplotlib_has_listed_them_is_used(
    tmp_path: Path, made_up: str, fonts: list[FontEntry], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fonts
    (tmp_path / "broken.ttf").write_text("no font")
    installed = [str(tmp_path / "broken.ttf"), made_up]
    monkeypatch.setattr("matplotlib.font_manager.findSystemFonts", lambda: installed)
    texts, paths = written(HAND, tmp_path / "hand.svg")
    assert texts == []
    assert "右肩 in rad or m" in paths
