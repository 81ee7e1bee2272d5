"""A recording as a picture (PNG or SVG): where each joint should have been, where it was, and the error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from motiond.formats import MotionError
from motiond.text import listed, nearest, shortened

from ..plot import (
    BEYOND,
    CURVE,
    MARKED,
    figure_of,
    finish_panel,
    name_panel,
    refuse_other_pictures,
    refuse_without_matplotlib,
    warn_of_letters,
    write_figure,
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

    Raises FormatError if the suffix is another one, or the file cannot be written; MotionError if the
    recording lacks a joint that is to be drawn; PlottingUnavailable if matplotlib is not installed.
    """
    refuse_other_pictures(target)
    columns = [_column(run, joint) for joint in joints] or [*range(len(run.about["joints"]))]
    refuse_without_matplotlib()
    names = [run.about["joints"][column] for column in columns]
    families, missing = fonts_for([run.about["name"], *names])
    if missing and target.suffix.lower() == ".png":
        warn_of_letters(target, names, missing)
        names = [
            f"joint {column}" if missing & set(name) else name
            for column, name in zip(columns, names, strict=True)
        ]
    with drawn_with(families, as_text=bool(missing)):
        write_figure(_figure(run, columns, names, errors=errors), target)


def _column(run: Run, joint: str) -> int:
    known: list[str] = run.about["joints"]
    if joint in known:
        return known.index(joint)
    name, hint = shortened(joint, 60), nearest(joint, known) or "name another"
    raise MotionError(f"{run.about['name']}: no joint '{name}'; it has {listed(known)}; {hint}")


def _figure(run: Run, columns: Sequence[int], names: Sequence[str], *, errors: bool) -> Figure:
    """Draw one panel or two for each joint."""
    figure, panels = figure_of(_title(run), len(columns), 2 if errors else 1)
    for column, name, (own, _) in zip(columns, names, panels, strict=True):
        _draw_joint(own, run, column, name)
    return figure


def _title(run: Run) -> str:
    about = run.about
    legend = "blue: feedback; grey: reference; red, dotted: gaps"
    return f"{about['name']}: {about['duration_s']:.3f} s, {about['ticks']} ticks; {legend}"


def _draw_joint(panels: Any, run: Run, column: int, name: str) -> None:
    unit = run.about["units"][column]
    _draw(panels[0], run, [(run.reference[:, column], MARKED), (run.feedback[:, column], CURVE)], unit)
    name_panel(panels[0], f"{name} in {unit}")
    if len(panels) > 1:
        _draw(panels[1], run, [(run.error[:, column], BEYOND)], unit)
        name_panel(panels[1], f"error of {name} in {unit}")


def _draw(panel: Axes, run: Run, curves: Sequence[tuple[Floats, str]], unit: str) -> None:
    for values, colour in curves:
        panel.plot(run.times, values, color=colour, linewidth=1.0)
    gaps = [gap["time"] for gap in run.about["gaps"]]
    panel.vlines(gaps, 0.0, 1.0, BEYOND, transform=panel.get_xaxis_transform(), linewidth=0.8, linestyle=":")
    finish_panel(panel, unit)
