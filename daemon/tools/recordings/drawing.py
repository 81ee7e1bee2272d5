"""A recording as a picture (PNG or SVG): where each joint should have been, where it was, and the error."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.formats import MotionError
from motiond.formats.io import replacing
from motiond.text import listed, nearest, shortened

from ..plot import (
    BEYOND,
    CURVE,
    MARKED,
    PAIRS_IN_COLUMN,
    PANEL_HEIGHT_IN,
    PANEL_WIDTHS_IN,
    SMALLEST_SPAN,
    refuse_other_pictures,
    refuse_without_matplotlib,
    warn_of_letters,
)
from ..plot_fonts import drawn_with, fonts_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from motiond.formats import Run
    from motiond.formats.arrays import Floats


def plot_run(run: Run, target: Path, joints: Sequence[str] = (), *, errors: bool = False) -> None:
    """Draw the reference and the feedback of joints, by default of all, into a .png or .svg.

    `errors`: whether the error stands beside them.

    Raises
    ------
    FormatError
        If the suffix is another one, or the file cannot be written.
    MotionError
        If the recording lacks a joint that is to be drawn.
    PlottingUnavailable
        If matplotlib is not installed.
    """
    refuse_other_pictures(target)
    columns = [_column(run, joint) for joint in joints] or [*range(len(run.about["joints"]))]
    refuse_without_matplotlib()
    names = [run.about["joints"][column] for column in columns]
    families, missing = fonts_for([run.about["name"], *names])
    kind = target.suffix[1:].lower()
    if missing and kind == "png":
        warn_of_letters(target, names, missing)
        names = [
            f"joint {column}" if missing & set(name) else name
            for column, name in zip(columns, names, strict=True)
        ]
    picture = io.BytesIO()
    with drawn_with(families, as_text=bool(missing)):
        _figure(run, columns, names, errors=errors).savefig(picture, format=kind)
    with replacing(target) as out:
        out.write(picture.getbuffer())


def _column(run: Run, joint: str) -> int:
    known: list[str] = run.about["joints"]
    if joint in known:
        return known.index(joint)
    name, hint = shortened(joint, 60), nearest(joint, known) or "name another"
    raise MotionError(f"{run.about['name']}: no joint '{name}'; it has {listed(known)}; {hint}")


def _figure(run: Run, columns: Sequence[int], names: Sequence[str], *, errors: bool) -> Figure:
    """Draw one panel or two for each joint, in columns, one below the other."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    across = min(len(PANEL_WIDTHS_IN), -(-len(columns) // PAIRS_IN_COLUMN))
    rows, panels_each = -(-len(columns) // across), 2 if errors else 1
    width = 2 * across * PANEL_WIDTHS_IN[across - 1]
    size = (width, rows * PANEL_HEIGHT_IN + 1.0)
    figure = Figure(figsize=size, dpi=110)
    figure.suptitle(_title(run), fontsize=10, parse_math=False)
    panels = figure.subplots(rows, panels_each * across, squeeze=False)
    left, top, bottom = 0.65 / size[0], 0.6 / size[1], 0.45 / size[1]
    figure.subplots_adjust(left, bottom, 1 - left / 4, 1 - top, wspace=0.28, hspace=0.42)
    for number in range(rows * across):
        column, row = divmod(number, rows)
        own = panels[row, panels_each * column : panels_each * (column + 1)]
        if number >= len(columns):
            for panel in own:
                panel.set_visible(False)
            continue
        is_last = row == rows - 1 or number == len(columns) - 1
        _draw_joint(own, run, columns[number], names[number], is_last=is_last)
    return figure


def _title(run: Run) -> str:
    about = run.about
    legend = "blue: feedback; grey: reference; red, dotted: gaps"
    return f"{about['name']}: {about['duration_s']:.3f} s, {about['ticks']} ticks; {legend}"


def _draw_joint(panels: Any, run: Run, column: int, name: str, *, is_last: bool) -> None:
    unit = run.about["units"][column]
    curves = [(run.reference[:, column], MARKED), (run.feedback[:, column], CURVE)]
    _draw(panels[0], run, curves, unit)
    panels[0].set_title(f"{name} in {unit}", fontsize=8, loc="left", pad=2, parse_math=False)
    if len(panels) > 1:
        _draw(panels[1], run, [(run.error[:, column], BEYOND)], unit)
        panels[1].set_title(f"error of {name} in {unit}", fontsize=8, loc="left", pad=2, parse_math=False)
    for panel in panels:
        panel.tick_params(labelbottom=is_last)
        if is_last:
            panel.set_xlabel("time in s", fontsize=7)


def _draw(panel: Axes, run: Run, curves: Sequence[tuple[Floats, str]], unit: str) -> None:
    for values, colour in curves:
        panel.plot(run.times, values, color=colour, linewidth=1.0)
    gaps = [gap["time"] for gap in run.about["gaps"]]
    panel.vlines(gaps, 0.0, 1.0, BEYOND, transform=panel.get_xaxis_transform(), linewidth=0.8, linestyle=":")
    lowest, highest = panel.get_ylim()
    spare = SMALLEST_SPAN.get(unit, SMALLEST_SPAN["rad"]) - (highest - lowest)
    if np.isfinite(spare) and spare > 0:
        panel.set_ylim(lowest - spare / 2, highest + spare / 2)
    panel.margins(x=0)
    panel.grid(visible=True, linewidth=0.4, alpha=0.5)
    panel.locator_params(axis="y", nbins=4)
    panel.tick_params(labelsize=7, length=2)
