"""The subcommand that writes a first configuration: asks, looks for hardware and files, checks, writes."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..output import DONE, FAILED, Force, own_name, tell

if TYPE_CHECKING:
    from ...tools.check import Finding
    from ...tools.setup.choices import Choices

app = typer.Typer()

NAME = "motiond.yaml"

Folder = Annotated[Path, typer.Argument(metavar="[DIR]", help="Where it is written.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take each default.")]
Robot = Annotated[str | None, typer.Option(help="The robot's name in topics.")]
Model = Annotated[
    str | None, typer.Option(metavar="FILE|none", help="The robot's description, from where you are.")
]
ModelName = Annotated[str | None, typer.Option(help="Which robot of it, where it holds several.")]
Joints = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="The joints, where there is no description.")
]
Lower = Annotated[str | None, typer.Option(metavar="RAD", help="Their lowest position.")]
Upper = Annotated[str | None, typer.Option(metavar="RAD", help="Their highest position.")]
Velocity = Annotated[str | None, typer.Option(metavar="RAD/S", help="Their highest speed.")]
DriverName = Annotated[
    Literal["sim", "hebi", "dynamixel"] | None, typer.Option(help="Look for such actuators alone.")
]
Ports = Annotated[
    list[str] | None, typer.Option(help="A serial port to look at for servos; may be repeated.")
]
BaudRate = Annotated[int | None, typer.Option(help="The servos' baud rate; without it, common ones.")]
Actuators = Annotated[
    list[str] | None,
    typer.Option(metavar="JOINT=ID|NAME", help="The servo or module of a joint; may be repeated."),
]
Motions = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH|none", help="A file or folder of motions; may be repeated."),
]
Broker = Annotated[str | None, typer.Option(metavar="URL|embedded", help="The broker.")]
Http = Annotated[str | None, typer.Option(metavar="HOST:PORT|none", help="Where its page is.")]


@app.command()
def init(
    folder: Folder = Path(),
    *,
    yes: Yes = False,
    force: Force = False,
    robot: Robot = None,
    model: Model = None,
    model_name: ModelName = None,
    joints: Joints = None,
    lower: Lower = None,
    upper: Upper = None,
    velocity: Velocity = None,
    driver: DriverName = None,
    port: Ports = None,
    baud: BaudRate = None,
    actuator: Actuators = None,
    motions: Motions = None,
    broker: Broker = None,
    http: Http = None,
) -> int:
    """Write a first configuration, checked, with comments; looks for hardware and files and moves nothing."""
    from ...tools.setup.proof import already_there
    from .actuator_questions import GivenActuators
    from .interview import Given, Interview
    from .questions import Questions

    target = folder / NAME
    questions = Questions(takes_defaults=yes)
    replaces = force
    if target.exists() and not force:
        replaces = not yes and questions.confirm(f"{target} exists already; replace it?", default=False)
        if not replaces:
            raise already_there(target)
    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder; make it first", param_hint="DIR")
    given = Given(
        robot, model, model_name, _names(joints), lower, upper, velocity,
        tuple(motions) if motions else None, broker, http,
    )  # fmt: skip
    actuators = GivenActuators(driver, tuple(port or ()), baud, _pairs(actuator or []))
    choices = Interview(folder, given, actuators, questions).run()
    return _write(target, choices, may_replace=replaces)


def _write(target: Path, choices: "Choices", *, may_replace: bool) -> int:
    """Write what was chosen, and say what can be played and what to type next."""
    from motiond.text import printable

    from ...tools.setup.document import document
    from ...tools.setup.proof import write_checked

    if choices.are_guessed:
        typer.echo("which actuator moves which joint was taken by their order; the file says how to check it")
    findings = write_checked(target, document(choices, _schema()), may_replace=may_replace, tell=typer.echo)
    typer.echo(f"{printable(str(target))}: written, and checked")
    code = _tell_findings(findings)
    program = shlex.quote(own_name())
    typer.echo(f"next: {program} run -c {shlex.quote(str(target))}")
    return code


def _tell_findings(findings: "list[Finding]") -> int:
    playable = [one for one in findings if not one.problems]
    for one in playable:
        typer.echo(f"{one.robot}: {one.motion}: ok; {one.duration_s:g} s")
    for one in findings:
        for warning in one.warnings:
            typer.echo(f"{one.robot}: warning: {warning}")
        for problem in one.problems:
            tell(f"{one.robot}: {problem}", FAILED)
    return DONE if len(playable) == len(findings) else FAILED


def _schema() -> Path | None:
    """Return the schema that is installed beside the example configuration, if it is."""
    from motiond.formats import FormatError

    from ...tools.example import example_config

    try:
        schema = example_config().with_name("schema.json")
    except FormatError:
        return None
    return schema if schema.is_file() else None


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip() for name in text.split(","))


def _pairs(texts: list[str]) -> tuple[tuple[str, str], ...]:
    """Take `joint=label` apart; a label may hold further signs, a joint none."""
    pairs = [text.partition("=") for text in texts]
    for text, (joint, _, label) in zip(texts, pairs, strict=True):
        if not joint or not label:
            raise typer.BadParameter(
                f"'{text}' is no JOINT=ID or JOINT=NAME; write both", param_hint="--actuator"
            )
    return tuple((joint, label) for joint, _, label in pairs)
