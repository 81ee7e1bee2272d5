"""`edit`: a motion changed step by step, in the order of the options."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from motiond.text import nearest, printable

from ..output import DONE, FAILED, AsJson, Force, print_json, print_table, report
from .convert import AllowShort, Dropped, FormatName, GivenNames, report_written
from .examine import print_findings
from .options import (
    FileRate,
    MapFile,
    MotionOfFile,
    RobotOfFile,
    Topic,
    Units,
    hints_for_options,
    names_in,
    reading_options,
    refuse_without,
)

if TYPE_CHECKING:
    from motiond.formats import ReadOptions

    from ...tools.check import Against, Finding
    from ...tools.edit import Edited, Step

app = typer.Typer()

ORDER = "motiond.order"
EDITS = ("trim", "smooth", "retime", "reverse", "mirror", "offset", "blend", "ease", "rate")


class InOrder(TyperCommand):
    """A command that keeps in `context.meta` in which order its options were written."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse a command line."""
        _, _, parameters = self.make_parser(ctx).parse_args(list(args))
        ctx.meta[ORDER] = [parameter.name for parameter in parameters]
        return super().parse_args(ctx, args)


@app.command(cls=InOrder)
def edit(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="IN", help="A motion.")],
    target: Annotated[
        Path | None,
        typer.Argument(metavar="OUT", help="What --write writes; its suffix names the format."),
    ] = None,
    *,
    trim: Annotated[
        list[str] | None,
        typer.Option(metavar="FROM:TO", help="Keep this part, in s from the first row; one may be left out."),
    ] = None,
    smooth: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[JOINT=]RAD|M",
            help="Take noise away, and leave no row by more than this; both ends stay.",
        ),
    ] = None,
    retime: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEED", help="Another speed, as of play: 0.8 takes 1.25 times as long."),
    ] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="From the end to the beginning.")] = False,
    mirror: Annotated[
        list[str] | None,
        typer.Option(metavar="MAP", help="Swap sides: a motion map says which joint moves as which did."),
    ] = None,
    offset: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT=VALUE", help="Move a joint by so much in every row, in rad or m."),
    ] = None,
    blend: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE:SECONDS", help="Flow into another motion, which overlaps the end so long."
        ),
    ] = None,
    ease: Annotated[bool, typer.Option("--ease", help="Begin and end at rest, on the same path.")] = False,
    rate: Annotated[
        list[str] | None, typer.Option(metavar="HZ", help="Other rows: so many per second.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", "-w", help="Write OUT; else nothing is written.")] = False,
    force: Force = False,
    robot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Check against this description and its limits alone."),
    ] = None,
    name: RobotOfFile = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", "-c", metavar="FILE", help="Check on a robot of this configuration."),
    ] = None,
    on: Annotated[
        str | None, typer.Option(metavar="ROBOT", help="Which robot of the configuration, of several.")
    ] = None,
    motion: MotionOfFile = None,
    joint_names: GivenNames = None,
    written_as: FormatName = None,
    map_file: MapFile = None,
    units: Units = None,
    file_rate: FileRate = None,
    topic: Topic = None,
    drop: Dropped = None,
    allow_short: AllowShort = False,
    json: AsJson = False,
) -> int:
    """Change a motion: cut, smoothed, slower, mirrored, eased.

    Edits are made in the order in which they are written, and may be repeated. Nothing is written without
    --write: what it would become is shown. Exit code 1 if a robot is named that cannot play it.
    """
    from rich.console import Console

    from ...tools.batch import progress_if_slow
    from ...tools.check import check_motion
    from ...tools.convert import Conversion, refuse_overwriting, write_motion
    from ...tools.edit import edited

    if write and target is None:
        raise typer.BadParameter("it needs a file; name OUT after IN", param_hint="--write")
    reading = reading_options(map_file, units, file_rate, topic)
    wanted = Conversion(
        motion=motion,
        joint_names=names_in(joint_names),
        format=written_as,
        reading=reading,
        drop=drop or (),
        allow_short=allow_short,
        overwrite=force,
    )
    values = trim, smooth, retime, reverse, mirror, offset, blend, ease, rate
    edits = list(_in_order(context.meta[ORDER], *values))
    against = _against(robot, name, config, on, reading)
    with hints_for_options(), progress_if_slow(Console(stderr=True), f"editing {source.name}", None):
        if write and target:
            refuse_overwriting(target, forced=force)
        result, others = edited(source, edits, wanted)
        finding = check_motion(result.after, target or source, against) if against else None
        written = write_motion(source, result.after, target, wanted, others) if write and target else None
    if json:
        found = finding.payload() if finding else None
        print_json({**result.payload(), "check": found, "written": str(target) if written else None})
    else:
        _show(result, finding)
    for warning in (written or result.after).warnings:
        report(f"warning: {warning}", DONE)
    if written and target and not json:
        report_written(target, written)
    elif target and not write:
        reason = "edits are only shown until that is asked for"
        report(f"{printable(str(target))}: is not written; {reason}; add --write", DONE)
    return FAILED if finding and finding.problems else DONE


def _in_order(options: list[str], *given: list[str] | bool | None) -> Iterator[tuple[str, str]]:
    """Yield each edit with its value, as they stand on the command line; flags have none."""
    values = {
        edit: iter(value if isinstance(value, list) else ()) for edit, value in zip(EDITS, given, strict=True)
    }
    for option in options:
        if option in EDITS:
            yield f"--{option}", next(values[option], "")


def _against(
    robot: Path | None, name: str | None, config: Path | None, on: str | None, reading: "ReadOptions"
) -> "Against | tuple[Any, str] | None":
    """Return what the motion is held against: a description, a robot of a configuration, or nothing."""
    from ...config.settings import load_settings
    from ...tools.check import Against

    if robot is None:
        refuse_without("--robot", {"--name": name})
    elif config is not None:
        raise typer.BadParameter("it names one robot, --config another; remove one", param_hint="--robot")
    if config is None:
        refuse_without("--config", {"--on": on})
        return Against(robot, name, options=reading) if robot else None
    settings = load_settings(config)
    robots = list(settings.robots)
    if on is None and len(robots) == 1:
        on = robots[0]
    if on not in robots:
        which = f"no robot '{on}'; " if on else ""
        hint = nearest(on, robots) if on else "name one"
        raise typer.BadParameter(f"{which}there are {', '.join(robots)}; {hint}", param_hint="--on")
    return settings, on


def _show(result: "Edited", finding: "Finding | None") -> None:
    from motiond.formats.model import peaks

    before, after = result.before, result.after
    typer.echo(f"{before.name}: {before.duration_s:g} s, {before.times.size} rows at {before.frame_rate:g}/s")
    for step in result.steps:
        typer.echo(f"{f'{step.edit} {step.value}'.rstrip()}: {_in_words(step)}")
    rows = [
        (now.joint, *(f"{getattr(then, kind):.4g} → {getattr(now, kind):.4g}" for kind in _KINDS))
        for then, now in zip(peaks(before), peaks(after), strict=True)
    ]
    print_table(["joint", *_KINDS], rows, ["joint"])
    if finding:
        print_findings([finding])


_KINDS = ("velocity", "acceleration", "jerk")


def _in_words(step: "Step") -> str:
    rows = f"{step.duration_s:g} s, {step.rows} rows"
    if not step.deviation:
        return rows
    joint = max(step.deviation, key=step.deviation.__getitem__)
    return f"{rows}; leaves what was there by {step.deviation[joint]:.3g} at most, at '{joint}'"
