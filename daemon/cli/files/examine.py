"""`inspect` and `check`: what is in files, and whether motions fit robots."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from motiond.text import printable, rounded_down

from ..output import DONE, FAILED, AsJson, ConfigFile, config_of, print_json, report
from .options import (
    FileRate,
    Jobs,
    MapFile,
    RobotOfFile,
    Topic,
    Units,
    names_in,
    reading_options,
    refuse_without,
)

if TYPE_CHECKING:
    from ...api import JointEffort, NearestLinks
    from ...tools.check import Finding

app = typer.Typer()


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

    from ...tools.batch import for_each_file
    from ...tools.describe import describe_file
    from ...tools.describe_tables import show

    describe = partial(describe_file, options=reading_options(map_file, units, file_rate, topic))
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

    from ...config.settings import load_settings
    from ...tools.batch import progress_if_slow
    from ...tools.check import Against, check_files, check_motions, nothing_to_check

    if robot is None:
        refuse_without("--robot", {"--name": name, "--motion-joints": motion_joints})
        of_maps = {"--map": map_file, "--units": units, "--file-rate": file_rate, "--topic": topic}
        refuse_without("--robot", of_maps, "a robot's `motion_map` in the configuration says it")
        settings = load_settings(config_of(config))
        with progress_if_slow(Console(stderr=True), "planning", None):
            findings = check_motions(settings, motions or (), partial(typer.echo, err=True))
        for line in nothing_to_check(settings, findings):
            report(line, DONE)
    elif motions:
        reading = reading_options(map_file, units, file_rate, topic)
        against = Against(robot, name, list(names_in(motion_joints)) or None, reading)
        findings = check_files(against, [Path(one) for one in motions], jobs, Console(stderr=True))
    else:
        raise typer.BadParameter("it needs motion files; name some", param_hint="--robot")
    if json:
        print_json([finding.payload() for finding in findings])
    else:
        print_findings(findings)
    return FAILED if any(finding.problems for finding in findings) else DONE


def print_findings(findings: "list[Finding]") -> None:
    """Write whether motions can be played, and why they cannot."""
    files = {(one.robot, one.motion, one.file) for one in findings}
    of_name = Counter((robot, motion) for robot, motion, _ in files)
    for finding in findings:
        motion = finding.motion
        if of_name[finding.robot, motion] > 1:
            motion += f" ({printable(finding.file)})"
        if finding.kind == "pose" and not finding.problems:
            typer.echo(f"{finding.robot}: {motion}: ok")
        if finding.max_speed is not None:
            speed = f"speed up to {rounded_down(finding.max_speed)}"
            typer.echo(f"{finding.robot}: {motion}: ok; {finding.duration_s:g} s, {speed}")
        is_held = finding.kind == "pose"
        if nearest := finding.physics.get("nearest"):
            typer.echo(f"{finding.robot}: {motion}: {_nearest_of(nearest, is_held=is_held)}")
        for joint in finding.physics.get("effort", {}).get("joints", ()):
            typer.echo(f"{finding.robot}: {motion}: {_effort_of(joint, is_held=is_held)}")
        for line in (*finding.problems, *(f"warning: {warning}" for warning in finding.warnings)):
            typer.echo(f"{finding.robot}: {line.replace(f'{finding.motion}: ', f'{motion}: ', 1)}")


def _nearest_of(nearest: "NearestLinks", *, is_held: bool) -> str:
    one, other = nearest["links"]
    when = "" if is_held else f" at {nearest['time']:g} s"
    return f"nearest: {one} and {other}, {1e3 * nearest['distance_m']:.3g} mm{when}"


def _effort_of(joint: "JointEffort", *, is_held: bool) -> str:
    unit, limit, continuous = joint["unit"], joint["limit"], joint["continuous"]
    of_limit = f" of {limit:g}" if limit is not None else ""
    for_long = f" of {continuous:g}" if continuous is not None else ""
    if is_held:
        lasting = f", for any time{for_long}" if for_long else ""
        return f"effort of {joint['joint']}: {joint['peak']:g} {unit}{of_limit}{lasting}"
    peak = f"peak {joint['peak']:g} {unit}{of_limit} at {joint['time']:g} s"
    return f"effort of {joint['joint']}: {peak}, RMS {joint['rms']:g} {unit}{for_long}"
