"""The subcommand that writes a first configuration: asks, looks for hardware and files, checks, writes."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from motiond.text import printable

from ..files.examine import check
from ..output import Force, own_name

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
    joints: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="The joints, where there is no description.")
    ] = None,
    driver: Annotated[
        Literal["sim", "hebi", "dynamixel", "feetech"] | None,
        typer.Option(help="Look for such actuators alone."),
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
    """Write a first configuration, checked, with comments.

    It looks for hardware and files and moves nothing.
    """
    from . import questions as about
    from .document import document
    from .robot import Wanted, find_robot

    target, questions = folder / NAME, about.Questions(yes=yes)
    _refuse_place(folder, target, forced=force, asks=not yes)
    files = about.look_into(folder)
    pairs = {joint: label for joint, _, label in (text.partition("=") for text in actuator or ())}
    wanted = Wanted(robot, model, joints, driver, port or (), baud, pairs)
    found = find_robot(questions, files, wanted)
    described = found.description
    options: dict[str, Any] = {"model": described.model} if described and not described.is_config else {}
    options["driver"] = found.driver
    options["motions"] = about.ask_motions(questions, files, described, motions)
    options |= about.ask_map(questions, files) if options["motions"] else {}
    options["approach"] = about.approach(described.units if described else frozenset({"rad"}))
    options["joints"] = found.joint_options() if described else about.ask_limits(questions, found.joints)
    url = about.ask_broker(questions, broker)
    if found.are_actuators_guessed:
        typer.echo("which actuator moves which joint was taken by their order; the file says how to check it")
    text = document(
        found.name,
        options,
        url,
        questions.ask("address of its page, or none", "127.0.0.1:8080", str, "--http", http),
        are_actuators_guessed=found.are_actuators_guessed,
        reductions=described.reductions if described else {},
        resource_paths=described.resource_paths if described else [],
        joints=found.joints,
        continuous=described.continuous if described else [],
    )
    _write(target, text, described.example if described else None)
    typer.echo(f"{printable(str(target))}: written; the check of it follows")
    code = check(config=target)
    typer.echo(f"next: {shlex.quote(own_name())} run -c {shlex.quote(str(target))}")
    return code


def _refuse_place(folder: Path, target: Path, *, forced: bool, asks: bool) -> None:
    """Refuse a folder that is not there, and a file that is, unless it may be replaced."""
    from motiond.formats import FormatError, Problem

    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder; make it first", param_hint="DIR")
    if not target.exists() or forced or (asks and typer.confirm(f"{target} exists already; replace it?")):
        return
    hint = "name another folder, or --force it; docs/init.md says how to add a robot"
    raise FormatError([Problem(str(target), 0, "exists already", "it would be replaced", hint)])


def _write(target: Path, text: str, example: str | None) -> None:
    """Write a configuration once it has been loaded as a daemon loads it, and the example that it names."""
    from motiond.formats.io import replacing

    from ...config.section import ConfigError
    from ...config.settings import load_settings
    from ...tools.example import complete

    with replacing(target) as stream:
        stream.write(text.encode())
        stream.flush()
        try:
            load_settings(Path(stream.name))
        except ConfigError as error:
            raise ConfigError([replace(one, file=str(target)) for one in error.problems]) from error
    if example:
        complete(example, target.parent)
