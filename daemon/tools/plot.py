"""A motion as a picture (PNG or SVG): each joint's positions and velocities over time, and a robot's limits.

What is drawn is the curve that is played, also between the rows, with each place where it is farthest and
fastest. Drawn with matplotlib, the extra `plot`.

    RuntimeError
    └── PlottingUnavailable  matplotlib is not installed
"""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from motiond.formats import FormatError, MotionError, Problem
from motiond.formats.io import replacing
from motiond.formats.model import curve
from motiond.text import listed, nearest, shortened

from ..joints import with_rounding
from ..planning import FREE_RATE_HZ, FURTHEST, marker_file, read_markers
from .plot_fonts import drawn_with, fonts_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from motiond.formats import Interpolation, Motion, RobotModel
    from motiond.formats.arrays import Floats

    from ..planning import Marker

log = logging.getLogger(__name__)


SUFFIXES = (".png", ".svg")

# Joints stand below each other, in further columns from here on, and then as many as there are.
PAIRS_IN_COLUMN = 10
PANEL_HEIGHT_IN = 1.15
# Of one panel where there are one, two or three columns of pairs.
PANEL_WIDTHS_IN = (4.5, 3.4, 2.7)
# By unit: what stays within so little is drawn as the line that it is, not as its rounding.
SMALLEST_SPAN = {"rad": 0.01, "m": 0.0005}
# More than a panel can show.
MOST_SPANS = 1000
# Of the time that a panel shows: what is beyond a limit for less would not be seen as a line.
SHORT = 0.01
# More would cover each other.
MOST_NAMES = 30
CURVE, BEYOND, MARKED = "#1f5fa8", "#c62828", "#6b6b6b"


