"""A motion as a picture (PNG or SVG): each joint's positions and velocities over time, and a robot's limits.

Drawn with matplotlib, the extra `plot`.

    RuntimeError
    └── PlottingUnavailable  matplotlib is not installed
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from motiond.formats import FormatError, Problem
from motiond.formats.io.output import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from motiond.formats import Motion, RobotModel
    from motiond.formats.arrays import Floats


SUFFIXES = (".png", ".svg")

# Joints stand below each other, in further columns from here on, and then as many as there are.
PAIRS_IN_COLUMN = 10
PANEL_HEIGHT_IN = 1.15
# Of one panel where there are one, two or three columns of pairs.
PANEL_WIDTHS_IN = (4.5, 3.4, 2.7)
# In rad or m: what stays within so little is drawn as the line that it is, not as its rounding.
SMALLEST_SPAN = 0.01
# More than a panel can show.
MOST_SPANS = 1000
CURVE, BEYOND = "#1f5fa8", "#c62828"


class PlottingUnavailable(RuntimeError):
    """Matplotlib is not installed."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class _Curve:
    """What one joint's pair of panels shows; `positions` and `velocities` are (frames,)."""

    name: str
    unit: str
    positions: Floats
    velocities: Floats
    lower: float = -np.inf
    upper: float = np.inf
    velocity_limit: float = np.inf


def plot_motion(motion: Motion, target: Path, robot: RobotModel | None = None) -> tuple[str, ...]:
    """Draw a motion into a file; one that is there already is replaced once all is drawn.

    Parameters
    ----------
    target : Path
        With the suffix .png or .svg.
    robot : RobotModel, optional
        Whose units and limits are drawn too, for the joints that it shares with the motion. A motion without
        names shares all, in order, if it has as many.

    Returns
    -------
    tuple of str
        The motion's joints that the robot lacks.

    Raises
    ------
    FormatError
        If the suffix is another one, the motion has no joints, or the file cannot be written.
    PlottingUnavailable
        If matplotlib is not installed.
    """
    if target.suffix.lower() not in SUFFIXES:
        raise _refusal(target, f"its suffix '{target.suffix}' names no picture", "PNG and SVG are drawn")
    if not motion.positions.shape[1]:
        raise _refusal(target, "there is nothing to draw", f"{motion.name} has no joint positions")
    curves = _curves(motion, robot)
    picture = io.BytesIO()
    _figure(motion, curves).savefig(picture, format=target.suffix[1:].lower())
    with replacing(target) as out:
        out.write(picture.getbuffer())
    return tuple(curve.name for curve in curves if robot and not curve.unit)


def _refusal(target: Path, what: str, why: str) -> FormatError:
    return FormatError([Problem(str(target), 0, what, why, "choose another")])


def _curves(motion: Motion, robot: RobotModel | None) -> list[_Curve]:
    told = _told_by(robot)
    joints = motion.positions.shape[1]
    names = motion.joint_names or tuple(f"joint {number}" for number in range(joints))
    if not motion.joint_names and len(told) == joints:
        names = tuple(told)
    velocities = motion.derivatives()[0]
    return [
        _Curve(name, positions=position, velocities=velocity, **told.get(name, {"unit": ""}))
        for name, position, velocity in zip(names, motion.positions.T, velocities.T, strict=True)
    ]


def _told_by(robot: RobotModel | None) -> dict[str, dict[str, Any]]:
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


def _figure(motion: Motion, curves: list[_Curve]) -> Figure:
    """Draw a pair of panels for each joint, the pairs in columns, one below the other."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError as error:
        what, mend = "plot needs matplotlib; it is not installed", "pip install 'motiond[plot]'"
        raise PlottingUnavailable(f"motiond: {what}; install it with: {mend}") from error
    columns = min(len(PANEL_WIDTHS_IN), -(-len(curves) // PAIRS_IN_COLUMN))
    rows = -(-len(curves) // columns)
    size = (2 * columns * PANEL_WIDTHS_IN[columns - 1], rows * PANEL_HEIGHT_IN + 1.0)
    figure = Figure(figsize=size, dpi=110)
    figure.suptitle(_title(motion, limited=any(curve.unit for curve in curves)), fontsize=10)
    panels = figure.subplots(rows, 2 * columns, squeeze=False)
    # Fixed margins, and no axes shared: for so many panels, either of these takes matplotlib seconds more.
    left, top, bottom = 0.65 / size[0], 0.6 / size[1], 0.45 / size[1]
    figure.subplots_adjust(left, bottom, 1 - left / 4, 1 - top, wspace=0.28, hspace=0.42)
    for number in range(rows * columns):
        column, row = divmod(number, rows)
        pair = panels[row, 2 * column : 2 * column + 2]
        if number < len(curves):
            _draw_pair(pair, motion.times, curves[number])
            is_last = row == rows - 1 or number == len(curves) - 1
            _label_times(pair, is_last=is_last)
        else:
            for panel in pair:
                panel.set_visible(False)
    return figure


def _title(motion: Motion, *, limited: bool) -> str:
    timing = f"{motion.duration_s:g} s, {len(motion.times)} frames at {motion.frame_rate:g}/s"
    return f"{motion.name}: {timing}" + ("; dashed: limits; red: beyond them" if limited else "")


def _draw_pair(pair: NDArray[Any], times: Floats, curve: _Curve) -> None:
    unit, bound = curve.unit or "rad or m", curve.velocity_limit
    _draw(pair[0], times, curve.positions, (curve.lower, curve.upper))
    _draw(pair[1], times, curve.velocities, (-bound, bound))
    for panel, title in zip(pair, (unit, f"{unit}/s" if curve.unit else f"({unit})/s"), strict=True):
        panel.set_title(f"{curve.name} in {title}", fontsize=8, loc="left", pad=2)


def _draw(panel: Axes, times: Floats, values: Floats, limits: tuple[float, float]) -> None:
    at, shown = _thinned(times, values)
    panel.plot(at, shown, color=CURVE, linewidth=1.0)
    beyond = (shown < limits[0]) | (shown > limits[1])
    if beyond.any():
        panel.plot(at, np.where(beyond, shown, np.nan), color=BEYOND, linewidth=1.8)
    for limit in filter(np.isfinite, limits):
        panel.axhline(limit, color=BEYOND, linewidth=0.8, linestyle="--")
    lowest, highest = panel.get_ylim()
    spare = SMALLEST_SPAN - (highest - lowest)
    if spare > 0:
        panel.set_ylim(lowest - spare / 2, highest + spare / 2)
    panel.margins(x=0)
    panel.grid(visible=True, linewidth=0.4, alpha=0.5)
    panel.locator_params(axis="y", nbins=4)
    panel.tick_params(labelsize=7, length=2)


def _label_times(pair: NDArray[Any], *, is_last: bool) -> None:
    for panel in pair:
        panel.tick_params(labelbottom=is_last)
        if is_last:
            panel.set_xlabel("time in s", fontsize=7)


def _thinned(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Keep the lowest and the highest value of each of many short spans of a long series."""
    if times.size <= 2 * MOST_SPANS:
        return times, values
    starts = np.linspace(0, times.size, MOST_SPANS, endpoint=False, dtype=np.intp)
    ends = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.repeat(times[starts], 2), np.stack(ends, axis=1).ravel()
