"""What is there for a robot, its description and motions; and the questions of `motiond init`."""

from __future__ import annotations

import os
import re
import socket
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

from motiond.formats import MAP_SUFFIX, FormatError, Problem, Source, load_motions, load_robots
from motiond.formats.io import HEBI_CONFIG, foreign_format, open_regular
from motiond.formats.registry import ROBOTS
from motiond.text import printable

from ...config.secrets import has_password
from ...config.settings import robot_name
from ...joints import build_joint_map, read_robot
from ...planning import is_motion
from ...tools.example import example_config

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from motiond.formats.io import Foreign

NONE = "none"
T = TypeVar("T")
DEEPEST = 3
LOCAL_BROKER = ("127.0.0.1", 1883)
LOOK_S = 0.5
FOREIGN_SUFFIX = re.compile(
    r"\.(bag|body|db3|erb|jinja2?|json|txt|usda?|wrl|xacro|xml|ya?ml)",
    re.IGNORECASE,
)
NAMES_HRDF = re.compile(rb"""^["']?hrdf["']?\s*:""", re.MULTILINE)
MOST_LOOKED_INTO = 1000
HEAD_BYTES = 1 << 16
SO101_LIMITS = {"velocity": 2.5, "acceleration": 12.0}  # rad/s, rad/s²
SO101_JOINTS = {"gripper": {"allow_stalling": True}}
SO101_DRIVER = {"torque_limit": {"gripper": 0.5}}  # a gripper that closes on something stalls


@dataclass(frozen=True, slots=True)
class Questions:
    """Asks, or with `yes` takes defaults, unless an option answers."""

    yes: bool

    def ask(
        self,
        question: str,
        default: str,
        read: Callable[[str], T],
        option: str = "",
        given: str | None = None,
    ) -> T:
        """Return an answer as `read` understands it; where that raises ValueError, it is asked for again."""

        def checked(text: str) -> T:
            try:
                return read(text)
            except ValueError as error:
                raise typer.BadParameter(printable(str(error)), param_hint=option or None) from error

        if given is not None or self.yes:
            return checked(default if given is None else given)
        shown = f"{question} [{printable(default)}]" if default else question
        answer: T = typer.prompt(shown, default=default, show_default=False, value_proc=checked)
        return answer

    def choose(self, question: str, choices: Sequence[str], option: str, given: str | None = None) -> str:
        """Return one of some choices; the first by default."""

        def read(text: str) -> str:
            if text not in choices:
                raise ValueError(f"'{text}' is none of them; there are {', '.join(choices)}; choose one")
            return text

        return self.ask(f"{question} ({printable(', '.join(choices))})", choices[0], read, option, given)


class Described(NamedTuple):
    """One robot of a description, as the configuration names it.

    `joints` need an actuator each; `reductions` are those that the description states, by joint; `units` are
    those of its joints, rad, m or both; `continuous` turn without end, by what it says; `resource_paths` hold
    its meshes that are not in its own folder. `example`: that of motiond whose description it is, and
    `limits`: of each of its joints, as far as the description has none; `joint_options`: further ones, by
    joint; `driver`: further options of its servos' driver.
    """

    name: str
    model: str | dict[str, str]
    joints: list[str]
    followers: list[str]
    reductions: dict[str, float]
    units: frozenset[str]
    continuous: list[str]
    resource_paths: list[str]
    is_config: bool
    example: str | None = None
    limits: Mapping[str, float] = {}
    joint_options: Mapping[str, Mapping[str, Any]] = {}
    driver: Mapping[str, Any] = {}


class Folder(NamedTuple):
    """What is in a folder: descriptions, motions and maps, and where these lack, files of other formats.

    Of motions the folders that hold some.
    """

    path: Path
    models: list[Path]
    motions: list[Path]
    maps: list[Path]
    foreign: dict[Foreign, list[Path]]


