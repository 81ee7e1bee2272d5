"""The subcommands for files, which need no daemon: what is in them, whether they fit, converted, drawn."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from motiond.text import printable

from .output import DONE, FAILED, AsJson, ConfigFile, Force, config_of, print_json, report

if TYPE_CHECKING:
    from motiond.formats import Motion, ReadOptions, RobotModel

    from ..tools.check import Finding

app = typer.Typer()

RobotOfFile = Annotated[
    str | None, typer.Option("--name", help="Which robot of the description, where it holds several.")
]
MotionOfFile = Annotated[
    str | None, typer.Option("--motion", help="Which motion of the file, where it holds several.")
]
InterpolationName = Literal["hold", "linear", "cubic", "smooth"]
MapFile = Annotated[
    Path | None,
    typer.Option("--map", metavar="FILE", help="A motion map: columns to joints, with signs and units."),
]
Unit = Literal["rad", "deg", "m", "cm", "mm", "SI"]
Units = Annotated[
    Unit | None, typer.Option(help="Of columns for which neither the file nor the map states one.")
]
FileRate = Annotated[
    float | None, typer.Option("--file-rate", metavar="HZ", help="Rows per second of a file without times.")
]
Topic = Annotated[
    str | None, typer.Option(metavar="NAME", help="Which topic of a recording that holds several.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many processes read files at once.")]


@app.command()
def inspect(
    files: Annotated[list[Path], typer.Argument(help="Robot descriptions and motions.")],
    jobs: Jobs = 1,
    *,
    map_file: MapFile = None,
    units: Units = None,
    file_rate: FileRate = None,
    topic: Topic = None,
    json: AsJson = False,
) -> int:
    """Show what is in robot descriptions and motion files.

    Exit code 1 if one cannot be read.
    """
    from rich.console import Console

    from motiond.formats import FormatError, Problem
    from motiond.text import printable

    from ..tools.batch import for_each_file
    from ..tools.describe import describe_file
    from ..tools.describe_tables import show

    describe = partial(describe_file, options=_reading(map_file, units, file_rate, topic))
    each = for_each_file(describe, files, jobs, Console(stderr=True))
    found = [description for descriptions in each for description in descriptions]
    for file, descriptions in zip(files, each, strict=True):
        if not descriptions:
            report(f"{printable(str(file))}: has neither a robot nor a motion", DONE)
    if json:
        print_json(found)
    for description in found:
        if description["kind"] == "unreadable":
            report(str(FormatError([Problem(**one) for one in description["problems"]])), FAILED)
        elif not json:
            show(description, Console())
    return FAILED if any(one["kind"] == "unreadable" for one in found) else DONE


@app.command()
def check(
    motions: Annotated[
        list[str] | None,
        typer.Argument(help="Names of motions, all by default; with --robot, motion files."),
    ] = None,
    config: ConfigFile = None,
    *,
    robot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check against this description and its limits alone."),
    ] = None,
    name: RobotOfFile = None,
    motion_joints: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="With --robot: the joints of motions that carry no names."),
    ] = None,
    map_file: MapFile = None,
    units: Units = None,
    file_rate: FileRate = None,
    topic: Topic = None,
    jobs: Jobs = 1,
    json: AsJson = False,
) -> int:
    """Plan motions without moving anything.

    Exit code 1 if one cannot be played.
    """
    from rich.console import Console

    from ..config.settings import load_settings
    from ..tools.batch import progress_if_slow
    from ..tools.check import Against, check_files, check_motions, nothing_to_check

    if robot is None:
        _refuse_without("--robot", {"--name": name, "--motion-joints": motion_joints})
        of_maps = {"--map": map_file, "--units": units, "--file-rate": file_rate, "--topic": topic}
        _refuse_without("--robot", of_maps, "a robot's `motion_map` in the configuration says it")
        settings = load_settings(config_of(config))
        with progress_if_slow(Console(stderr=True), "planning", None):
            findings = check_motions(settings, motions or (), partial(typer.echo, err=True))
        for line in nothing_to_check(settings, findings):
            report(line, DONE)
    elif motions:
        reading = _reading(map_file, units, file_rate, topic)
        against = Against(robot, name, list(_names(motion_joints)) or None, reading)
        findings = check_files(against, [Path(one) for one in motions], jobs, Console(stderr=True))
    else:
        raise typer.BadParameter("it needs motion files; name some", param_hint="--robot")
    if json:
        print_json([finding.payload() for finding in findings])
    else:
        _print_findings(findings)
    return FAILED if any(finding.problems for finding in findings) else DONE


def _refuse_without(needed: str, options: Mapping[str, object], hint: str = "remove it") -> None:
    """Refuse options that say nothing without another one."""
    for option, value in options.items():
        if value is not None:
            raise typer.BadParameter(f"it has no effect without {needed}; {hint}", param_hint=option)


def _print_findings(findings: "list[Finding]") -> None:
    files = {(one.robot, one.motion, one.file) for one in findings}
    of_name = Counter((robot, motion) for robot, motion, _ in files)
    for finding in findings:
        motion = finding.motion
        if of_name[finding.robot, motion] > 1:
            motion += f" ({printable(finding.file)})"
        if finding.max_speed is not None:
            speed = f"speed up to {finding.max_speed:.3g}"
            typer.echo(f"{finding.robot}: {motion}: ok; {finding.duration_s:g} s, {speed}")
        for line in (*finding.problems, *(f"warning: {warning}" for warning in finding.warnings)):
            typer.echo(f"{finding.robot}: {line.replace(f'{finding.motion}: ', f'{motion}: ', 1)}")


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

    from ..tools.batch import progress_if_slow
    from ..tools.convert import Conversion, convert_file, convert_robot, holds_robot

    wanted = Conversion(
        motion=motion,
        robot=name,
        joint_names=_names(joint_names),
        joints=_names(joints),
        renamed=_pairs(rename or ()),
        rate_hz=rate,
        interpolation=interpolation,
        format=written_as,
        version=seq_version,
        precision=None if exact else precision,
        tolerance=tolerance,
        frame_period_s=frame_period,
        reading=_reading(map_file, units, file_rate, topic),
        drop=drop or (),
        allow_short=allow_short,
        overwrite=force,
    )
    with _hints_for_options(), progress_if_slow(Console(stderr=True), f"converting {source.name}", None):
        if holds_robot(source):
            _refuse_others(context, "a motion", {*_OF_ALL, "name"})
            _report_robot(target, *convert_robot(source, target, wanted))
        else:
            _refuse_others(context, "a robot", {*context.params} - {"name"})
            _report_written(target, convert_file(source, target, wanted))


# The options of `convert` that are for whatever is converted.
_OF_ALL = ("written_as", "drop", "force")


def _refuse_others(context: typer.Context, kind: str, taken: set[str]) -> None:
    """Refuse options of the command line that are for another kind of content."""
    for one in context.command.params:
        source = context.get_parameter_source(one.name or "")
        is_given = source is not None and source.name == "COMMANDLINE"
        if is_given and one.param_type_name == "option" and one.name not in taken:
            raise typer.BadParameter(f"it is for {kind}; remove it", param_hint=one.opts[0])


@contextmanager
def _hints_for_options() -> Iterator[None]:
    """Raise a refusal to lose something with the option that permits it."""
    from motiond.formats import FormatError
    from motiond.formats.io import Loss

    try:
        yield
    except FormatError as error:
        raise FormatError(
            [
                replace(one, hint=f"to lose it, add --drop '{one.name}'") if isinstance(one, Loss) else one
                for one in error.problems
            ]
        ) from error


def _report_robot(target: Path, written: "RobotModel", warnings: Iterable[str]) -> None:
    from motiond.text import printable

    for warning in warnings:
        report(f"warning: {warning}", DONE)
    parts = f"{sum(bool(joint.coordinates) for joint in written.joints)} joints, {len(written.links)} links"
    typer.echo(f"{printable(str(target))}: {written.name}; {parts}")


def _report_written(target: Path, written: "Motion") -> None:
    from motiond.text import printable

    for warning in written.warnings:
        report(f"warning: {warning}", DONE)
    timing = f"{written.duration_s:g} s, {len(written.times)} frames at {written.frame_rate:g}/s"
    name = printable(str(target))
    typer.echo(f"{name}: {written.name}; {timing}, {written.positions.shape[1]} joints")


@app.command()
def plot(
    file: Annotated[Path, typer.Argument(help="A motion file.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="OUT", help="A .png or .svg; by default FILE's name with .png, here."
        ),
    ] = None,
    *,
    motion: MotionOfFile = None,
    joints: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help="The joints to draw, by name or number of the column, from 0."),
    ] = None,
    interpolation: Annotated[
        InterpolationName, typer.Option(help="What lies between rows, as in the configuration.")
    ] = "cubic",
    robot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A description whose units and limits are drawn too.")
    ] = None,
    name: RobotOfFile = None,
    map_file: MapFile = None,
    units: Units = None,
    file_rate: FileRate = None,
    topic: Topic = None,
    force: Force = False,
) -> None:
    """Draw each joint's positions and velocities, and markers.

    Over time, as they are played.
    """
    from rich.console import Console

    from motiond.formats import load_motion
    from motiond.text import printable

    from ..joints import read_robot
    from ..tools.batch import progress_if_slow
    from ..tools.convert import refuse_overwriting
    from ..tools.plot import Drawing, markers_beside, plot_motion

    if robot is None:
        _refuse_without("--robot", {"--name": name})
    target = output or Path(f"{file.stem}.png")
    refuse_overwriting(target, forced=force)
    with progress_if_slow(Console(stderr=True), f"drawing {file.name}", None):
        model = read_robot(robot, name) if robot else None
        drawn = load_motion(file, motion, options=_reading(map_file, units, file_rate, topic))
        drawing = Drawing(_names(joints), interpolation, markers_beside(file, drawn), model)
        unknown = plot_motion(drawn, target, drawing)
    if unknown:
        listed = ", ".join(f"'{joint}'" for joint in unknown)
        where, reason = printable(str(robot)), "no limits are drawn there"
        report(f"warning: {where}: has no joint {listed}; {reason}; check the names", DONE)
    typer.echo(f"{printable(str(target))}: drawn")


def _reading(
    map_file: Path | None, units: Unit | None, file_rate: float | None, topic: str | None
) -> "ReadOptions":
    """Return how motions are to be read; what is given comes before what the map says."""
    from motiond.formats import MotionMap, ReadOptions, load_map

    map_ = load_map(map_file) if map_file else None
    if units:
        map_ = replace(map_ or MotionMap(), units=units)
    try:
        return ReadOptions(rate_hz=file_rate, topic=topic, map=map_)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--file-rate") from error


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",")) if text is not None else ()


def _pairs(texts: Iterable[str]) -> dict[str, str]:
    """Take `old=new` apart."""
    pairs = [text.partition("=") for text in texts]
    for old, _, new in pairs:
        if not old or not new:
            raise typer.BadParameter("it is OLD=NEW; write both names", param_hint="--rename")
    return {old: new for old, _, new in pairs}
