"""`compare`: two runs beside each other."""

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from motiond.text import printable

from ..output import DONE, FAILED, AsJson, print_json, print_table, report

if TYPE_CHECKING:
    from ...tools.compare import RunDifference

app = typer.Typer()

A_RUN = "A recording, a trace of a dry run, or a motion."


@app.command()
def compare(
    one: Annotated[Path, typer.Argument(metavar="RUN", help=A_RUN)],
    other: Annotated[Path, typer.Argument(metavar="RUN", help=A_RUN)],
    *,
    rad: Annotated[
        float,
        typer.Option(metavar="RAD", min=0, help="How far joints that turn may differ."),
    ] = 0.01,
    m: Annotated[
        float, typer.Option("--m", metavar="M", min=0, help="How far those that slide may.")
    ] = 0.001,
    source: Annotated[
        Literal["reference", "feedback"],
        typer.Option(help="What was commanded, or measured, in recordings and traces."),
    ] = "reference",
    json: AsJson = False,
) -> int:
    """Show where two runs differ beyond a bound.

    They are laid beside each other from the first row of the motion. Exit code 1 if they differ, 2 if one
    cannot be read.
    """
    from ...tools.compare import Bounds, compare_files

    for option, bound in (("--rad", rad), ("--m", m)):
        if not isfinite(bound):  # typer's bounds let it pass
            problem = f"{bound} is no bound; give a finite number, how far joints may be off"
            raise typer.BadParameter(problem, param_hint=option)
    found = compare_files(one, other, source, Bounds(rad, m))
    if json:
        print_json(found.payload())
        return DONE if found.is_alike else FAILED
    for number, run in enumerate(found.runs, 1):
        which = f"run {number}: " if len(found.runs) > 1 else ""
        _show(run)
        for note in run.notes:
            report(f"{which}{note}; this does not count", DONE)
        for problem in run.problems:
            typer.echo(f"{which}{problem}")
    for problem in found.others:
        typer.echo(problem)
    verdict = "are alike" if found.is_alike else "differ"
    typer.echo(f"{printable(str(one))} and {printable(str(other))} {verdict}")
    return DONE if found.is_alike else FAILED


def _show(run: "RunDifference") -> None:
    rows = [
        (
            each.joint,
            f"{each.largest:.4g}",
            f"{each.time_s:.3f}",
            f"{each.rms:.4g}",
            f"{each.bound:g}",
            each.unit,
        )
        for each in run.joints
    ]
    print_table(["joint", "largest", "at s", "RMS", "bound", "unit"], rows, ["joint", "unit"])
