"""The questions of `motiond init` in their order: what the robot is, what moves it, and who may reach it."""

from __future__ import annotations

import math
import os
import re
import socket
from dataclasses import dataclass
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
from ...joints.joint_map import JointMapError
from ...tools.setup.choices import EMBEDDED, Choices, JointLimits, Model
from ...tools.setup.files import joints_named_in, look_into, robots_of
from .actuator_questions import ActuatorQuestions

if TYPE_CHECKING:
    from ...config.section import Section
    from ...tools.setup.files import Described
    from .actuator_questions import GivenActuators
    from .questions import Questions

NONE = "none"
MOST_MODELS = 50
LOCAL_BROKER = ("127.0.0.1", 1883)
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class Given:
    """What options answer; None where they do not.

    Attributes
    ----------
    model : str or None
        A file by a path from here, or `none`.
    model_name : str or None
        Which robot of that file.
    joints : tuple of str or None
        Of a robot without a description.
    motions : tuple of str or None
        By paths from here, or `none`.
    """

    robot: str | None = None
    model: str | None = None
    model_name: str | None = None
    joints: tuple[str, ...] | None = None
    lower: str | None = None
    upper: str | None = None
    velocity: str | None = None
    motions: tuple[str, ...] | None = None
    broker: str | None = None
    http: str | None = None


class Interview:
    """All questions for one configuration.

    Parameters
    ----------
    folder : Path
        Where the configuration will be.
    given : Given
    actuators : GivenActuators
    questions : Questions
    """

    def __init__(self, folder: Path, given: Given, actuators: GivenActuators, questions: Questions) -> None:
        self._folder = folder
        self._given = given
        self._questions = questions
        self._actuators = ActuatorQuestions(actuators, questions)
        self._files = look_into(folder)

    def run(self) -> Choices:
        """Ask everything.

        Raises
        ------
        typer.BadParameter
            If an option's answer cannot be.
        NotAnswered
            If standard input ends.
        FormatError, JointMapError
            If the description that an option names cannot be used.
        """
        self._refuse_unusable_options()
        described = self._model()
        if described is not None:
            self._refuse_answers_of(described)
        robot = self._robot(described)
        driver = self._actuators.driver(described)
        joints = self._joints(described, driver)
        moved = self._actuators.moved(driver, joints, described)
        return Choices(
            robot=robot,
            model=self._model_of(described),
            joints=joints,
            actuators=moved.actuators,
            are_guessed=moved.are_guessed,
            limits=None if described else self._limits(),
            motions=self._motions(),
            broker=self._broker(),
            http=self._http(),
        )

    def _refuse_unusable_options(self) -> None:
        """Hold against the configuration what options answer, before anybody waits for hardware."""
        self._actuators.refuse_unusable_options()
        if self._given.broker is not None:
            self._broker()
        if self._given.http is not None:
            self._http()

    # -- the robot ------------------------------------------------------------------------------------------

    def _refuse_answers_of(self, described: Described) -> None:
        """Refuse options about what the description says itself: they would count for nothing."""
        given, called = self._given, printable(str(described.file))
        if given.joints is not None:
            reason = f"the joints are those of the description, {called}"
            raise typer.BadParameter(f"{reason}; leave it out, or add --model none", param_hint="--joints")
        limits = {"--lower": given.lower, "--upper": given.upper, "--velocity": given.velocity}
        for option, value in limits.items():
            if value is not None:
                reason = f"limits are those of the description, {called}"
                hint = "leave it out and add `joints:` to the file that is written, or add --model none"
                raise typer.BadParameter(f"{reason}; {hint}", param_hint=option)

    def _model(self) -> Described | None:
        """Return the robot's description; None where joints are listed instead."""
        if self._given.model == NONE:
            return None
        if self._given.model is not None:
            return self._named_model(Path(self._given.model))
        found = [one for file in self._files.models[:MOST_MODELS] for one in self._readable(file)]
        labels = [_label(one, self._folder) for one in found]
        if not found:
            typer.echo(f"no robot description is in {self._folder}; joints are listed instead")
            return None
        taken = self._questions.choose("the robot's description", [*labels, NONE], option="--model")
        return found[taken] if taken < len(found) else None

    def _readable(self, file: Path) -> list[Described]:
        """Return the robots of a file; what is wrong with it is told, as another may be meant."""
        try:
            return robots_of(file)
        except (FormatError, JointMapError) as error:
            typer.echo(f"left out: {str(error).splitlines()[0]}")
            return []

    def _named_model(self, file: Path) -> Described:
        found = robots_of(file)
        names = [one.name for one in found]
        name = self._given.model_name
        if name is None and len(found) > 1:
            return found[self._questions.choose(f"the robot of {file.name}", names, option="--model-name")]
        if name is not None and name not in names:
            raise typer.BadParameter(
                f"{file} has no robot '{name}' that moves; it has {listed(names)}; choose one",
                param_hint="--model-name",
            )
        return found[0 if name is None else names.index(name)]

    def _model_of(self, described: Described | None) -> Model | None:
        if described is None:
            return None
        return Model(self._written(described.file), None if described.is_alone else described.name)

    def _robot(self, described: Described | None) -> str:
        told = described.name if described else "robot"
        default = re.sub(r"[^A-Za-z0-9_-]+", "_", told).strip("_")[:40] or "robot"
        if default in {"bridge", "fleet"}:  # topics of the daemon's own begin so
            default += "_robot"
        return self._questions.ask(
            "its name, in topics and on the command line", default, robot_name,
            option="--robot", given=self._given.robot,
        )  # fmt: skip

    def _joints(self, described: Described | None, driver: str) -> tuple[str, ...]:
        if described is not None:
            return described.joint_map.joints
        given = self._given.joints or self._actuators.given_joints
        named = joints_named_in(self._files.motion_folders)
        known = self._actuators.joints_by_default(driver)
        default = named if named and len(named) == len(known or named) else known or ("joint1",)
        return self._questions.ask(
            "its joints, in their order", ",".join(default), _names,
            option="--joints", given=None if given is None else ",".join(given),
        )  # fmt: skip

    def _limits(self) -> JointLimits:
        ask, given = self._questions.ask, self._given
        lower = ask(
            "lowest position of every joint, rad", "-1.5", _number, option="--lower", given=given.lower
        )

        def above(text: str) -> float:
            upper = _number(text)
            if upper <= lower:
                raise ValueError(f"{upper:g} is not above the lowest position, {lower:g}; make it greater")
            return upper

        upper = ask("highest position, rad", "1.5", above, option="--upper", given=given.upper)
        velocity = ask("highest speed, rad/s", "1.0", _speed, option="--velocity", given=given.velocity)
        return JointLimits(lower, upper, velocity)

    def _motions(self) -> tuple[str, ...]:
        given = self._given.motions
        found = ",".join(str(place.relative_to(self._folder)) for place in self._files.motion_folders)
        places = self._questions.ask(
            "files and folders of motions", found or NONE, self._places if given is None else _names,
            option="--motions", given=None if given is None else ",".join(given),
        )  # fmt: skip
        if places == (NONE,):
            return ()
        from_here = [self._folder / one if given is None else Path(one) for one in places]
        return tuple(_with_slash(one, self._written(one)) for one in from_here)

    def _places(self, text: str) -> tuple[str, ...]:
        places = _names(text)
        for place in places:
            if place != NONE and not (self._folder / place).exists():
                raise ValueError(f"'{place}' is not there; name files and folders, or none")
        return places

    def _written(self, path: Path) -> Path:
        """Return a path as the configuration has it: relative where the file lies beside or below it."""
        absolute, folder = (Path(os.path.abspath(one)) for one in (path, self._folder))  # noqa: PTH100 - links stay
        return absolute.relative_to(folder) if absolute.is_relative_to(folder) else absolute

    # -- who may reach it -----------------------------------------------------------------------------------

    def _broker(self) -> str:
        default = f"mqtt://{LOCAL_BROKER[0]}" if _is_listening(LOCAL_BROKER) else EMBEDDED
        return self._questions.ask(
            "the broker: embedded, or mqtt://host[:port]", default, _broker_url,
            option="--broker", given=self._given.broker,
        )  # fmt: skip

    def _http(self) -> str | None:
        listen = self._questions.ask(
            "address of its page, or none", HttpSettings().listen, _http_address,
            option="--http", given=self._given.http,
        )  # fmt: skip
        return None if listen == NONE else listen


