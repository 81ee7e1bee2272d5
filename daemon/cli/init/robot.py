"""The robot of a first configuration: its description, its joints, and what moves them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import actuators as hardware
from . import questions as about

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .questions import Described, Folder, Questions


@dataclass(frozen=True, slots=True)
class Wanted:
    """What options say of the robot, as they are given.

    - `joints`: their names with commas between, where there is no description
    - `actuators`: by joint
    """

    robot: str | None
    model: str | None
    joints: str | None
    driver: str | None
    ports: Sequence[str]
    baud_rate: int | None
    actuators: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Robot:
    """What was found, and answered.

    - `joints`: those that move by themselves
    - `driver`: the section of the configuration
    - `has_actuators`: whether it says which of them moves which joint
    - `are_actuators_guessed`: whether that was taken by their order
    """

    name: str
    description: Described | None
    joints: Sequence[str]
    driver: dict[str, Any]
    has_actuators: bool = False
    are_actuators_guessed: bool = False

    def joint_options(self) -> dict[str, dict[str, Any]]:
        """Return the section of joints, by what the description leaves to be said of them."""
        described = self.description
        if described is None:
            return {}
        options: dict[str, dict[str, Any]] = {}
        if self.has_actuators:
            options = {joint: {"actuator": "none"} for joint in described.followers}
        if described.limits:
            own = described.joint_options
            options |= {
                joint: {"limits": dict(described.limits), **own.get(joint, {})} for joint in self.joints
            }
        return options


def find_robot(questions: Questions, files: Folder, wanted: Wanted) -> Robot:
    """Find the robot, and ask for what is not known of it; raises as `actuators` and `questions` do."""
    described = about.describe(questions, files, "none" if wanted.joints else wanted.model)
    if described is None or not described.is_config:
        return _with_hardware(questions, files, wanted, described)
    name = about.ask_name(questions, described.name, wanted.robot)
    kind, config = wanted.driver or ("dynamixel" if wanted.ports else None), str(described.model)
    driver = hardware.configured_driver(questions, kind, config, described.joints, wanted.actuators)
    return Robot(name, described, described.joints, driver)


def _with_hardware(questions: Questions, files: Folder, wanted: Wanted, described: Described | None) -> Robot:
    """Find what moves the joints, and with it the names of joints that nothing describes."""
    name = about.ask_name(questions, described.name, wanted.robot) if described else ""
    found, asked = hardware.find(questions, wanted.driver, wanted.ports, wanted.baud_rate)
    hardware.refuse_none(found, wanted.driver, wanted.ports, wanted.baud_rate)
    if not (described or wanted.joints or wanted.actuators):
        described = about.offer_so101(questions, hardware.so101_servos(found, hardware.SO101))
    name = name or about.ask_name(questions, described.name if described else "robot", wanted.robot)
    kind = hardware.choose_driver(questions, found, asked, len(described.joints) if described else 1)
    if described:
        joints = described.joints
    else:
        named, listed = hardware.joint_names(found, kind), wanted.joints or ",".join(wanted.actuators) or None
        joints = about.ask_joints(questions, files, named, wanted.model, listed)
    assigned, are_guessed = hardware.assign(questions, kind, found, wanted.actuators, joints)
    driver = hardware.driver_options(kind, assigned)
    if described and assigned:
        driver |= described.driver
    return Robot(name, described, joints, driver, bool(assigned), are_guessed)
