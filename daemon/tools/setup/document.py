"""A first configuration as text: what was chosen, what each line means, and options that are worth knowing.

What comes from outside (names of modules, files, joints) is written as YAML quotes it, and goes into comments
only as far as it is printable, so that nothing of it becomes a line of its own.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import yaml

from motiond.text import listed, printable, shortened

from .choices import EMBEDDED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from .choices import Choices
    from .hardware import Servo

COMMENTS_AT = 36
LONGEST_TOLD = 60
RATED_VELOCITY_RAD_S = 1.0

GUESSED = (
    "NOBODY HAS SAID WHICH ACTUATOR MOVES WHICH JOINT: what stands here is their order. Turn each joint by",
    "hand, look which one changes in `motiond monitor`, and correct this before a motion plays.",
)


def document(choices: Choices, schema: Path | None) -> str:
    """Return the text of a configuration.

    Parameters
    ----------
    schema : Path or None
        The schema of configurations, for editors that complete and check them.
    """
    return "\n".join([*_head(schema), *_reached(choices), *_robot(choices), ""])


def _head(schema: Path | None) -> Iterator[str]:
    if schema is not None:
        yield f"# yaml-language-server: $schema={printable(str(schema))}"
        yield "#"
    yield "# A configuration of motiond, as `motiond init` has written it."
    yield "# Paths are relative to this file. What is commented out is a default, or an example."
    yield "# After a change: `motiond check` says whether all is well and moves nothing."
    yield ""


def _reached(choices: Choices) -> Iterator[str]:
    yield _line(0, "# id: bench", "the daemon's name among others on one broker; the machine's")
    yield ""
    yield _line(0, "mqtt:", "how the robot is commanded and watched")
    if choices.broker == EMBEDDED:
        yield _line(1, "broker: embedded", "inside the daemon; or mqtt://host[:port], or mqtts://… for TLS")
        yield _line(1, "# listen: 127.0.0.1:1883", "where it listens; give it a login before others reach it")
    else:
        yield _line(1, f"broker: {_value(choices.broker)}", "or embedded: one inside the daemon")
        yield _line(1, "# ca_file: ca.pem", "of mqtts://: certificates that the broker's is checked against")
    yield _line(1, "# username: robot", "to log in with")
    yield _line(1, "# password_file: password", "its first line is the password; keep it from other users")
    yield _line(1, "# base: motiond", "first part of every topic")
    yield _line(1, "# home_assistant: {}", "let Home Assistant find the robot")
    yield ""
    if choices.http is None:
        yield _line(0, "http: null", "no page; or {listen: 127.0.0.1:8080} for one")
    else:
        yield _line(0, "http:", "the page, and requests by HTTP; null for none")
        yield _line(1, f"listen: {_value(choices.http)}", "beyond this machine a token is demanded")
        yield _line(1, "# token_file: token", "its first line is the token; keep it from other users")
    yield ""


def _robot(choices: Choices) -> Iterator[str]:
    yield "robots:"
    yield _line(1, f"{_value(choices.robot)}:", "its name in topics and on the command line")
    if choices.model is not None:
        model = choices.model
        file = str(model.file)
        text = _value(file if model.name is None else {"file": file, "name": model.name})
        yield _line(2, f"model: {text}", "the robot's description")
    yield from _driver(choices)
    if choices.motions:
        yield _line(2, f"motions: {_value(list(choices.motions))}", "files and folders")
    else:
        yield _line(2, "motions: []", "files and folders, such as [motions/]")
    yield _line(2, "# motion_joints: [base, elbow]", "for motions that carry no names, in their order")
    yield _line(2, "# on_end: hold", "after a motion: hold, release, or park (the pose of that name)")
    yield _line(2, "# on_exit: hold", "the same when the daemon ends")
    yield _line(2, "# poses: {park: {elbow: 1.0}}", "postures by name, in rad or m, for `motiond goto`")
    yield _line(2, "# lease: {required: true}", "one client at a time commands it; anybody stops it")
    yield _line(
        2, "# tolerances: {path: 0.2}", "further off while it plays: a soft stop; or {rad: 0.2, m: 0.01}"
    )
    yield _line(2, "# checks: {temperature_c: 70}", "an actuator that is hotter: a soft stop")
    yield _line(2, "approach:", "bounds of the way to a motion's first row, besides the limits")
    yield _line(3, "velocity: 0.5", "rad/s or m/s")
    yield _line(3, "acceleration: 1.0", "per second squared")
    yield from _joints(choices)


# -- actuators ----------------------------------------------------------------------------------------------


def _driver(choices: Choices) -> Iterator[str]:
    if choices.are_guessed:
        yield from (f"    # {line}" for line in GUESSED)
    yield _line(2, "driver:", "beside the type stand the driver's own options: docs/drivers.md")
    match choices.driver:
        case "hebi":
            yield from _hebi(choices)
        case "dynamixel":
            yield from _dynamixel(choices)
        case _:
            yield _line(3, "type: sim", "simulated actuators; hebi or dynamixel once it moves as it should")
            yield _line(3, "# natural_frequency_hz: 30", "how fast they follow")


def _hebi(choices: Choices) -> Iterator[str]:
    modules = choices.modules
    families = [module.family for _, module in modules]
    names = [module.name for _, module in modules]
    yield _line(3, "type: hebi", "HEBI modules on the network")
    family: Any = families[0] if len(set(families)) == 1 else families
    yield _line(3, f"families: {_value(family)}", "one for all, or one for each name")
    yield _line(3, f"names: {_value(names)}", f"of {_told(joint for joint, _ in modules)}")
    yield _line(3, "# command_lifetime_s: 0.25", "the modules let go when no command came for so long")
    yield _line(3, "# gains: gains.xml", "controller gains, as HEBI Scope writes them")
    if modules:
        example = _value({modules[0][0]: [-1.6, 1.6]})
        yield _line(3, f"# position_range: {example}", "rad: where it may stand when it is enabled")


def _dynamixel(choices: Choices) -> Iterator[str]:
    servos = choices.servos
    yield _line(3, "type: dynamixel", "servos on serial ports")
    yield _line(3, "ports:")
    for port in dict.fromkeys(servo.port for _, servo in servos):
        here = [(joint, servo) for joint, servo in servos if servo.port == port]
        yield _line(4, f"- port: {_value(port)}", "a path under /dev/serial/by-id outlasts replugging")
        yield _line(4, f"  baud_rate: {here[0][1].baud_rate}", "as the servos are set")
        ids = _value({joint: servo.servo_id for joint, servo in here})
        yield _line(4, f"  ids: {ids}", "the servo of each joint")
    if models := _models(servos):
        yield _line(3, f"models: {_value(models)}", "any other servo is refused")
    first = servos[0][0]
    yield _line(3, f"# direction: {_value({first: -1})}", "where the joint turns against the servo")
    yield _line(3, f"# zero_ticks: {_value({first: 2048})}", "what the servo reports at 0 rad")
    yield _line(3, "# command_lifetime_s: 0.2", "the servos stop and hold when no command came for so long")


def _models(servos: list[tuple[str, Servo]]) -> str | dict[str, str] | None:
    """Return the models by joint; one alone where all servos are alike."""
    known = {joint: servo.model for joint, servo in servos if servo.model is not None}
    if len(known) == len(servos) and len(set(known.values())) == 1:
        return next(iter(known.values()))
    return known or None


# -- joints -------------------------------------------------------------------------------------------------


def _joints(choices: Choices) -> Iterator[str]:
    limits = choices.limits
    followers = [one for one in choices.joints if choices.actuators and one not in choices.actuators]
    if limits is not None:
        yield _line(2, "joints:", "there is no description: all joints, in their order, with limits")
        for number, joint in enumerate(choices.joints):
            bounds = {"lower": limits.lower, "upper": limits.upper, "velocity": limits.velocity}
            yield _line(
                3,
                f"{_value(joint)}:",
                "rad, rad/s; also acceleration, in rad/s², and effort, in N·m" if number == 0 else "",
            )
            yield _line(4, f"limits: {_value(bounds)}")
        return
    if followers:
        yield _line(2, "joints:", "what the description does not know of its joints")
        for joint in followers:
            yield _line(3, f"{_value(joint)}: {{actuator: none}}", "follows another joint by itself")
        return
    yield _line(2, "# joints:", "limits that are narrower than the description's, or that it lacks:")
    example = f"{_value(choices.joints[0])}: {{limits: {{velocity: 1.0, acceleration: 20}}}}"
    yield _line(2, f"#   {example}", "rad/s, rad/s²")


# -- text ---------------------------------------------------------------------------------------------------


def _line(level: int, text: str, comment: str = "") -> str:
    """Return a line, its comment in the column of the others where there is room."""
    written = "  " * level + text
    return f"{written:<{COMMENTS_AT}} # {comment}" if comment else written


def _told(names: Iterable[str]) -> str:
    return shortened(printable(listed(list(names))), LONGEST_TOLD)


class _OneLine(yaml.SafeDumper):
    """Quotes what holds a line break so that it stays on its line."""


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text == printable(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_OneLine.add_representer(str, _quoted)


def _value(value: Any) -> str:
    """Return a value as YAML on one line."""
    text = yaml.dump(
        value, Dumper=_OneLine, default_flow_style=True, allow_unicode=True, width=math.inf, sort_keys=False
    )
    return str(text).removesuffix("\n").removesuffix("...").rstrip("\n")
