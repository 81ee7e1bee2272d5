"""A first configuration as text: what was chosen, and as comments what else is worth knowing."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import indent
from typing import TYPE_CHECKING, Any

import yaml

from motiond.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from .hardware import Actuator

GUESSED = """\
    # NOBODY HAS SAID WHICH ACTUATOR MOVES WHICH JOINT: what stands here is their order. Turn each joint by
    # hand, look which one changes in `motiond monitor`, and correct this before a motion plays.
"""
HINTS = {
    "sim": "type: hebi or dynamixel, once it moves as it should",
    "hebi": "gains: gains.xml; position_range: {elbow: [-1.6, 1.6]}, where it may stand when it is enabled",
    "dynamixel": "direction: {elbow: -1}, where the joint turns against the servo; zero_ticks: {elbow: 2048}",
}
TEMPLATE = """\
# A configuration of motiond, as `motiond init` has written it.
# Paths are relative to this file. What is commented out is a default, or an example.
# After a change: `motiond check` reports whether all is well and moves nothing.

# id: bench                          # the daemon's name among others on one broker; the machine's

{mqtt}\
  # listen: 127.0.0.1:1883           # where an embedded broker listens
  # username: robot                  # to log in with
  # password_file: password          # its first line is the password; keep it from other users
  # ca_file: ca.pem                  # of mqtts://: certificates that the broker's is checked against
  # base: motiond                    # first part of every topic
  # home_assistant: {{}}               # let Home Assistant find the robot

{http}\
  # token_file: token                # its first line is the token that others than this machine need

{robots}\
    # driver:                        # docs/drivers.md has its options
    #   {hint}
    # motion_joints: [base, elbow]   # for motions that carry no names, in their order
    # on_end: hold                   # after a motion: hold, release, or park (the pose of that name)
    # on_exit: hold                  # the same when the daemon ends
    # poses: {{park: {{elbow: 1.0}}}}    # postures by name, in rad or m, for `motiond goto`
    # lease: {{required: true}}        # one client at a time commands it; anybody stops it
    # tolerances: {{path: 0.2}}        # further off while it plays: a soft stop; or {{rad: 0.2, m: 0.01}}
    # checks: {{temperature_c: 70}}    # an actuator that is hotter: a soft stop
    # approach: bounds of the way to a motion's first row, besides the limits: rad/s or m/s, and per s
    # joints: limits, in rad/s and rad/s²: {{elbow: {{limits: {{velocity: 1.0, acceleration: 20}}}}}}
"""


@dataclass(frozen=True, slots=True)
class Choices:
    """One robot, and how it is reached; `limits`, in rad and rad/s, are those of joints without a model."""

    robot: str
    model: str | Mapping[str, str] | None
    joints: Sequence[str]
    actuators: Mapping[str, Actuator] = field(default_factory=dict)
    are_guessed: bool = False
    limits: Mapping[str, float] | None = None
    motions: Sequence[str] = ()
    broker: str = "embedded"
    http: str | None = "127.0.0.1:8080"


def document(choices: Choices, schema: Path | None) -> str:
    """Return the text of a configuration; editors check it by the schema."""
    head = f"# yaml-language-server: $schema={printable(str(schema))}\n#\n" if schema else ""
    driver = _driver(choices.actuators)
    robot: dict[str, Any] = {"model": choices.model} if choices.model is not None else {}
    robot |= {"driver": driver, "motions": list(choices.motions)}
    robot["approach"] = {"velocity": 0.5, "acceleration": 1.0}
    if joints := _joints(choices):
        robot["joints"] = joints
    robots = f"robots:\n  {_yaml(choices.robot)}:\n"
    robots += GUESSED * choices.are_guessed + indent(_block(robot), "    ")
    return head + TEMPLATE.format(
        mqtt=_block({"mqtt": {"broker": choices.broker}}, flow=False),
        http=_block({"http": choices.http and {"listen": choices.http}}, flow=False),
        robots=robots,
        hint=HINTS[driver["type"]],
    )


def _driver(actuators: Mapping[str, Actuator]) -> dict[str, Any]:
    """Return the driver's options; simulated actuators where there are no others."""
    if not actuators:
        return {"type": "sim"}
    first, *_ = found = list(actuators.values())
    if first.driver == "hebi":
        families = [module.place for module in found]
        family = families if len(set(families)) > 1 else first.place
        return {"type": "hebi", "families": family, "names": [module.name for module in found]}
    ports: dict[str, dict[str, Any]] = {}
    for joint, servo in actuators.items():
        port = {"port": servo.place, "baud_rate": servo.baud_rate, "ids": {}}
        ports.setdefault(servo.place, port)["ids"][joint] = int(servo.name)
    models = {joint: servo.model for joint, servo in actuators.items() if servo.model is not None}
    return {"type": "dynamixel", "ports": list(ports.values())} | ({"models": models} if models else {})


def _joints(choices: Choices) -> dict[str, Any]:
    """Return what the configuration has to say of joints: limits, or that one follows another by itself."""
    if choices.limits is not None:
        return {joint: {"limits": dict(choices.limits)} for joint in choices.joints}
    followers = [one for one in choices.joints if choices.actuators and one not in choices.actuators]
    return {joint: {"actuator": "none"} for joint in followers}


def _block(value: Mapping[str, Any], *, flow: bool | None = None) -> str:
    """Return a mapping as YAML; without `flow=False`, innermost collections are on one line each."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=100)


def _yaml(text: str) -> str:
    return yaml.safe_dump(text, allow_unicode=True).removesuffix("\n").removesuffix("...").rstrip("\n")