class PlottingUnavailable(RuntimeError):
    """Matplotlib is not installed."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class _Curve:
    """What one joint's pair of panels shows; `times`, `positions` and `velocities` are (samples,)."""

    name: str
    column: int
    times: Floats
    positions: Floats
    velocities: Floats
    unit: str = ""
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is drawn of a motion: joints by name, or by the number of the column from 0; () stands for all.

    A robot's units and limits are drawn for the joints that it shares with the motion; a motion without names
    shares all, in order, if it has as many.
    """

    joints: Sequence[str] = ()
    interpolation: Interpolation = "cubic"
    markers: Sequence[Marker] = ()
    robot: RobotModel | None = None


def markers_beside(file: Path, motion: Motion) -> tuple[Marker, ...]:
    """Return the markers of a motion from the file beside its own; () where there is none.

    Raises
    ------
    FormatError
        With every mistake in that file.
    """
    beside = (marker_file(file, motion.name), marker_file(file))
    found = next((path for path in beside if path.exists()), None)
    return read_markers(found, motion) if found else ()


def plot_motion(motion: Motion, target: Path, drawing: Drawing | None = None) -> tuple[str, ...]:
    """Draw a motion into a .png or .svg, and return the joints that the robot lacks.

    Names that no installed font can write are text in an SVG, and numbers in a PNG, with a warning.

    Raises
    ------
    FormatError
        If the suffix is another one, the motion has no joints, or the file cannot be written.
    MotionError
        If it lacks a joint that is to be drawn.
    PlottingUnavailable
        If matplotlib is not installed.
    """
    refuse_other_pictures(target)
    if not motion.positions.shape[1]:
        raise _refusal(target, "there is nothing to draw", f"{motion.name} has no joint positions")
    furthest = float(np.abs(motion.positions).max())
    if not furthest <= FURTHEST:
        reason = f"beyond {FURTHEST:g} rad or m a number is a mistake"
        raise _refusal(target, f"{motion.name} reaches {furthest:g}", reason, "correct the file")
    drawing = drawing or Drawing()
    curves = _curves(motion, drawing)
    refuse_without_matplotlib()
    names = [motion.name, *(one.name for one in curves), *(one.name for one in drawing.markers)]
    families, missing = fonts_for(names)
    shown, markers = curves, drawing.markers
    if missing and target.suffix.lower() == ".png":
        warn_of_letters(target, names, missing)
        shown, markers = _numbered(curves, markers, missing)
        motion = replace(motion, name="motion") if missing & set(motion.name) else motion
    with drawn_with(families, as_text=bool(missing)):
        write_figure(_figure(motion, shown, markers), target)
    return tuple(curve.name for curve in curves if drawing.robot and not curve.unit)


def write_figure(figure: Figure, target: Path) -> None:
    """Write a figure as the suffix says; a file that is there is replaced once all is written."""
    picture = io.BytesIO()
    figure.savefig(picture, format=target.suffix[1:].lower())
    with replacing(target) as out:
        out.write(picture.getbuffer())


def _numbered(
    curves: list[_Curve], markers: Sequence[Marker], missing: frozenset[str]
) -> tuple[list[_Curve], list[Marker]]:
    """Put numbers in place of names that hold letters which cannot be drawn."""
    return [replace(one, name=f"joint {one.column}") if missing & set(one.name) else one for one in curves], [
        replace(one, name=f"marker {number}") if missing & set(one.name) else one
        for number, one in enumerate(markers)
    ]


def warn_of_letters(target: Path, names: Sequence[str], missing: frozenset[str]) -> None:
    """Log which names are drawn as numbers, as no font has their letters."""
    without = listed([name for name in dict.fromkeys(names) if missing & set(name)], "'")
    hint = "install one, such as fonts-noto-cjk, or draw an .svg"
    log.warning("%s: no font has the letters of %s; numbers stand for them; %s", target, without, hint)


def refuse_other_pictures(target: Path) -> None:
    """Raise `FormatError` for a file that is called as no picture that can be drawn."""
    if target.suffix.lower() not in SUFFIXES:
        raise _refusal(target, f"its suffix '{target.suffix}' names no picture", "PNG and SVG are drawn")


def refuse_without_matplotlib() -> None:
    """Raise `PlottingUnavailable` where there is none."""
    try:
        import matplotlib.figure as _  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        problem, hint = "plot needs matplotlib; it is not installed", "pip install 'motiond[plot]'"
        raise PlottingUnavailable(f"motiond: {problem}; install it with: {hint}") from error


def _refusal(target: Path, problem: str, reason: str, hint: str = "choose another") -> FormatError:
    return FormatError([Problem(str(target), 0, problem, reason, hint)])


def _curves(motion: Motion, drawing: Drawing) -> list[_Curve]:
    known = _limits_by_joint(drawing.robot)
    joints = motion.positions.shape[1]
    names = motion.joint_names or tuple(f"joint {number}" for number in range(joints))
    if not motion.joint_names and len(known) == joints:
        names = tuple(known)
    chosen = [_column(motion, names, joint) for joint in drawing.joints] or [*range(joints)]
    return [
        _Curve(
            names[column],
            column,
            *_played(motion, motion.positions[:, column], drawing.interpolation),
            **known.get(names[column], {}),
        )
        for column in chosen
    ]


def _played(motion: Motion, rows: Floats, interpolation: Interpolation) -> tuple[Floats, Floats, Floats]:
    """Return times, positions and velocities of one joint's curve, each of shape (samples,)."""
    # As the planner does: frames with times of their own are played from rest to rest.
    times, at_rest = motion.times, not motion.is_uniform
    at = _shown_times(times)
    if interpolation in {"cubic", "smooth"}:
        slopes = curve(times, times, rows, interpolation, at_rest=at_rest)[1]
        at = np.union1d(at, _turns(times, rows, slopes))
    positions, velocities = curve(at, times, rows, interpolation, at_rest=at_rest)
    if interpolation == "hold":
        # Each row is a step within the time of one setpoint.
        spans = np.minimum(np.diff(times), 1.0 / FREE_RATE_HZ) if at_rest else np.diff(times)
        velocities[np.searchsorted(at, times[1:])] = np.diff(rows) / spans
    return at, positions, velocities


