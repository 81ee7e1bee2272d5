"""`recording`: recordings listed, shown, drawn, judged, written as motions; a robot's list asks a daemon."""

from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from motiond.text import printable

from ..output import DONE, FAILED, AsJson, Force, as_listed, print_json, print_table, show_subcommands
from ..requests.broker import Client, asks_a_daemon
from ..requests.request import ask
from .convert import Dropped, FormatName, Rate, report_written
from .options import hints_for_options, names_in

if TYPE_CHECKING:
    from ...tools.recordings import RunEvidence

recording = typer.Typer(
    name="recording",
    invoke_without_command=True,
    callback=show_subcommands,
    help="Look at recordings, and make motions of them.",
)
app = typer.Typer()
app.add_typer(recording)

RecordingFile = Annotated[Path, typer.Argument(help="A recording (.mcap), finished or not.")]
Source = Annotated[
    Literal["reference", "feedback"] | None,
    typer.Option(help="What was commanded, or what was measured; the former where something was played."),
]


@recording.command("list")
@asks_a_daemon
def list_(
    where: Annotated[str, typer.Argument(help="A folder, or a robot of a daemon.")] = ".",
    *,
    client: Client,
    json: AsJson = False,
) -> None:
    """List the recordings in a folder, or of a robot, the newest first."""
    from ...tools.recordings import RECORDING_COLUMNS, list_recordings, recording_row

    folder = Path(where)
    answer: dict[str, Any]
    if folder.is_dir():
        recordings = list_recordings(folder)
        answer = {"recordings": recordings, "bytes": sum(one["bytes"] for one in recordings)}
    else:
        answer = ask(client, as_listed(where), "recordings")
    if json:
        print_json(answer)
    elif answer["recordings"]:
        texts = {"name", "began", "why", "played", ""}
        print_table(RECORDING_COLUMNS, map(recording_row, answer["recordings"]), texts)
    else:
        typer.echo(f"{printable(where)}: no recordings")


@recording.command()
def show(file: RecordingFile, *, json: AsJson = False) -> None:
    """Show what happened in a recording, and the errors of its joints."""
    from rich.console import Console

    from motiond.formats import load_run

    from ...tools.batch import progress_if_slow
    from ...tools.recordings import show_run

    with progress_if_slow(Console(stderr=True), f"reading {file.name}", None):
        run = load_run(file)
    if json:
        print_json(run.about)
    else:
        show_run(run, Console())


@recording.command()
def plot(
    file: RecordingFile,
    output: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="A .png or .svg; by default FILE's name with .png, here."),
    ] = None,
    *,
    joints: Annotated[str | None, typer.Option(metavar="A,B,…", help="The joints to draw.")] = None,
    errors: Annotated[bool, typer.Option("--errors", help="The error beside each of them.")] = False,
    force: Force = False,
) -> None:
    """Draw where each joint should have been, and where it was."""
    from rich.console import Console

    from motiond.formats import load_run

    from ...tools.batch import progress_if_slow
    from ...tools.convert import refuse_overwriting
    from ...tools.recordings import plot_run

    target = output or Path(f"{file.stem}.png")
    refuse_overwriting(target, forced=force)
    with progress_if_slow(Console(stderr=True), f"drawing {file.name}", None):
        plot_run(load_run(file), target, names_in(joints), errors=errors)
    typer.echo(f"{printable(str(target))}: drawn")


@recording.command()
def export(
    file: RecordingFile,
    target: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file to write; its suffix names the format.")
    ],
    *,
    source: Source = None,
    goal: Annotated[int | None, typer.Option(min=1, metavar="N", help="Which of several goals.")] = None,
    whole: Annotated[bool, typer.Option("--whole", help="All ticks, and not those of a goal.")] = False,
    rate: Rate = None,
    written_as: FormatName = None,
    drop: Dropped = None,
    force: Force = False,
) -> None:
    """Write what was played as a motion: CSV, NPZ, .seq and others.

    Nothing is lost that --drop does not name.
    """
    from rich.console import Console

    from motiond.formats import ReadOptions
    from motiond.formats.io import Topic

    from ...tools.batch import progress_if_slow
    from ...tools.convert import Conversion
    from ...tools.recordings import export_recording

    if whole and goal is not None:
        raise typer.BadParameter("--goal and --whole exclude each other; choose one", param_hint="--goal")
    topics = {"reference": Topic.REFERENCE, "feedback": Topic.FEEDBACK}
    reading = ReadOptions(topic=topics.get(source or ("reference" if whole else "")), whole=whole)
    wanted = Conversion(
        rate_hz=rate, format=written_as, precision=None, reading=reading, drop=drop or (), overwrite=force
    )
    with hints_for_options(), progress_if_slow(Console(stderr=True), f"reading {file.name}", None):
        written = export_recording(file, target, wanted, goal)
    report_written(target, written)


@recording.command()
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

    _refuse_one_over_another(file, json, junit)
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
        _show_joints(run)
    for target in targets:
        typer.echo(f"{printable(str(target))}: written")
    typer.echo(f"{printable(str(file))}: {found.verdict}; {len(found.runs)} runs")
    return DONE if found.verdict == "passed" else FAILED


def _refuse_one_over_another(file: Path, json: Path | None, junit: Path | None) -> None:
    taken = {realpath(file): "the recording"}
    for target, option in ((json, "--json"), (junit, "--junit")):
        if target is None:
            continue
        if has := taken.get(realpath(target)):
            problem = f"{printable(str(target))} is {has}; name another file"
            raise typer.BadParameter(problem, param_hint=option)
        taken[realpath(target)] = f"that of {option}, too"


def _ending(run: "RunEvidence") -> str:
    code = run.result["code"] if run.result else "no result"
    return "; ".join([f"{run.duration_s:g} s, {code}", *map(printable, run.reasons)])


_KINDS = ("lower", "upper", "velocity", "acceleration")


def _show_joints(run: "RunEvidence") -> None:
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