def look_into(folder: Path) -> Folder:
    """Return what is in a folder; hidden files are left out."""
    files = [
        file
        for depth in range(DEEPEST + 1)
        for file in sorted(folder.glob("*/" * depth + "*"))
        if not any(part.startswith(".") or part != printable(part) for part in file.relative_to(folder).parts)
    ]
    texts = (file for file in files if file.suffix.lower() in {".yaml", ".yml"})
    configs = [file for file in islice(texts, MOST_LOOKED_INTO) if _describes_by_hrdf(file)]
    models = configs + [file for file in files if file.suffix.lower() in ROBOTS.suffixes]
    motions = [*dict.fromkeys(file.parent for file in files if is_motion(file))]
    maps = [file for file in files if file.name.endswith(MAP_SUFFIX)]
    foreign: dict[Foreign, list[Path]] = {}
    by_content: list[Path] = []
    others = (file for file in files if FOREIGN_SUFFIX.fullmatch(file.suffix))
    for file in () if models and motions else islice(others, MOST_LOOKED_INTO):
        with suppress(OSError), open_regular(file) as stream:
            head = stream.read(HEAD_BYTES)
            found = foreign_format(head)
            if found and (not models or found.is_motion):
                foreign.setdefault(found, []).append(file)
            elif not found and ROBOTS.fitting(head, Source(file)):
                by_content.append(file)
    return Folder(folder, models or by_content, motions, maps, foreign)


def _describes_by_hrdf(file: Path) -> bool:
    """Whether a file is a configuration of HEBI's that names a description."""
    with suppress(OSError), open_regular(file) as stream:
        head = stream.read(HEAD_BYTES)
        return NAMES_HRDF.search(head) is not None and foreign_format(head) == HEBI_CONFIG
    return False


def describe(questions: Questions, folder: Folder, file: str | None) -> Described | None:
    """Return the robot's description; None where joints are listed instead."""
    for foreign, files in folder.foreign.items():
        if file is None or foreign.is_motion:
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            typer.echo(f"{files[0]}{more}: {'; '.join(foreign)}")
    if file is None and not folder.models:
        typer.echo(f"no robot description is in {folder.path}; joints are listed instead")
        return None
    if file is None:
        choices = {str(one.relative_to(folder.path)): str(one) for one in folder.models} | {NONE: NONE}
        file = choices[questions.choose("the robot's description", list(choices), "--model")]
    if file == NONE:
        return None
    path = Path(file)
    is_config = _describes_by_hrdf(path)
    read = [read_robot(path)] if is_config else load_robots(path, within=(path.parent,))
    robots = {robot.name: robot for robot in read}
    names = list(robots)
    name = names[0] if len(names) == 1 else questions.choose(f"the robot of {path.name}", names, "--model")
    columns = build_joint_map(name, robots[name], {})
    followers = [columns.joints[mimic.joint] for mimic in columns.mimics]
    joints = [joint for joint in columns.joints if joint not in followers]
    model = {"file": os.path.relpath(path, folder.path.resolve()), "name": name}
    stated = robots[name].metadata.get("reductions", {})
    reductions = {joint: stated[joint] for joint in joints if stated.get(joint, 1.0) != 1.0}
    return Described(
        name,
        model["file"] if len(names) == 1 else model,
        joints,
        followers,
        reductions,
        frozenset(columns.units),
        [joint for joint, turns in zip(columns.joints, columns.continuous, strict=True) if turns],
        [] if is_config else _folders_of_meshes(path, name, folder.path),
        is_config,
    )


def ask_name(questions: Questions, default: str, given: str | None) -> str:
    """Return the robot's name. `default`: what describes it calls it so, or nearly."""
    default = re.sub(r"[^A-Za-z0-9_-]+", "_", default)
    return questions.ask("its name, in topics and on the command line", default, robot_name, "--robot", given)


def offer_so101(questions: Questions, servos: Collection[str]) -> Described | None:
    """Ask whether servos are those of an SO-101, and then return what its example describes.

    `servos`: nobody is asked where they cannot be. Where nobody can be asked, they are not taken for one.
    """
    question = "six STS3215 with the ids 1 to 6 answer: are they an SO-101, numbered as LeRobot does?"
    if not servos or questions.yes or not typer.confirm(question, default=True):
        return None
    example = example_config("so101").parent
    model = example / "robots" / "so101.urdf"
    described = describe(questions, Folder(example, [model], [], [], {}), str(model))
    return described and described._replace(
        example="so101", limits=SO101_LIMITS, joint_options=SO101_JOINTS, driver=SO101_DRIVER
    )


