"""The world of a simulated robot, from its description: what the `sim` driver's option `physics` wants."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motiond.drivers.sim import ARMATURE, packed
from motiond.text import listed

from .bodies import weightless_links
from .extra import PhysicsError, load_mujoco
from .robot import PhysicalRobot
from .world import make_world

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats import RobotModel

    from ..config.robot import PayloadSettings
    from ..joints import JointMap
    from .surroundings import Surrounding
    from .world import World

log = logging.getLogger(__name__)

COMPOSITE, SIMULATED = "composite", "sim"
MOST_BYTES = 140_000
"""Of a world, beside what else is in the first message to a stream process (`ipc.channel.PACKET_BYTES`)."""


def with_physics(
    kind: str,
    options: Mapping[str, Any],
    model: RobotModel | None,
    joint_map: JointMap,
    payload: PayloadSettings | None = None,
) -> dict[str, Any]:
    """Return a driver's options, with the robot's world where `physics` asks for it.

    The bodies of `gravity` are then the world's; its acceleration stays. `kind`: the driver. What has no
    mass is warned of.

    Raises
    ------
    PhysicsError
        If description and scene make no world, MuJoCo is not installed, or a part of a composite asks for
        one.
    JointMapError
        If the payload is in a frame that the description does not have.
    """
    if kind == COMPOSITE:
        _refuse_parts(joint_map.robot, options)
    if kind != SIMULATED or options.get("physics") is not True:
        return dict(options)
    if model is None:
        reason, hint = "it has no description", "name one under `model`"
        raise PhysicsError(f"{joint_map.robot}: `physics` is true; {reason}; {hint}")
    load_mujoco(f"{joint_map.robot}: `physics`")
    world = _world(options, model, joint_map, payload)
    PhysicalRobot(world)  # what MuJoCo cannot load is to be known before there is a stream process
    _warn_of_masses(world, model)
    filled = {key: options[key] for key in options if key not in {"floor", "scene"}}
    filled["physics"] = {"mjcf": _fitting(world), "joints": _moved(world, joint_map)}
    if isinstance(gravity := options.get("gravity"), dict):
        filled["gravity"] = {key: gravity[key] for key in gravity if key != "from_model"}
    return filled


def simulated_surroundings(
    kind: str, options: Mapping[str, Any], model: RobotModel | None, joint_map: JointMap
) -> tuple[Surrounding, ...]:
    """Return floor and scene of a simulated robot; nothing where its driver has no physics.

    Raises
    ------
    PhysicsError
        If description and scene make no world, as when the scene's file has changed.
    """
    if kind != SIMULATED or options.get("physics") is not True or model is None:
        return ()
    return _world(options, model, joint_map).surroundings


def _world(
    options: Mapping[str, Any],
    model: RobotModel,
    joint_map: JointMap,
    payload: PayloadSettings | None = None,
) -> World:
    scene = options.get("scene")
    return make_world(
        model,
        joint_map,
        payload=payload,
        floor=bool(options.get("floor")),
        scene=scene and Path(scene),
        needs_masses=True,
    )


def _warn_of_masses(world: World, model: RobotModel) -> None:
    if world.unladen:
        what = f"joints that move no mass have the inertia of a motor alone, {ARMATURE} kg·m² or kg"
        log.warning("%s: `physics`: %s: %s", world.robot, what, listed(world.unladen))
    if names := weightless_links(model):
        log.warning("%s: `physics`: links without a mass weigh nothing: %s", world.robot, listed(names))


def _fitting(world: World) -> str:
    """Return the world's document as it goes to another process, in one message."""
    text = packed(world.mjcf)
    if len(text) > MOST_BYTES:
        reason, hint = (
            f"it has {len(text) // 1000} kB packed",
            "keep shapes of many corners in files of meshes",
        )
        raise PhysicsError(f"{world.robot}: `physics`: the world is too large; {reason}; {hint}")
    return text


def _refuse_parts(robot: str, options: Mapping[str, Any]) -> None:
    parts = options.get("parts")
    for name, part in parts.items() if isinstance(parts, dict) else ():
        if isinstance(part, dict) and part.get("physics") is True:
            reason = "a world has the whole robot, and this driver a part of it"
            hint = "simulate all of it by `driver: {type: sim, physics: true}`, or leave `physics` out"
            raise PhysicsError(f"{robot}: part {name}: `physics` is true; {reason}; {hint}")


def _moved(world: World, joint_map: JointMap) -> list[dict[str, Any]]:
    """Return the joint of the world that each actuator moves; the others follow by the world's own rules."""
    gear = joint_map.transmission
    of_joint = {one.name: one for one in world.joints}
    joints = []
    for actuator, column in zip(joint_map.actuators, gear.joint_of.tolist(), strict=True):
        joint = of_joint[joint_map.joints[column]]
        joints.append(
            {
                "actuator": actuator,
                "joint": joint.name,
                "reduction": float(gear.joint_reduction[column]) / joint.factor,
                "offset": joint.factor * float(gear.joint_offset[column]) + joint.offset,
            }
        )
    return joints
