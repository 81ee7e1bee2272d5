"""Questions of `motiond init` about the robot, and about who may reach it."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import ValidationError

from motiond.formats import FormatError
from motiond.text import listed, printable

from ...config.http import HttpSettings
from ...config.mqtt import MqttSettings
from ...config.secrets import has_password
from ...config.settings import robot_name
from ...joints import JointMapError
from .hardware import joints_named_in, robots_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ...config.section import Section
    from .hardware import Described
    from .questions import Questions

NONE, EMBEDDED = "none", "embedded"
MOST_MODELS = 50
LOCAL_BROKER = ("127.0.0.1", 1883)
LOOK_S = 0.5


def described(
    questions: Questions, folder: Path, models: Sequence[Path], file: str | None, name: str | None
) -> Described | None:
    """Return the robot's description; None where joints are listed instead."""
    if file == NONE:
        return None
    if file is not None:
        robots = robots_of(Path(file))
        names = [robot.name for robot in robots]
        if name is not None and name not in names:
            problem = f"{file} has no robot '{name}' that moves; it has {listed(names)}; choose one"
            raise typer.BadParameter(problem, param_hint="--model-name")
        if name is None and len(robots) == 1:
            return robots[0]
        return robots[questions.choose(f"the robot of {Path(file).name}", names, "--model-name", name)]
    robots = []
    for model in models[:MOST_MODELS]:
        try:
            robots += robots_of(model)
        except (FormatError, JointMapError) as error:
            typer.echo(f"left out: {str(error).splitlines()[0]}")
    if not robots:
        typer.echo(f"no robot description is in {folder}; joints are listed instead")
        return None
    files = [(robot, printable(str(robot.file.relative_to(folder)))) for robot in robots]
    labels = [label if robot.is_alone else f"{label} {robot.name}" for robot, label in files]
    chosen = questions.choose("the robot's description", [*labels, NONE], "--model")
    return robots[chosen] if chosen < len(robots) else None


def refuse(options: Mapping[str, object], described: Described) -> None:
    """Refuse options about what the description says itself: they would have no effect."""
    for option, value in options.items():
        if value is not None:
            problem = f"the description, {printable(str(described.file))}, has joints and limits"
            raise typer.BadParameter(f"{problem}; leave it out, or add --model none", param_hint=option)


def model(described: Described | None, folder: Path) -> str | dict[str, str] | None:
    """Return the description as the configuration names it."""
    if described is None:
        return None
    file = _written(described.file, folder)
    return file if described.is_alone else {"file": file, "name": described.name}


def name(questions: Questions, described: Described | None, given: str | None) -> str:
    """Return the robot's name in topics."""
    default = re.sub(r"[^A-Za-z0-9_-]+", "_", described.name if described else "robot").strip("_")[:40]
    if default in {"", "bridge", "fleet"}:  # topics of the daemon's own begin so
        default += "_robot"
    question = "its name, in topics and on the command line"
    return questions.ask(question, default, robot_name, "--robot", given)


def joints(
    questions: Questions, known: Sequence[str], folders: Sequence[Path], given: str | None
) -> Sequence[str]:
    """Return the joints of a robot without a description: as motions name them, or its actuators."""
    named = joints_named_in(folders)
    default = named if named and len(named) == len(known or named) else known or ("joint1",)
    return questions.ask("its joints, in their order", ",".join(default), _names, "--joints", given)


def limits(
    questions: Questions, lower: float | None, upper: float | None, velocity: float | None
) -> dict[str, float]:
    """Return the limits of every joint, in rad and rad/s; the check of the configuration holds them."""
    asked = (
        ("lower", "lowest position of every joint, rad", "-1.5", lower),
        ("upper", "highest position, rad", "1.5", upper),
        ("velocity", "highest speed, rad/s", "1.0", velocity),
    )
    return {
        key: questions.ask(question, default, float, f"--{key}", None if given is None else str(given))
        for key, question, default, given in asked
    }


def motions(
    questions: Questions, folder: Path, folders: Sequence[Path], given: Sequence[str] | None
) -> list[str]:
    """Return files and folders of motions as the configuration names them."""
    base = folder if given is None else Path()

    def read(text: str) -> list[str]:
        places = [] if text == NONE else _names(text)
        for place in places:
            if given is None and not (base / place).exists():
                raise ValueError(f"'{place}' is not there; name files and folders, or none")
        return [f"{_written(base / one, folder)}{'/' if (base / one).is_dir() else ''}" for one in places]

    default = ",".join(str(one.relative_to(folder)) for one in folders) or NONE
    answer = ",".join(given) if given else None
    return questions.ask("files and folders of motions", default, read, "--motions", answer)


def broker(questions: Questions, given: str | None) -> str:
    """Return the broker: one on this machine if there is one, else the daemon's own by default."""

    def read(url: str) -> str:
        _check(MqttSettings, broker=url)
        if url != EMBEDDED and has_password(url):
            reason = "everybody who reads the configuration would see it"
            hint = "add username and password_file to it later"
            raise ValueError(f"a password does not belong here; {reason}; {hint}")
        return url

    default = EMBEDDED
    try:
        with socket.create_connection(LOCAL_BROKER, timeout=LOOK_S):
            default = f"mqtt://{LOCAL_BROKER[0]}"
    except OSError:
        pass
    return questions.ask("the broker: embedded, or mqtt://host[:port]", default, read, "--broker", given)


def page(questions: Questions, given: str | None) -> str | None:
    """Return where the page is served; None where it is not."""

    def read(address: str) -> str | None:
        if address == NONE:
            return None
        _check(HttpSettings, listen=address)
        return address

    return questions.ask("address of its page, or none", HttpSettings().listen, read, "--http", given)


def _written(path: Path, folder: Path) -> str:
    """Return a path as the configuration has it: relative where it is in its folder."""
    absolute, base = (Path(os.path.abspath(one)) for one in (path, folder))  # noqa: PTH100 - links stay
    return str(absolute.relative_to(base) if absolute.is_relative_to(base) else absolute)


def _names(text: str) -> list[str]:
    names = [name for name in (one.strip() for one in text.split(",")) if name]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"'{text}' is no list of different names; write names with commas between them")
    return names


def _check(kind: type[Section], **values: Any) -> None:
    """Hold an answer against a section of the configuration."""
    try:
        kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(str(first.get("ctx", {}).get("error", first["msg"]))) from error
