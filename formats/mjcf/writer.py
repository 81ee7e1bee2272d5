"""A robot to MJCF, the model files of MuJoCo.

Its bodies are in each other as links hang on each other. A body has all the joints that one joint has become,
in their order; angles are in rad. What a joint follows, and what it is held at, are equalities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from ..io.writers.robot_writing import (
    NO_LIMIT,
    Target,
    add,
    kind_of,
    named_frames,
    numbers,
    place_of,
    prepared,
    renamed,
    warnings_of,
    write_xml,
)
from ..model.poses import inverse_pose, quaternion_of
from ..model.splitting import WORLD, Names, split, with_least_masses, with_names, without_world_link

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from ..arrays import Floats
    from ..io.xml.tree import Xml
    from ..model.robot import RobotModel
    from ..model.shapes import Mesh, Shape
    from ..model.structure import Coordinate, Joint, Link

NAME = "mjcf"
SUFFIXES = (".mjcf",)

# Below this, MuJoCo takes a moment of inertia for none; it then needs a bound for all of them, in kg·m².
NO_INERTIA, BOUND_INERTIA = 1e-15, 1e-9
ROUNDING = 1e-15


def dump(model: RobotModel, path: Path, *, drop: Collection[str] = ()) -> tuple[str, ...]:
    """Write a robot, as `dump_robot` does."""
    found = prepared(model, path, TARGET, drop)
    ready, new = _without_world(with_least_masses(found.model))
    write_xml(path, lambda: _Document(ready, found.between, path, {}).root)
    return (
        *warnings_of(path, found),
        *renamed(path, "link", new, "MuJoCo's world has its name"),
    )


def document(model: RobotModel, hulls: Mapping[Path, Floats]) -> tuple[Xml, RobotModel]:
    """Return a robot as a program has it that hands it to MuJoCo, and the robot of simple joints that it is.

    Meshes have absolute paths, or the points of their hulls, by their paths. The robot has no joint that
    closes a loop and none of a kind that MuJoCo lacks, and its shapes are such that MuJoCo has.
    """
    found = split(without_world_link(model), TARGET.joints)
    ready, _ = _without_world(with_least_masses(found.model))
    return _Document(ready, found.between, None, hulls).root, found.model


def _lost_shape(shape: Shape, moves: bool) -> str | None:  # noqa: FBT001 - as `Target` asks
    if shape.mesh and shape.mesh.format not in {"stl", "obj"}:
        return "meshes in STL and OBJ"
    return "planes on what does not move" if shape.kind == "plane" and moves else None


TARGET = Target(
    "MJCF",
    ("fixed", "revolute", "continuous", "prismatic", "ball", "free"),
    "hinges, slides, balls and free joints",
    _lost_shape,
    any_inertia=False,
)


def _without_world(model: RobotModel) -> tuple[RobotModel, list[tuple[str, str]]]:
    """Return a robot without a link that is called as MuJoCo's world, and the names that changed."""
    if WORLD not in {link.name for link in model.links}:
        return model, []
    new = Names({link.name for link in model.links}).fresh(WORLD)
    return with_names(model, {WORLD: new}), [(WORLD, new)]


