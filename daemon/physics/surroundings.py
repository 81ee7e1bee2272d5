"""What stands around a robot: a floor, a scene of a file, and the shapes of its workspace.

A scene is an MJCF file, which MuJoCo reads by itself, with `scene/` in front of its names; or a description
in a format that motiond reads, whose links stand where it begins. What an MJCF file says of gravity, time
steps and MuJoCo's other options does not count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from lxml import etree

from motiond.formats import FormatError, Link, Mesh, RobotModel, Shape, Source, load_robots, mjcf_document
from motiond.formats.io import SizeBound
from motiond.formats.model import ellipsoid

from .bodies import with_touching_shapes
from .extra import PhysicsError, load_mujoco

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from motiond.formats.arrays import Floats

    from .hulls import Hulls

FLOOR, SCENE = "floor", "scene"
DESCRIPTIONS = frozenset({".urdf", ".sdf", ".world", ".hrdf", ".skel"})
SCENE_SIZE = SizeBound(4_000_000, "a scene", "keep shapes of many triangles in files of meshes")
MOST_SHAPES = 2000
"""Of a scene."""
_XML = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
_REPEATED = frozenset({"replicate", "composite", "flexcomp"})
_SHAPES = frozenset({"geom", "composite", "flexcomp"})
ENDLESS_M = 20.0
"""How large a plane is drawn that has no end."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """One shape that stands around the robot, as it is at the beginning.

    - `kind`: what it belongs to; `forbidden` and `allowed` are places of the workspace as it is drawn
    - `name`: MuJoCo's, of the shape or of its body; '' where it has none
    - `shape`: with its pose in the world's frame, the one that the description places the robot in
    """

    kind: Literal["floor", "scene", "workspace", "forbidden", "allowed"]
    name: str
    shape: Shape


def add_floor(root: Any) -> Surrounding:
    """Add a floor without end at the height 0 of the world's frame, a body of its own."""
    name, taken = FLOOR, {body.get("name") for body in root.iter("body")}
    while name in taken:
        name += "_"
    floor = Surrounding("floor", name, Shape("plane", (ENDLESS_M, ENDLESS_M), role="collision"))
    _add_shapes(root, etree.SubElement(root.find("worldbody"), "body", name=name), [floor])
    return floor


def add_workspace(
    root: Any, robot: str, shapes: Iterable[tuple[str, Shape]], hulls: Hulls
) -> list[Surrounding]:
    """Add shapes by name; their poses are in the world's frame, and planes have no end.

    Raises `PhysicsError` if one of their meshes cannot be read.
    """
    found = [
        Surrounding("workspace", name, replace(shape, role="collision", size=shape.size or _size_of(shape)))
        for name, shape in shapes
    ]
    _refuse_meshes(f"{robot}: workspace", found, hulls)
    _add_shapes(root, root.find("worldbody"), found, hulls)
    return found


def _size_of(shape: Shape) -> tuple[float, ...]:
    return (ENDLESS_M, ENDLESS_M) if shape.kind == "plane" else ()


def add_scene(root: Any, robot: str, path: Path, hulls: Hulls) -> list[Surrounding]:
    """Add what a file describes.

    Raises `PhysicsError` if it cannot be read, if there are too many shapes in it, or if it is MJCF and
    MuJoCo is not installed or cannot load it.
    """
    try:
        data = Source(path).read(SCENE_SIZE)
        if path.suffix.lower() not in DESCRIPTIONS:
            _refuse_crowds(robot, path, _shapes_in(data, path.parent, {path.resolve()}))
            return _add_mjcf(root, robot, path)
        found = [one for model in load_robots(path) for one in _standing(model)]
    except FormatError as error:
        raise PhysicsError(f"{robot}: scene {error}") from error
    _refuse_crowds(robot, path, len(found))
    _refuse_meshes(f"{robot}: scene {path}", found, hulls)
    _add_shapes(root, root.find("worldbody"), found, hulls)
    return found


def _standing(model: RobotModel) -> Iterator[Surrounding]:
    """Yield the shapes of a description's links, where these are in the posture that it begins in."""
    begin = [coordinate.initial for joint in model.joints for coordinate in joint.coordinates]
    places = model.forward_kinematics(begin)
    for link in with_touching_shapes(model).links:
        for number, shape in enumerate(link.shapes, 1):
            name = f"{SCENE}/{model.name}/{link.name}" + (f"/{number}" if number > 1 else "")
            yield Surrounding("scene", name, replace(shape, pose=places[link.name] @ shape.pose))


def _refuse_meshes(subject: str, found: Sequence[Surrounding], hulls: Hulls) -> None:
    for one in found:
        if one.shape.mesh and (reason := hulls.refusal(one.shape.mesh)):
            raise PhysicsError(f"{subject}: MuJoCo cannot read mesh '{one.shape.mesh.path.name}'; {reason}")


def _add_shapes(root: Any, body: Any, found: Sequence[Surrounding], hulls: Hulls | None = None) -> None:
    """Add shapes to a body that does not move."""
    link = Link("all", shapes=tuple(one.shape for one in found))
    part, _ = mjcf_document(RobotModel("", "", "", (), (link,), (), link.name), hulls.points if hulls else {})
    for geom, one in zip([*part.iterfind("worldbody//geom")], found, strict=True):
        geom.set("name", one.name)
        if "mesh" in geom.attrib:
            geom.set("mesh", f"{one.kind}/{geom.get('mesh')}")
        body.append(geom)
    for mesh in [*part.iter("mesh")]:
        mesh.set("name", f"{found[0].kind}/{mesh.get('name')}")
        _assets(root).append(mesh)


