"""The text of a first configuration: what was chosen, and as comments what else is worth knowing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from motiond.text import printable

from ...tools.example import example_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GUESSED = """\
    # NOBODY HAS SAID WHICH ACTUATOR MOVES WHICH JOINT: what stands above is their order. Turn each joint by
    # hand, look which one changes in `motiond monitor`, and correct this before a motion plays.
"""
PHYSICS = """\
    # driver: {type: sim, physics: true, floor: true}  # with weight and contacts; needs 'motiond[physics]'
"""
REDUCTIONS = """\
    # The description's transmissions: turns of the actuator for one of the joint. A joint needs this where
    # its actuator counts the turns of its motor; most servos count those of their output.
{joints}"""
LIMITS = """\
    # Limits that the description lacks, or narrower ones. One that turns without end has no lower and
    # upper, but `continuous: true`.
{joints}"""
CONTINUOUS = """\
    # By the description these turn without end, and every way leads to the nearest turn: {joints}.
    # Where cables forbid that, give the joint limits, or `continuous: false`.
"""
EXAMPLE_LIMITS = {"lower": -1.5, "upper": 1.5, "acceleration": 20}
TEMPLATE = """\
# yaml-language-server: $schema={schema}
# A configuration of motiond, as `motiond init` has written it.
# Paths are relative to this file. What is commented out is a default, or an example.
# After a change: `motiond check -c motiond.yaml` reports whether all is well and moves nothing.

{mqtt}\
  # listen: 127.0.0.1:1883           # where an embedded broker listens
  # username: robot                  # to log in with
  # password_file: password          # its first line is the password; keep it from other users
  # ca_file: ca.pem                  # of mqtts://: certificates that the broker's is checked against
  # home_assistant: {{}}               # let Home Assistant find the robot

{http}\
  # token_file: token                # its first line is the token that others than this machine need

{paths}{robots}{physics}{guessed}{continuous}{reductions}{limits}\
    # motion_joints: [base, elbow]   # for motions that carry no names, in their order
    # motion_map: arm.map.yaml       # columns of motions to joints, with signs, offsets and units
    # interpolate_recordings: true   # rows between those of motions with few, as 30 a second
    # on_end: hold                   # after a motion: hold, release, or park (the pose of that name)
    # poses: {{park: {{elbow: 1.0}}}}    # postures by name, in rad or m, for `motiond goto`
    # lease: {{required: true}}        # one client at a time commands it; anybody stops it
    # tolerances: {{path: 0.2}}        # further off while it plays: a soft stop; or {{rad: 0.2, m: 0.01}}
    # checks: {{temperature_c: 70}}    # an actuator that is hotter: a soft stop
"""


def document(
    robot: str,
    options: dict[str, Any],
    broker: str,
    page: str,
    *,
    are_actuators_guessed: bool,
    reductions: Mapping[str, float],
    resource_paths: Sequence[str],
    joints: Sequence[str],
    continuous: Sequence[str],
) -> str:
    """Return the configuration of one robot; editors check it by the schema.

    `reductions`: those that its description states, by joint; they are offered, not applied.
    `resource_paths`: further folders of its meshes. `joints`: those that move; the first is an example.
    `continuous`: those that turn without end, by the description.
    """
    return TEMPLATE.format(
        schema=printable(str(example_config().with_name("schema.json"))),
        mqtt=_yaml({"mqtt": {"broker": broker}}, flow=False),
        http=_yaml({"http": None if page == "none" else {"listen": page}}, flow=False),
        paths=_yaml({"resource_paths": list(resource_paths)}) + "\n" if resource_paths else "",
        robots=_yaml({"robots": {robot: {key: value for key, value in options.items() if value != {}}}}),
        physics=PHYSICS * ("model" in options and options["driver"]["type"] == "sim"),
        guessed=GUESSED * are_actuators_guessed,
        continuous=CONTINUOUS.format(joints=printable(", ".join(continuous))) if continuous else "",
        reductions=_offered(reductions) if reductions else "",
        limits="" if reductions or options.get("joints") or not joints else _limits(joints[0]),
    )


def _limits(joint: str) -> str:
    """Return comments with limits of a joint, where the configuration has no `joints` yet."""
    return LIMITS.format(joints=_commented({"joints": {joint: {"limits": EXAMPLE_LIMITS}}}))


def _offered(reductions: Mapping[str, float]) -> str:
    """Return comments with the reductions as the configuration would have them."""
    joints = {joint: {"reduction": value} for joint, value in reductions.items()}
    return REDUCTIONS.format(joints=_commented({"joints": joints}))


def _commented(value: dict[str, Any]) -> str:
    return "".join(f"    # {line}\n" for line in _yaml(value).splitlines())


def _yaml(value: dict[str, Any], *, flow: bool | None = None) -> str:
    """Return a mapping as YAML; without `flow=False`, innermost collections are on one line each."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=flow, width=100)