def _folders_of_meshes(path: Path, name: str, start: Path) -> list[str]:
    """Return the folder of meshes that lie outside of a description's own, as seen from `start`."""
    whole = next(one for one in load_robots(path) if one.name == name)
    meshes = (shape.mesh.path for link in whole.links for shape in link.shapes if shape.mesh)
    folders = {mesh.resolve().parent for mesh in meshes}
    outer = [folder for folder in folders if not folder.is_relative_to(path.parent.resolve())]
    common = Path(os.path.commonpath(outer)) if outer else Path("/")
    return [] if common == Path("/") else [os.path.relpath(common, start.resolve())]


def ask_joints(
    questions: Questions, folder: Folder, actuated: Sequence[str], model: str | None, given: str | None
) -> list[str]:
    """Return the joints of a robot without a description: as motions name them, or after its actuators.

    `model`: as given. Nothing is invented: where nobody can be asked, and nothing names joints or a file of
    another format describes the robot, FormatError is raised.
    """
    named: Sequence[str] = ()
    for file in (file for place in folder.motions for file in sorted(place.iterdir()) if is_motion(file)):
        with suppress(FormatError):  # also for what is no motion; the check of the configuration reports it
            named = named or load_motions(file)[0].joint_names or ()
    default = named if named and len(named) == len(actuated or named) else actuated
    described = model is None and not all(foreign.is_motion for foreign in folder.foreign)
    if questions.yes and given is None and (described or not default):
        reason = "--yes invents no robot" if described else "nothing names its joints"
        hint = "name --model or --joints; `motiond config example` lays down a robot to try"
        raise FormatError([Problem(str(folder.path), 0, "has no robot description", reason, hint)])
    return questions.ask("its joints, in their order", ",".join(default), _joint_names, "--joints", given)


def ask_limits(questions: Questions, joints: Sequence[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the limits of every joint, in rad and rad/s; loading the configuration holds them."""
    asked = {
        "lower": ("lowest position of every joint, rad", "-1.5"),
        "upper": ("highest position, rad", "1.5"),
        "velocity": ("highest speed, rad/s", "1.0"),
    }
    limits = {key: questions.ask(*question, float) for key, question in asked.items()}
    return {joint: {"limits": dict(limits)} for joint in joints}


def approach(units: Collection[str]) -> dict[str, float | dict[str, float]]:
    """Return how fast a robot is brought to a motion's first row, by the units of its joints."""
    slow = {"velocity": {"rad": 0.5, "m": 0.25}, "acceleration": {"rad": 1.0, "m": 0.5}}
    if len(units) > 1:
        return dict(slow)
    return {kind: values["m" if "m" in units else "rad"] for kind, values in slow.items()}


def ask_motions(
    questions: Questions, folder: Folder, described: Described | None, given: Sequence[str] | None
) -> list[str]:
    """Return files and folders of motions as the configuration names them."""
    if given:
        return [os.path.relpath(place, folder.path.resolve()) for place in given if place != NONE]
    there = [str(one.relative_to(folder.path)) for one in folder.motions]
    if described and described.example:
        there.append(f"motions/{described.example}")
    default = ",".join(there) or NONE
    places = questions.ask("files and folders of motions", default, _names_of)
    return [] if places == [NONE] else places


def ask_map(questions: Questions, folder: Folder) -> dict[str, str]:
    """Return the map of motions' columns to joints as the configuration names it; nothing without one."""
    if not folder.maps:
        return {}
    choices = [*(str(one.relative_to(folder.path)) for one in folder.maps), NONE]
    chosen = questions.choose("the map from columns of motions to joints", choices, "")
    return {} if chosen == NONE else {"motion_map": chosen}


def ask_broker(questions: Questions, given: str | None) -> str:
    """Return the broker: one on this machine if there is one, else the daemon's own by default."""

    def read(url: str) -> str:
        if has_password(url):
            reason = "everybody who reads the configuration would see it"
            hint = "add username and password_file to it later"
            raise ValueError(f"a password does not belong here; {reason}; {hint}")
        return url

    default = "embedded"
    with suppress(OSError), socket.create_connection(LOCAL_BROKER, timeout=LOOK_S):
        default = f"mqtt://{LOCAL_BROKER[0]}"
    return questions.ask("the broker: embedded, or mqtt://host[:port]", default, read, "--broker", given)


def _joint_names(text: str) -> list[str]:
    names = _names_of(text)
    if not all(names):
        raise ValueError("a joint has no name; every joint needs one; write A,B,…")
    return names


def _names_of(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]