def _assets(root: Any) -> Any:
    found = root.find("asset")
    return etree.SubElement(root, "asset") if found is None else found


def _shapes_in(data: bytes, folder: Path, known: set[Path]) -> int:
    """Return how many shapes MJCF has, with those that it repeats and includes; MuJoCo takes long for many.

    What cannot be read counts as none, as MuJoCo knows better what is wrong with it.
    """
    xml = etree.fromstring(data, _XML) if data.strip() else None
    return 0 if xml is None else _shapes_below(xml, folder, known)


def _shapes_below(xml: Any, folder: Path, known: set[Path]) -> int:
    inside = sum(_shapes_below(child, folder, known) for child in xml.iterchildren(etree.Element))
    if xml.tag == "include":
        place = (folder / xml.get("file", "")).resolve()
        if place.is_file() and place not in known:
            known.add(place)
            inside += _shapes_in(Source(place).read(SCENE_SIZE), folder, known)
    repeats = _product(xml.get("count", "")) if xml.tag in _REPEATED else 1
    return (inside + (xml.tag in _SHAPES)) * repeats


def _product(counts: str) -> int:
    return math.prod(int(one[:9]) for one in counts.split() if one.isdecimal())


def _add_mjcf(root: Any, robot: str, path: Path) -> list[Surrounding]:
    mujoco = load_mujoco(f"{robot}: scene {path}")
    place = str(path.absolute())
    try:
        model = mujoco.MjModel.from_xml_path(place)
    except ValueError as error:
        reason, hint = " ".join(str(error).split()), "correct the file"
        raise PhysicsError(f"{robot}: scene {path}: MuJoCo cannot load it; {reason}; {hint}") from error
    _refuse_crowds(robot, path, model.ngeom)
    etree.SubElement(_assets(root), "model", name=SCENE, file=place)
    etree.SubElement(root.find("worldbody"), "attach", model=SCENE, prefix=f"{SCENE}/")
    return list(_loaded(mujoco, model, path.absolute().parent))


def _refuse_crowds(robot: str, path: Path, count: int) -> None:
    if count > MOST_SHAPES:
        reason, hint = f"a scene has at most {MOST_SHAPES}", "leave out what the robot does not reach"
        raise PhysicsError(f"{robot}: scene {path}: it has {count} shapes; {reason}; {hint}")


def _loaded(mujoco: Any, model: Any, folder: Path) -> Iterator[Surrounding]:
    """Yield the shapes of a scene that touch and that somebody can draw: no fields of heights."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for number in range(model.ngeom):
        geom = model.geom(number)
        if not (model.geom_contype[number] or model.geom_conaffinity[number]):
            continue
        pose = _pose(data.geom_xpos[number], data.geom_xmat[number])
        kind = mujoco.mjtGeom(model.geom_type[number])
        shape = _mesh(mujoco, model, number, pose, folder) if kind == mujoco.mjtGeom.mjGEOM_MESH else None
        if simple := _SIMPLE.get(kind.name):
            shape = replace(simple(*model.geom_size[number].tolist()), pose=pose, role="collision")
        if shape is not None:
            r, g, b, a = model.geom_rgba[number].tolist()
            name = geom.name or model.body(geom.bodyid[0]).name
            yield Surrounding("scene", f"{SCENE}/{name}", replace(shape, colour=(r, g, b, a)))


def _mesh(mujoco: Any, model: Any, number: int, pose: Floats, folder: Path) -> Shape | None:
    """Return a mesh by its file, which MuJoCo has moved so that its axes are those of its inertia."""
    mesh = int(model.geom_dataid[number])
    start = int(model.mesh_pathadr[mesh])
    if start < 0:
        return None
    path = folder / model.paths[start : model.paths.index(b"\0", start)].decode()
    if path.suffix.lower() not in {".stl", ".obj"}:
        return None
    turn = np.empty(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[mesh])
    origin = pose @ np.linalg.inv(_pose(model.mesh_pos[mesh], turn))
    file = Mesh(path, "stl" if path.suffix.lower() == ".stl" else "obj")
    x, y, z = model.mesh_scale[mesh].tolist()
    return Shape("mesh", pose=origin, mesh=file, scale=(x, y, z), role="collision")


def _pose(position: Floats, rotation: Floats) -> Floats:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.reshape(3, 3), position
    return pose


_SIMPLE: dict[str, Callable[..., Shape]] = {
    "mjGEOM_PLANE": lambda x, y, _: Shape("plane", (2 * x or ENDLESS_M, 2 * y or ENDLESS_M)),
    "mjGEOM_SPHERE": lambda r, *_: Shape("sphere", (r,)),
    "mjGEOM_CAPSULE": lambda r, half, _: Shape("capsule", (r, 2 * half)),
    "mjGEOM_CYLINDER": lambda r, half, _: Shape("cylinder", (r, 2 * half)),
    "mjGEOM_ELLIPSOID": lambda *radii: ellipsoid(radii),
    "mjGEOM_BOX": lambda *halves: Shape("box", tuple(2 * half for half in halves)),
}