class _Document:
    """The elements of a model, in which what is found later has its place."""

    def __init__(
        self, model: RobotModel, between: Collection[str], path: Path | None, hulls: Mapping[Path, Floats]
    ) -> None:
        self._model = model
        self._between = between
        self._path = path
        self._hulls = hulls
        self._meshes: dict[tuple[str, tuple[float, ...]], str] = {}
        self._mesh_names = Names()
        self.root = etree.Element("mujoco", {"model": model.name})
        self._add_settings()
        self._asset = add(self.root, "asset")
        self._bodies = {"": add(self.root, "worldbody")}
        self._equality = add(self.root, "equality")
        self._custom = add(self.root, "custom")
        self._add_bodies()
        for frame in named_frames(model):
            pose = frame.pose if frame.attached_to else model.base_pose @ frame.pose
            add(self._bodies[frame.attached_to], "site", name=frame.name, **_placed(pose))
        for part in (self._asset, self._equality, self._custom):
            if not len(part):
                self.root.remove(part)

    def _add_settings(self) -> None:
        compiler = add(self.root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
        heavy = [link.inertia for link in self._model.links if link.mass > 0]
        if any(min(_principal(inertia)[0]) < NO_INERTIA for inertia in heavy):
            compiler.set("boundinertia", numbers(BOUND_INERTIA))
        default = add(self.root, "default")
        for role, settings in _ROLES.items():
            add(add(default, "default", class_=role), "geom", **settings)

    def _add_bodies(self) -> None:
        """Add each body to that which carries it."""
        model = self._model
        links = {link.name: link for link in model.links if link.name not in self._between}
        carriers = {joint.child: joint for joint in model.joints}
        rows = {name: self._row(name, carriers) for name in links}
        carried: dict[str, list[str]] = {}
        for name, row in rows.items():
            carried.setdefault(row[0].parent if row else "", []).append(name)
        waiting = carried.get("", [])[::-1]
        while waiting:
            name = waiting.pop()
            self._add_body(links[name], rows[name])
            waiting.extend(reversed(carried.get(name, [])))

    def _row(self, link: str, carriers: dict[str, Joint]) -> list[Joint]:
        """Return the joints between a link and the one that carries it."""
        row: list[Joint] = []
        while link in carriers and (not row or link in self._between):
            row.insert(0, carriers[link])
            link = row[0].parent
        return row

    def _add_body(self, link: Link, row: list[Joint]) -> None:
        parent = row[0].parent if row else ""
        pose = row[0].parent_pose @ row[-1].child_pose if row else link.pose
        if not parent:
            pose = self._model.base_pose @ pose
        body = self._bodies[link.name] = add(self._bodies[parent], "body", name=link.name, **_placed(pose))
        if link.mass or link.inertia.any():
            moments, axes = _principal(link.inertia)
            add(
                body,
                "inertial",
                **_placed(link.com @ axes),
                mass=numbers(link.mass),
                diaginertia=numbers(*moments),
            )
        for joint in row:
            self._add_joint(body, joint, inverse_pose(row[-1].child_pose))
        for shape in link.shapes:
            self._add_shape(body, shape)

    def _add_joint(self, body: Xml, joint: Joint, place: Floats) -> None:
        """Add a joint of a body, whose joints are all at one place (4, 4) in it."""
        if joint.type == "fixed":
            return
        if joint.type == "free":
            add(body, "freejoint", name=joint.name)
            return
        element = add(body, "joint", name=joint.name, type=_TYPES[joint.type], pos=numbers(*place[:3, 3]))
        if joint.type == "ball":
            return
        element.set("axis", numbers(*(place[:3, :3] @ joint.axes[0])))
        (coordinate,) = joint.coordinates
        self._add_range(element, coordinate)
        for key, value in {
            "damping": coordinate.damping,
            "frictionloss": coordinate.friction,
            "stiffness": coordinate.spring_stiffness,
            "springref": coordinate.spring_reference,
        }.items():
            if value:
                element.set(key, numbers(value))
        if joint.mimic:
            line = numbers(joint.mimic.offset, joint.mimic.multiplier, 0, 0, 0)
            add(self._equality, "joint", joint1=joint.name, joint2=joint.mimic.of, polycoef=line)

    def _add_range(self, element: Xml, coordinate: Coordinate) -> None:
        """Add limits; those for which joints have no attribute go where MuJoCo keeps numbers of users."""
        name, effort = element.get("name", ""), coordinate.effort_limit
        if coordinate.lower == coordinate.upper:
            held = numbers(coordinate.lower, 0, 0, 0, 0)
            add(self._equality, "joint", joint1=name, polycoef=held)
        elif coordinate.is_bounded:
            element.set("range", numbers(max(coordinate.lower, -NO_LIMIT), min(coordinate.upper, NO_LIMIT)))
        if 0 < effort < math.inf:
            element.set("actuatorfrcrange", numbers(-effort, effort))
        elif not effort:
            add(self._custom, "numeric", name=f"effort_limit {name}", data="0")
        if math.isfinite(coordinate.velocity_limit):
            velocity = numbers(coordinate.velocity_limit)
            add(self._custom, "numeric", name=f"velocity_limit {name}", data=velocity)

    def _add_shape(self, body: Xml, shape: Shape) -> None:
        geom = add(body, "geom", class_=shape.role)
        if shape.mesh:
            geom.set("type", "mesh")
            geom.set("mesh", self._mesh(shape.mesh, shape.scale))
        else:
            kind, size = _SIZES[kind_of(shape)](shape)
            geom.set("type", kind)
            geom.set("size", numbers(*size))
        for key, value in _placed(shape.pose).items():
            geom.set(key, value)
        if shape.colour:
            geom.set("rgba", numbers(*shape.colour))

    def _mesh(self, mesh: Mesh, scale: tuple[float, float, float]) -> str:
        file = place_of(mesh, self._path)[0] if self._path else str(mesh.path.absolute())
        name = self._meshes.get((file, scale))
        if name is None:
            name = self._meshes[file, scale] = self._mesh_names.fresh(mesh.path.stem)
            hull = self._hulls.get(mesh.path)
            what = {"file": file} if hull is None else {"vertex": numbers(*hull.ravel())}
            add(self._asset, "mesh", name=name, scale=numbers(*scale), inertia="shell", **what)
        return name


_TYPES = {"revolute": "hinge", "continuous": "hinge", "prismatic": "slide", "ball": "ball"}
_ROLES = {
    "visual": {"contype": "0", "conaffinity": "0", "group": "2"},
    "collision": {"group": "3"},
}
_GRID_M = 1.0
_SIZES: dict[str, Callable[[Shape], tuple[str, tuple[float, ...]]]] = {
    "box": lambda one: ("box", tuple(edge / 2 for edge in one.size)),
    "sphere": lambda one: ("sphere", (one.size[0] * one.scale[0],)),
    "ellipsoid": lambda one: ("ellipsoid", tuple(one.size[0] * factor for factor in one.scale)),
    "cylinder": lambda one: ("cylinder", (one.size[0], one.size[1] / 2)),
    "capsule": lambda one: ("capsule", (one.size[0], one.size[1] / 2)),
    "plane": lambda one: ("plane", (one.size[0] / 2, one.size[1] / 2, _GRID_M)),
}


def _placed(pose: Floats) -> dict[str, str]:
    return {"pos": numbers(*pose[:3, 3]), "quat": numbers(*quaternion_of(pose))}


def _principal(inertia: Floats) -> tuple[list[float], Floats]:
    """Return the principal moments of an inertia (3, 3), and the pose (4, 4) of their axes.

    MuJoCo loads no body with a moment above the sum of the two others, be it by rounding alone, as of a plate
    without thickness. The two are then as large as they have to be.
    """
    axes = np.eye(4)
    moments = np.diag(inertia).copy()
    if np.count_nonzero(inertia) > np.count_nonzero(moments):
        moments, turn = np.linalg.eigh(inertia)
        axes[:3, :3] = turn * np.linalg.det(turn)
    moments = np.maximum(moments, 0.0)
    *others, largest = np.argsort(moments)
    if moments[others].sum() < moments[largest]:
        moments[others] += (moments[largest] - moments[others].sum()) / 2 + moments[largest] * ROUNDING
    return moments.tolist(), axes
