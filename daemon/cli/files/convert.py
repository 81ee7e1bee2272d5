"""`convert`: from one file to another."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output import DONE, Force, report
from .options import (
    FileRate,
    InterpolationName,
    MapFile,
    MotionOfFile,
    RobotOfFile,
    Topic,
    Units,
    hints_for_options,
    names_in,
    reading_options,
)

if TYPE_CHECKING:
    from motiond.formats import Motion, RobotModel

app = typer.Typer()

SourceFile = Annotated[Path, typer.Argument(metavar="IN", help="A motion or a robot description.")]
TargetFile = Annotated[
    Path, typer.Argument(metavar="OUT", help="The file to write; its suffix names the format.")
]
KeptJoints = Annotated[str | None, typer.Option(metavar="A,B,…", help="The joints to keep, in this order.")]
Renamed = Annotated[
    list[str] | None, typer.Option(metavar="OLD=NEW", help="Another name for a joint; may be repeated.")
]
GivenNames = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Names for the joints of a motion that has none.")
]
Rate = Annotated[float | None, typer.Option(metavar="HZ", help="Frames per second; the file's by default.")]
MaybeInterpolation = Annotated[
    InterpolationName | None,
    typer.Option(help="Between rows (cubic by default) and between key frames (linear by default)."),
]
FormatName = Annotated[
    str | None, typer.Option("--format", help="The format's name, where the suffix does not say it.")
]
SeqVersion = Annotated[int | None, typer.Option(help="Of .seq, 1 to 4; 4 by default.")]
Precision = Annotated[int, typer.Option(min=1, max=17, help="Significant digits; 17 are all there are.")]
Exact = Annotated[bool, typer.Option("--exact", help="Times to the bit, too.")]
Tolerance = Annotated[
    float | None,
    typer.Option(metavar="RAD|M", help="Of XMDI: how far lines between key frames may pass from rows."),
]
FramePeriod = Annotated[
    float | None, typer.Option(metavar="S", help="Of XMDI, read or written; 0.032 by default.")
]
Dropped = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="What may be lost, if it is there; may be repeated."),
]
AllowShort = Annotated[
    bool, typer.Option("--allow-short", help="Also a motion with fewer frames than its file states.")
]


@app.command()
def convert(
    context: typer.Context,
    source: SourceFile,
    target: TargetFile,
    *,
    name: RobotOfFile = None,
    motion: MotionOfFile = None,
    joints: KeptJoints = None,
    rename: Renamed = None,
    joint_names: GivenNames = None,
    rate: Rate = None,
    interpolation: MaybeInterpolation = None,
    written_as: FormatName = None,
    seq_version: SeqVersion = None,
    precision: Precision = 17,
    exact: Exact = False,
    tolerance: Tolerance = None,
    frame_period: FramePeriod = None,
    map_file: MapFile = None,
    units: Units = None,
    file_rate: FileRate = None,
    topic: Topic = None,
    drop: Dropped = None,
    allow_short: AllowShort = False,
    force: Force = False,
) -> None:
    """Convert a motion file or a robot description.

    Nothing is lost that --drop does not name.
    """
    from rich.console import Console

    from ...tools.batch import progress_if_slow
    from ...tools.convert import Conversion, convert_file, convert_robot, holds_robot

    wanted = Conversion(
        motion=motion,
        robot=name,
        joint_names=names_in(joint_names),
        joints=names_in(joints),
        renamed=_pairs(rename or ()),
        rate_hz=rate,
        interpolation=interpolation,
        format=written_as,
        version=seq_version,
        precision=None if exact else precision,
        tolerance=tolerance,
        frame_period_s=frame_period,
        reading=reading_options(map_file, units, file_rate, topic),
        drop=drop or (),
        allow_short=allow_short,
        overwrite=force,
    )
    with hints_for_options(), progress_if_slow(Console(stderr=True), f"converting {source.name}", None):
        if holds_robot(source):
            _refuse_others(context, "a motion", {*_OF_ALL, "name"})
            _report_robot(target, *convert_robot(source, target, wanted))
        else:
            _refuse_others(context, "a robot", {*context.params} - {"name"})
            report_written(target, convert_file(source, target, wanted))


# The options of `convert` that are for whatever is converted.
_OF_ALL = ("written_as", "drop", "force")


def _refuse_others(context: typer.Context, kind: str, taken: set[str]) -> None:
    """Refuse options of the command line that are for another kind of content."""
    for one in context.command.params:
        source = context.get_parameter_source(one.name or "")
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and one.param_type_name == "option" and one.name not in taken:
            raise typer.BadParameter(f"it is for {kind}; remove it", param_hint=one.opts[0])


def _report_robot(target: Path, written: "RobotModel", warnings: Iterable[str]) -> None:
    from motiond.text import printable

    for warning in warnings:
        report(f"warning: {warning}", DONE)
    parts = f"{sum(bool(joint.coordinates) for joint in written.joints)} joints, {len(written.links)} links"
    typer.echo(f"{printable(str(target))}: {written.name}; {parts}")


def report_written(target: Path, written: "Motion") -> None:
    """Say which motion a file has by now."""
    from motiond.text import printable

    for warning in written.warnings:
        report(f"warning: {warning}", DONE)
    timing = f"{written.duration_s:g} s, {len(written.times)} frames at {written.frame_rate:g}/s"
    name = printable(str(target))
    typer.echo(f"{name}: {written.name}; {timing}, {written.positions.shape[1]} joints")


def _pairs(texts: Iterable[str]) -> dict[str, str]:
    """Take `old=new` apart."""
    pairs = [text.partition("=") for text in texts]
    for old, _, new in pairs:
        if not old or not new:
            raise typer.BadParameter("it is OLD=NEW; write both names", param_hint="--rename")
    return {old: new for old, _, new in pairs}
