"""A robot, and what stands around it, as a document for MuJoCo.

The document is one text with absolute paths, so that another process can load it. Its world is the frame that
the description places the robot in, its bodies have the names of links.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from motiond.drivers.sim import ARMATURE
from motiond.formats import Mimic, mjcf_document

from ..joints import with_payload
from .bodies import with_inertias, with_touching_shapes
from .extra import PhysicsError
from .hulls import Hulls
from .surroundings import add_floor, add_scene, add_workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from motiond.formats import Coordinate, Joint, RobotModel, Shape

    from ..config.robot import PayloadSettings
    from ..joints import JointMap
    from .surroundings import Surrounding

STANDARD_GRAVITY = 9.80665
"""In m/s²."""


@dataclass(frozen=True, slots=True)
class PhysicalJoint:
    """A joint of the document, by its name, and the column of the joint map that moves it.

    Its position is `factor * position + offset`, in rad or m.
    """

    name: str
    column: int
    factor: float
    offset: float


@dataclass(frozen=True, slots=True)
class World:
    """A document for MuJoCo, and how the joints of a joint map move what is in it.

    Attributes
    ----------
    robot : str
        Its name in the configuration, for messages.
    mjcf : str
    joints : tuple of PhysicalJoint
        In the document's order. A screw has two.
    surroundings : tuple of Surrounding
        The shapes around the robot.
    unladen : tuple of str
        The joints that move no mass. Each has `ARMATURE` instead, the inertia of its motor.
    """

    robot: str
    mjcf: str
    joints: tuple[PhysicalJoint, ...]
    surroundings: tuple[Surrounding, ...] = ()
    unladen: tuple[str, ...] = ()


def make_world(
    model: RobotModel,
    joint_map: JointMap,
    *,
    payload: PayloadSettings | None = None,
    floor: bool = False,
    scene: Path | None = None,
    workspace: Sequence[tuple[str, Shape]] = (),
    needs_masses: bool = False,
) -> World:
    """Make the world of a robot.

    Parameters
    ----------
    payload : PayloadSettings, optional
        What the robot carries: a point of mass, in a frame of its own.
    floor : bool
        Whether a floor is at the height 0 of the world's frame.
    scene : Path, optional
        A file of what stands around the robot: MJCF, or a description that motiond reads.
    workspace : sequence of (str, Shape)
        Shapes with names, in the world's frame; planes have no end. They touch as all others do.
    needs_masses : bool
        Whether a robot is refused none of whose joints moves a mass.

    Raises
    ------
    PhysicsError
        With everything, a line each, that keeps MuJoCo from having the robot: joints that close loops or are
        gearboxes, what is free and does not hang on the world, planes that move, meshes and scenes that
        cannot be read.
    JointMapError
        If the payload is in a frame that the description does not have.
    """
    robot = joint_map.robot
    if problems := [*_wrong_joints(robot, model)]:
        raise PhysicsError("\n".join(problems))
    physical = with_inertias(with_touching_shapes(_without_gears(_with_own_mimics(model, joint_map))))
    hulls = Hulls(robot)
    problems += _wrong_meshes(robot, physical, hulls)
    root, simple = mjcf_document(with_payload(robot, physical, payload) or physical, hulls.points)
    problems += _moving_planes(robot, simple)
    unladen = _unladen(joint_map, simple)
    if needs_masses and len(unladen) == len(joint_map.joints):
        reason, hint = "no link beyond one has a mass", "give links masses, or name a `payload`"
        problems.append(f"{robot}: no joint moves a mass; {reason}; {hint}")
    if problems:
        raise PhysicsError("\n".join(problems))
    etree.SubElement(root, "option", gravity=f"0 0 -{STANDARD_GRAVITY}")
    _let_pass(root)
    for joint in root.iter("joint"):
        if joint.get("name") in unladen:
            joint.set("armature", str(ARMATURE))
    surroundings = [add_floor(root)] if floor else []
    surroundings += add_scene(root, robot, scene, hulls) if scene else []
    surroundings += add_workspace(root, robot, workspace, hulls)
    ratios = {joint.name: joint.gear_ratio for joint in model.joints}
    joints = tuple(_physical_joints(simple, joint_map, ratios))
    return World(robot, etree.tostring(root, encoding="unicode"), joints, tuple(surroundings), unladen)


def _let_pass(root: Any) -> None:
    """Let what a joint carries pass through what carries it, where that stands still.

    MuJoCo does so by itself for two bodies that move.
    """
    solid: dict[Any, list[str]] = {}
    for body in root.iter("body"):
        if body.find("geom") is not None:
            solid.setdefault(_moved_with(body), []).append(body.get("name"))
    contact = etree.SubElement(root, "contact")
    for body, names in solid.items():
        if body is not None and body.find("joint") is not None and _moved_with(body.getparent()) is None:
            for one, other in product(solid.get(None, ()), names):
                etree.SubElement(contact, "exclude", body1=one, body2=other)


def _moved_with(body: Any) -> Any:
    """Return the element of the body that joints move and that another moves with; None where none does."""
    while body.tag == "body" and body.find("joint") is None and body.find("freejoint") is None:
        body = body.getparent()
    return body if body.tag == "body" else None


def _with_own_mimics(model: RobotModel, joint_map: JointMap) -> RobotModel:
    """Return a robot whose joints follow those that the joint map has them follow.

    One with an actuator of its own follows by that, not by its mechanics.
    """
    names = joint_map.joints
    follows = {
        names[one.joint]: Mimic(names[one.leader], one.multiplier, one.offset)
        for one in joint_map.mimics
        if np.isnan(joint_map.transmission.effort_factor[one.joint])
    }
    joints = tuple(replace(joint, mimic=follows.get(joint.name)) for joint in model.joints)
    return replace(model, joints=joints)


def _without_gears(model: RobotModel) -> RobotModel:
    """Return a robot whose joints' coordinates are their displacements."""
    ratios = {joint.name: joint.gear_ratio for joint in model.joints}
    return replace(model, joints=tuple(_geared_down(joint, ratios) for joint in model.joints))


