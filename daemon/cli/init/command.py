"""The subcommand that writes a first configuration: asks, looks for hardware and files, checks, writes."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..output import DONE, FAILED, Force, own_name, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.formats import FormatError

    from ...tools.check import Finding

app = typer.Typer()

NAME = "motiond.yaml"


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Where it is written.")] = Path(),
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take each default.")] = False,
    force: Force = False,
    robot: Annotated[str | None, typer.Option(help="The robot's name in topics.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="FILE|none", help="The robot's description, from where you are.")
    ] = None,
    model_name: Annotated[str | None, typer.Option(help="Which robot of it, where it holds several.")] = None,
    joints: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="The joints, where there is no description.")
    ] = None,
    lower: Annotated[float | None, typer.Option(metavar="RAD", help="Their lowest position.")] = None,
    upper: Annotated[float | None, typer.Option(metavar="RAD", help="Their highest position.")] = None,
    velocity: Annotated[float | None, typer.Option(metavar="RAD/S", help="Their highest speed.")] = None,
    driver: Annotated[
        Literal["sim", "hebi", "dynamixel"] | None, typer.Option(help="Look for such actuators alone.")
    ] = None,
    port: Annotated[
        list[str] | None, typer.Option(help="A serial port to look at for servos; may be repeated.")
    ] = None,
    baud: Annotated[
        int | None,
        typer.Option(min=9600, max=10_500_000, help="The servos' baud rate; without it, common ones."),
    ] = None,
    actuator: Annotated[
        list[str] | None,
        typer.Option(metavar="JOINT=ID|NAME", help="The servo or module of a joint; may be repeated."),
    ] = None,
    motions: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH|none", help="A file or folder of motions; may be repeated."),
    ] = None,
    broker: Annotated[str | None, typer.Option(metavar="URL|embedded", help="The broker.")] = None,
    http: Annotated[str | None, typer.Option(metavar="HOST:PORT|none", help="Where its page is.")] = None,
) -> int:
    """Write a first configuration, checked, with comments; looks for hardware and files and moves nothing."""
    from . import robot as about
    from .actuators import Hardware
    from .document import Choices, document
    from .hardware import look_into
    from .questions import Questions

    target = folder / NAME
    questions = Questions(yes=yes)
    may_replace = force
    if target.exists() and not force:
        question = f"{target} exists already; replace it?"
        may_replace = not yes and questions.confirm(question, default=False)
        if not may_replace:
            raise already_there(target)
    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder; make it first", param_hint="DIR")
    models, motion_folders = look_into(folder)
    described = about.described(questions, folder, models, model, model_name)
    if described is not None:
        beside = {"--joints": joints, "--lower": lower, "--upper": upper, "--velocity": velocity}
        about.refuse(beside, described)
    name = about.name(questions, described, robot)
    hardware = Hardware(questions, driver, port or [], baud, actuator or [])
    kind = hardware.choose(described)
    given = joints or hardware.given_joints
    moving: Sequence[str] = (
        described.joint_map.joints
        if described
        else about.joints(questions, hardware.joints(kind), motion_folders, given)
    )
    actuators, are_guessed = hardware.assign(kind, moving, described)
    choices = Choices(
        name,
        about.model(described, folder),
        moving,
        actuators,
        are_guessed,
        None if described else about.limits(questions, lower, upper, velocity),
        about.motions(questions, folder, motion_folders, motions),
        about.broker(questions, broker),
        about.page(questions, http),
    )
    if choices.are_guessed:
        typer.echo("which actuator moves which joint was taken by their order; the file says how to check it")
    findings = write_checked(target, document(choices, _schema()), may_replace=may_replace)
    typer.echo(f"{shown(target)}: written, and checked")
    code = _report(findings)
    typer.echo(f"next: {shlex.quote(own_name())} run -c {shlex.quote(str(target))}")
    return code


def _report(findings: "list[Finding]") -> int:
    for one in findings:
        if not one.problems:
            typer.echo(f"{one.robot}: {one.motion}: ok; {one.duration_s:g} s")
    for one in findings:
        for warning in one.warnings:
            typer.echo(f"{one.robot}: warning: {warning}")
        for problem in one.problems:
            report(f"{one.robot}: {problem}", FAILED)
    return FAILED if any(one.problems for one in findings) else DONE


def _schema() -> Path | None:
    """Return the schema that is installed beside the example configuration, if it is."""
    from motiond.formats import FormatError

    from ...tools.example import example_config

    try:
        schema = example_config().with_name("schema.json")
    except FormatError:
        return None
    return schema if schema.is_file() else None


def write_checked(target: Path, text: str, *, may_replace: bool) -> "list[Finding]":
    """Check a configuration as the daemon does, plan all motions, and write it: whole, or not at all.

    Motions that cannot be played do not prevent it, as the configuration may be right.
    """
    from dataclasses import replace

    from motiond.formats.io import replacing

    from ...config.section import ConfigError
    from ...config.settings import load_settings
    from ...tools.check import check_motions, nothing_to_check

    with replacing(target) as stream:
        stream.write(text.encode())
        stream.flush()
        try:
            settings = load_settings(Path(stream.name))
        except ConfigError as error:
            raise ConfigError([replace(one, file=str(target)) for one in error.problems]) from error
        findings = check_motions(settings, (), typer.echo)
        for line in nothing_to_check(settings, findings):
            typer.echo(line)
        if target.exists() and not may_replace:  # it has appeared meanwhile
            raise already_there(target)
    return findings


def already_there(target: Path) -> "FormatError":
    """Return that a file is not replaced unasked."""
    from motiond.formats import FormatError, Problem

    hint = "name another folder, or --force it; docs/init.md says how to add a robot"
    return FormatError([Problem(shown(target), 0, "exists already", "it would be replaced", hint)])


def shown(path: Path) -> str:
    """Return a path as it is printed."""
    from motiond.text import printable

    return printable(str(path))
