"""`recording`: recordings listed, shown, drawn, and written as motions; only a robot's list asks a daemon."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..output import AsJson, Force, as_listed, print_json, print_table, show_subcommands
from ..requests.broker import Client, asks_a_daemon
from ..requests.request import ask
from . import evidence
from .convert import Dropped, FormatName, Rate, report_written
from .options import hints_for_options, names_in

recording = typer.Typer(
    name="recording",
    invoke_without_command=True,
    callback=show_subcommands,
    help="Look at recordings, and make motions of them.",
)
recording.add_typer(evidence.app)
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
    from motiond.text import printable

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
    from motiond.text import printable

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