def _geared_down(joint: Joint, ratios: dict[str, float]) -> Joint:
    mimic, ratio = joint.mimic, joint.gear_ratio
    if mimic is not None:
        mimic = Mimic(mimic.of, mimic.multiplier * ratios[mimic.of] / ratio, mimic.offset / ratio)
    coordinates = tuple(_over(ratio, one) if ratio != 1 else one for one in joint.coordinates)
    return replace(joint, mimic=mimic, gear_ratio=1.0, coordinates=coordinates)


def _over(ratio: float, one: Coordinate) -> Coordinate:
    """Return the coordinate behind a gear: positions are divided by its ratio, efforts multiplied by it."""
    lower, upper = sorted((one.lower / ratio, one.upper / ratio))
    size = abs(ratio)
    return replace(
        one,
        lower=lower,
        upper=upper,
        velocity_limit=one.velocity_limit / size,
        effort_limit=one.effort_limit * size,
        initial=one.initial / ratio,
        initial_velocity=one.initial_velocity / ratio,
        damping=one.damping * ratio**2,
        friction=one.friction * size,
        spring_stiffness=one.spring_stiffness * ratio**2,
        spring_reference=one.spring_reference / ratio,
    )


def _physical_joints(
    simple: RobotModel, joint_map: JointMap, ratios: dict[str, float]
) -> Iterator[PhysicalJoint]:
    """Yield the joints that columns of a joint map move; what is added to a joint follows that."""
    for joint in simple.joints:
        if joint.name in joint_map.joints:
            yield PhysicalJoint(joint.name, joint_map.joints.index(joint.name), 1 / ratios[joint.name], 0.0)
        elif joint.mimic is not None:
            column, ratio = joint_map.joints.index(joint.mimic.of), ratios[joint.mimic.of]
            yield PhysicalJoint(joint.name, column, joint.mimic.multiplier / ratio, joint.mimic.offset)


def _wrong_joints(robot: str, model: RobotModel) -> Iterator[str]:
    links = {link.name for link in model.links} - {"world"}
    carried: set[str] = set()
    for joint in model.joints:
        if joint.closes_loop or joint.parent == joint.child or joint.child in carried:
            reason, hint = "MuJoCo has trees of links here", "open it in the description"
            yield f"{robot}: joint '{joint.name}' closes a loop; {reason}; {hint}"
        elif joint.type == "gearbox":
            yield f"{robot}: joint '{joint.name}' is a gearbox; MuJoCo has none; describe it by mimic joints"
        elif joint.type == "free" and joint.parent in links:
            reason = f"it hangs on '{joint.parent}'"
            hint = "fix it to its link"
            yield f"{robot}: joint '{joint.name}' is free; {reason}, and only the world carries such; {hint}"
        carried.add(joint.child)


def _wrong_meshes(robot: str, model: RobotModel, hulls: Hulls) -> Iterator[str]:
    for link in model.links:
        for shape in link.shapes:
            if shape.mesh is not None and (reason := hulls.refusal(shape.mesh)):
                what = f"mesh '{shape.mesh.path.name}' of link '{link.name}'"
                yield f"{robot}: MuJoCo cannot read {what}; {reason}"


def _moving_planes(robot: str, simple: RobotModel) -> Iterator[str]:
    for link in simple.links:
        has_plane = any(shape.kind == "plane" for shape in link.shapes)
        if has_plane and any(joint.coordinates for joint in _way_down(simple, link.name)):
            reason, hint = "MuJoCo has planes on what does not move", "give it a flat box"
            yield f"{robot}: link '{link.name}' has a plane; {reason}; {hint}"


def _unladen(joint_map: JointMap, simple: RobotModel) -> tuple[str, ...]:
    """Return the joints that move nothing that has a mass."""
    loaded = {joint.name for link in simple.links if link.mass > 0 for joint in _way_down(simple, link.name)}
    return tuple(name for name in joint_map.joints if name not in loaded)


def _way_down(simple: RobotModel, link: str) -> Iterator[Joint]:
    """Yield the joints that carry a link, from itself to the world."""
    above = {joint.child: joint for joint in simple.joints}
    while link in above:
        yield above[link]
        link = above[link].parent