def _label(described: Described, folder: Path) -> str:
    file = described.file.relative_to(folder)
    return printable(str(file) if described.is_alone else f"{file} {described.name}")


def _with_slash(path: Path, written: Path) -> str:
    return f"{written}/" if path.is_dir() else str(written)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in (one.strip() for one in text.split(",")) if name)
    if not names:
        raise ValueError("there is no name in it; write names with commas between them")
    if len(set(names)) < len(names):
        raise ValueError("a name stands twice; name each once")
    return names


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) <= 1e6:
        raise ValueError(f"'{text}' is no number in rad; write one such as 1.5")
    return number


def _speed(text: str) -> float:
    speed = _number(text)
    if speed < 1e-5:
        raise ValueError(f"{speed:g} is no speed; write one above 0, in rad/s")
    return speed


def _broker_url(text: str) -> str:
    _check(MqttSettings, {"broker": text})
    if text != EMBEDDED and has_password(text):
        reason = "everybody who reads the configuration would see it"
        raise ValueError(
            f"a password does not belong here; {reason}; add username and password_file to it later"
        )
    return text


def _http_address(text: str) -> str:
    if text != NONE:
        _check(HttpSettings, {"listen": text})
    return text


def _check(kind: type[Section], given: dict[str, Any]) -> None:
    """Hold an answer against a section of the configuration."""
    try:
        kind(**given)
    except ValidationError as error:
        reason = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise ValueError(reason) from error


def _is_listening(address: tuple[str, int]) -> bool:
    """Whether something on this machine listens there, as a broker does."""
    try:
        with socket.create_connection(address, timeout=LOOK_S):
            return True
    except OSError:
        return False