def _turns(times: Floats, rows: Floats, slopes: Floats) -> Floats:
    """Return when the cubic curve between rows is fastest, and when it turns, in any order.

    With a share s of a step that has passed, its velocity is the parabola before + linear s + square s².
    """
    steps, before, after = np.diff(times), slopes[:-1], slopes[1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        secants = np.diff(rows) / steps
        linear, square = 6.0 * secants - 4.0 * before - 2.0 * after, 3.0 * (before + after) - 6.0 * secants
        root = np.sqrt(linear**2 - 4.0 * square * before)
        sum_of = -(linear + np.copysign(root, linear)) / 2.0
        shares = np.stack([-linear / (2.0 * square), sum_of / square, before / sum_of])
        within = (shares > 0.0) & (shares < 1.0)
    turns: Floats = (times[:-1] + shares * steps)[within]
    return turns


def _column(motion: Motion, names: Sequence[str], joint: str) -> int:
    """Return the column of a joint that is given by its name or by the number of its column."""
    if joint in names:
        return names.index(joint)
    name, last = shortened(joint, 60), len(names) - 1
    if joint.isascii() and joint.isdigit():
        if len(joint) < 10 and int(joint) <= last:
            return int(joint)
        known = f"its columns are 0 to {last}"
        raise MotionError(f"{motion.name}: no column {name}; {known}; name one of them")
    hint = nearest(joint, names) or "name another, or give the number of its column"
    raise MotionError(f"{motion.name}: no joint '{name}'; it has {listed(names)}; {hint}")


def _shown_times(times: Floats) -> Floats:
    """Return the times of the rows, shape (frames,), and where these are few, times between them."""
    parts = -(-2 * MOST_SPANS // max(times.size - 1, 1))
    if times.size < 2 or parts < 2:
        return times
    between = np.linspace(times[:-1], times[1:], min(parts, 200), endpoint=False, axis=1).ravel()
    return np.append(between, times[-1])


def _limits_by_joint(robot: RobotModel | None) -> dict[str, dict[str, Any]]:
    """Return unit and limits of each coordinate of a robot."""
    return {
        coordinate.name: {
            "unit": joint.unit(number),
            "lower": coordinate.lower,
            "upper": coordinate.upper,
            "velocity_limit": coordinate.velocity_limit,
        }
        for joint in (robot.joints if robot else ())
        for number, coordinate in enumerate(joint.coordinates)
    }


def _figure(motion: Motion, curves: list[_Curve], markers: Sequence[Marker]) -> Figure:
    """Draw a pair of panels for each joint."""
    title = _title(motion, limited=any(one.unit for one in curves), marked=bool(markers))
    figure, panels = figure_of(title, len(curves), 2)
    for one, (pair, is_first) in zip(curves, panels, strict=True):
        _draw_pair(pair, one)
        _mark(pair, float(motion.times[0]), markers, named=is_first)
    return figure


def figure_of(title: str, joints: int, panels_each: int) -> tuple[Figure, list[tuple[NDArray[Any], bool]]]:
    """Return a figure with panels for each joint, in columns; and these, and whether a column begins."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    columns = min(len(PANEL_WIDTHS_IN), -(-joints // PAIRS_IN_COLUMN))
    rows = -(-joints // columns)
    size = (2 * columns * PANEL_WIDTHS_IN[columns - 1], rows * PANEL_HEIGHT_IN + 1.0)
    figure = Figure(figsize=size, dpi=110)
    figure.suptitle(title, fontsize=10, parse_math=False)
    panels = figure.subplots(rows, panels_each * columns, squeeze=False)
    # Fixed margins, and no axes shared: for so many panels, either of these takes matplotlib seconds more.
    left, top, bottom = 0.65 / size[0], 0.6 / size[1], 0.45 / size[1]
    figure.subplots_adjust(left, bottom, 1 - left / 4, 1 - top, wspace=0.28, hspace=0.42)
    found = []
    for number in range(rows * columns):
        column, row = divmod(number, rows)
        own = panels[row, panels_each * column : panels_each * (column + 1)]
        is_last = row == rows - 1 or number == joints - 1
        for panel in own:
            panel.set_visible(number < joints)
            panel.tick_params(labelbottom=is_last)
            panel.set_xlabel("time in s" if is_last else "", fontsize=7)
        if number < joints:
            found.append((own, row == 0))
    return figure, found


def _title(motion: Motion, *, limited: bool, marked: bool) -> str:
    timing = f"{motion.duration_s:g} s, {len(motion.times)} frames at {motion.frame_rate:g}/s"
    legend = ("; dashed: limits; red: beyond them" if limited else "") + (
        "; dotted: markers" if marked else ""
    )
    return f"{motion.name}: {timing}{legend}"


def _draw_pair(pair: NDArray[Any], one: _Curve) -> None:
    unit = one.unit or "rad or m"
    below, upper, bound = with_rounding(np.array([-one.lower, one.upper, one.velocity_limit]))
    _draw(pair[0], one.times, one.positions, (-below, upper), one.unit)
    _draw(pair[1], one.times, one.velocities, (-bound, bound), one.unit)
    for panel, title in zip(pair, (unit, f"{unit}/s" if one.unit else f"({unit})/s"), strict=True):
        name_panel(panel, f"{one.name} in {title}")


def name_panel(panel: Axes, title: str) -> None:
    """Write what a panel shows above it."""
    panel.set_title(title, fontsize=8, loc="left", pad=2, parse_math=False)


def _mark(pair: NDArray[Any], start_s: float, markers: Sequence[Marker], *, named: bool) -> None:
    """Draw markers as dotted lines, with their names where they have room."""
    if not markers:
        return
    times = [start_s + marker.time_s for marker in markers]
    for panel in pair:
        place = panel.get_xaxis_transform()
        panel.vlines(times, 0.0, 1.0, MARKED, transform=place, linewidth=0.7, linestyle=":")
        for time_s, marker in zip(times[:MOST_NAMES], markers, strict=False) if named else ():
            label = f" {marker.name}"
            panel.text(
                time_s, 0.02, label, transform=place, rotation=90, fontsize=6, color=MARKED, parse_math=False
            )


def _draw(panel: Axes, times: Floats, values: Floats, limits: tuple[float, float], unit: str) -> None:
    at, shown = _thinned(times, values)
    panel.plot(at, shown, color=CURVE, linewidth=1.0)
    excess = np.maximum(limits[0] - shown, shown - limits[1])
    if (excess > 0.0).any():
        panel.plot(at, np.where(excess > 0.0, shown, np.nan), color=BEYOND, linewidth=1.8)
        short = _short_runs(at, excess)
        panel.plot(at[short], shown[short], color=BEYOND, linestyle="none", marker="o", markersize=3.5)
    for limit in filter(np.isfinite, limits):
        panel.axhline(limit, color=BEYOND, linewidth=0.8, linestyle="--")
    finish_panel(panel, unit)


def finish_panel(panel: Axes, unit: str) -> None:
    """Scale a panel in which all is drawn, and draw its grid."""
    lowest, highest = panel.get_ylim()
    spare = SMALLEST_SPAN.get(unit, SMALLEST_SPAN["rad"]) - (highest - lowest)
    if spare > 0:
        panel.set_ylim(lowest - spare / 2, highest + spare / 2)
    panel.margins(x=0)
    panel.grid(visible=True, linewidth=0.4, alpha=0.5)
    panel.locator_params(axis="y", nbins=4)
    panel.tick_params(labelsize=7, length=2)


def _thinned(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Keep the lowest and the highest value of each of many short spans of a long series."""
    if times.size <= 2 * MOST_SPANS:
        return times, values
    starts = np.linspace(0, times.size, MOST_SPANS, endpoint=False, dtype=np.intp)
    ends = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.repeat(times[starts], 2), np.stack(ends, axis=1).ravel()


def _short_runs(times: Floats, excess: Floats) -> list[int]:
    """Return the worst sample of each run above zero that is too short to be seen as a line."""
    edges = np.flatnonzero(np.diff((excess > 0.0).astype(np.int8), prepend=0, append=0)).reshape(-1, 2)
    least = SHORT * (times[-1] - times[0])
    return [
        int(begin + excess[begin:end].argmax())
        for begin, end in edges
        if times[end - 1] - times[begin] <= least
    ]
