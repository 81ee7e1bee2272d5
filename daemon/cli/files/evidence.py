"""`recording evidence`: what a recording proves of each run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiond.text import printable

from ..output import DONE, FAILED, Force, print_table

if TYPE_CHECKING:
    from ...tools.recordings import RunEvidence

app = typer.Typer()


@app.command()
def evidence(
    file: Annotated[Path, typer.Argument(help="A recording.")],
    *,
    json: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write all of it as JSON.", show_default=False)
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write it as JUnit XML, a test case for each run.")
    ] = None,
    force: Force = False,
) -> int:
    """Show what a recording proves: limits, errors, verdicts.

    Exit code 1 if a run has failed, or none has passed.
    """
    from ...tools.convert import refuse_overwriting
    from ...tools.recordings import evidence_of

    targets = [target for target in (json, junit) if target is not None]
    for target in targets:
        refuse_overwriting(target, forced=force)
    found = evidence_of(file)
    if json is not None:
        found.write_json(json)
    if junit is not None:
        found.write_junit(junit)
    for run in found.runs:
        typer.echo(f"{printable(run.motion)}: {run.verdict}; {_ending(run)}")
        _show(run)
    for target in targets:
        typer.echo(f"{printable(str(target))}: written")
    typer.echo(f"{printable(str(file))}: {found.verdict}; {len(found.runs)} runs")
    return DONE if found.verdict == "passed" else FAILED


def _ending(run: "RunEvidence") -> str:
    code = run.result["code"] if run.result else "no result"
    return "; ".join([f"{run.duration_s:g} s, {code}", *map(printable, run.reasons)])


_KINDS = ("lower", "upper", "velocity", "acceleration")


def _show(run: "RunEvidence") -> None:
    if not run.joints:
        return
    rows = [
        (
            joint.joint,
            joint.unit,
            "" if joint.error is None else f"{joint.error:.4g}",
            "" if joint.error_rms is None else f"{joint.error_rms:.4g}",
            *(f"{joint.shares[kind]:.0%}" if kind in joint.shares else "" for kind in _KINDS),
        )
        for joint in run.joints
    ]
    print_table(["joint", "unit", "error", "RMS", *_KINDS], rows, ["joint", "unit"])
