"""The corners of triangles in files of meshes, for whoever wants a mesh's convex hull.

COLLADA is taken as Gazebo and RViz take it: with its unit, and whatever it calls up.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadText, Problems
from .mesh_file import STL_HEAD_BYTES, STL_TRIANGLE_BYTES, open_mesh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..arrays import AnyArray, Floats
    from ..model.shapes import Mesh
    from .xml.tree import Xml

MOST_POINTS = 5_000_000
MOST_NODES = 10_000
"""Of a scene, each counted as often as it is shown."""
_VERTEX = re.compile(rb"\bvertex\s+(\S+)\s+(\S+)\s+(\S+)")
_PRIMITIVES = ("triangles", "trifans", "tristrips", "polylist", "polygons")
_GLB_HEAD_BYTES, _GLB_CHUNK_BYTES = 12, 8


def mesh_points(mesh: Mesh) -> Floats:
    """Return the corners of a mesh's triangles, shape (n, 3), in m, along its axes; some come twice.

    `mesh`: COLLADA, glTF, GLB or STL in text. Raises `BadText` if it cannot be read.
    """
    with open_mesh(mesh) as file:
        data = file.read()
    name = f"mesh '{mesh.path.name}'"
    try:
        points = _READERS[mesh.format](data)
    except _DAMAGED as error:
        if isinstance(error, BadText):
            raise
        raise BadText(
            name, "its file is damaged or is not what its suffix says", "export it again"
        ) from error
    if not len(points) or not np.isfinite(points).all():
        raise BadText(name, "it holds no triangles, or some that are nowhere", "export it again")
    return points


_DAMAGED = (
    *(AttributeError, IndexError, KeyError, OverflowError, RecursionError, TypeError, ValueError),
    struct.error,
)


def is_text_stl(mesh: Mesh) -> bool:
    """Whether an STL file is shorter than a binary one with its number of triangles."""
    with open_mesh(mesh) as file:
        head = file.read(STL_HEAD_BYTES)
        size = file.seek(0, 2)
    return size < STL_HEAD_BYTES + STL_TRIANGLE_BYTES * int.from_bytes(head[-4:], "little")


def _stl(data: bytes) -> Floats:
    return np.array(_VERTEX.findall(data), dtype=np.float64).reshape(-1, 3)


def _joined(parts: Iterator[Floats]) -> Floats:
    """Return all points; raises `ValueError` where a file shows one mesh so often that they are too many."""
    found, count = [], 0
    for part in parts:
        count += len(part)
        if count > MOST_POINTS:
            raise ValueError(count)
        found.append(part)
    return np.concatenate(found) if found else np.empty((0, 3))


def _moved(pose: Floats, points: Floats) -> Floats:
    moved: Floats = points @ pose[:3, :3].T + pose[:3, 3]
    return moved


# -- COLLADA -------------------------------------------------------------------------------------------------


def _collada(data: bytes) -> Floats:
    from .xml.tree import parse_xml  # noqa: PLC0415 - whoever reads no COLLADA needs no XML

    root = parse_xml(data, Problems(""), long_texts=True, free_prefixes=True)
    unit = root.find("asset/unit")
    scale = float(unit.get("meter", "1")) if unit is not None else 1.0
    by_id = {
        element.get("id"): element for element in root.iter("geometry", "node", "source", "visual_scene")
    }
    meshes: dict[str, Floats] = {}

    def shown(target: str) -> Floats:
        if target not in meshes:
            meshes[target] = _joined(_corners(by_id[target], by_id))
        return meshes[target]

    return scale * _joined(_instances(root, by_id, shown))


def _instances(root: Xml, by_id: dict[Any, Xml], shown: Callable[[str], Floats]) -> Iterator[Floats]:
    """Yield the points of each mesh that the scene shows, where it shows them."""
    scene = root.find("scene/instance_visual_scene")
    chosen = by_id[_target(scene)] if scene is not None else root.find("library_visual_scenes/visual_scene")
    waiting = [(node, np.eye(4)) for node in chosen.iterfind("node")] if chosen is not None else []
    for _ in range(MOST_NODES):
        if not waiting:
            return
        node, pose = waiting.pop()
        for step in node:
            if step.tag in _STEPS:
                pose = pose @ _STEPS[step.tag](np.array((step.text or "").split(), dtype=np.float64))
        for part in node:
            if part.tag == "node":
                waiting.append((part, pose))
            elif part.tag == "instance_node":
                waiting.append((by_id[_target(part)], pose))
            elif part.tag == "instance_geometry":
                yield _moved(pose, shown(_target(part)))
    raise ValueError(MOST_NODES)


def _target(element: Xml) -> str:
    return element.get("url", "").removeprefix("#")


def _corners(geometry: Xml, by_id: dict[Any, Xml]) -> Iterator[Floats]:
    """Yield the corners of each group of polygons of a mesh."""
    places = {
        vertices.get("id"): source.get("source", "").removeprefix("#")
        for vertices in geometry.iterfind("mesh/vertices")
        for source in vertices.iterfind("input")
        if source.get("semantic") == "POSITION"
    }
    for kind in _PRIMITIVES:
        for group in geometry.iterfind(f"mesh/{kind}"):
            inputs = {one.get("semantic"): one for one in group.iterfind("input")}
            stride = 1 + max(int(one.get("offset", "0")) for one in group.iterfind("input"))
            vertex = inputs["VERTEX"]
            source = by_id[places[vertex.get("source", "").removeprefix("#")]]
            points = np.array(source.findtext("float_array", "").split(), dtype=np.float64)
            points = points[: len(points) // 3 * 3].reshape(-1, 3)
            for numbers in (*group.iterfind("p"), *group.iterfind("ph/p")):
                corners = np.array((numbers.text or "").split(), dtype=np.intp)
                yield points[np.unique(corners[int(vertex.get("offset", "0")) :: stride])]


def _matrix(values: Floats) -> Floats:
    return values.reshape(4, 4)


def _translate(values: Floats) -> Floats:
    pose = np.eye(4)
    pose[:3, 3] = values
    return pose


def _scale(values: Floats) -> Floats:
    return np.diag([*values, 1.0])


def _rotate(values: Floats) -> Floats:
    """Return a turn about an axis by an angle in degrees, by Rodrigues' formula."""
    pose, angle = np.eye(4), np.radians(values[3])
    x, y, z = values[:3] / (np.linalg.norm(values[:3]) or 1.0)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    pose[:3, :3] += np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return pose


_STEPS: dict[Any, Callable[[Floats], Floats]] = {
    "matrix": _matrix,
    "translate": _translate,
    "scale": _scale,
    "rotate": _rotate,
}

# -- glTF ----------------------------------------------------------------------------------------------------


def _glb(data: bytes) -> Floats:
    length = struct.unpack_from("<I", data, _GLB_HEAD_BYTES)[0]
    begin = _GLB_HEAD_BYTES + _GLB_CHUNK_BYTES
    return _of_scene(json.loads(data[begin : begin + length]), data[begin + length + _GLB_CHUNK_BYTES :])


def _gltf(data: bytes) -> Floats:
    return _of_scene(json.loads(data), b"")


def _of_scene(file: dict[str, Any], binary: bytes) -> Floats:
    """Return the points of the meshes in a glTF's scene."""
    buffers = [_buffer(one, binary) for one in file["buffers"]]
    scenes = file.get("scenes")
    roots = scenes[file.get("scene", 0)].get("nodes", []) if scenes else range(len(file["nodes"]))

    def parts() -> Iterator[Floats]:
        waiting = [(root, np.eye(4)) for root in roots]
        for _ in range(MOST_NODES):
            if not waiting:
                return
            number, pose = waiting.pop()
            node = file["nodes"][number]
            pose = pose @ _placed(node)
            waiting += [(child, pose) for child in node.get("children", [])]
            if "mesh" in node:
                for primitive in file["meshes"][node["mesh"]]["primitives"]:
                    accessor = file["accessors"][primitive["attributes"]["POSITION"]]
                    yield _moved(pose, _accessed(accessor, file["bufferViews"], buffers))
        raise ValueError(MOST_NODES)

    return _joined(parts())


def _buffer(buffer: dict[str, Any], binary: bytes) -> bytes:
    uri = buffer.get("uri")
    return base64.b64decode(uri.partition(",")[2]) if uri else binary


def _placed(node: dict[str, Any]) -> Floats:
    if "matrix" in node:
        return np.array(node["matrix"], dtype=np.float64).reshape(4, 4).T
    x, y, z, w = node.get("rotation", (0.0, 0.0, 0.0, 1.0))
    turn = np.eye(3) + 2 * np.array(
        [
            [-y * y - z * z, x * y - z * w, x * z + y * w],
            [x * y + z * w, -x * x - z * z, y * z - x * w],
            [x * z - y * w, y * z + x * w, -x * x - y * y],
        ]
    )
    pose = np.eye(4)
    pose[:3, :3] = turn * np.array(node.get("scale", (1.0, 1.0, 1.0)))
    pose[:3, 3] = node.get("translation", (0.0, 0.0, 0.0))
    return pose


FLOAT32 = 5126
"""The number that glTF has for it; positions have no other kind, unless they are compressed."""


def _accessed(accessor: dict[str, Any], views: list[dict[str, Any]], buffers: list[bytes]) -> Floats:
    if accessor["componentType"] != FLOAT32 or accessor["type"] != "VEC3" or "bufferView" not in accessor:
        problem = "a mesh whose positions are compressed"
        raise BadText(problem, "its points are not numbers in the file", "export it without compression")
    view = views[accessor["bufferView"]]
    begin = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    count, stride = accessor["count"], view.get("byteStride", 12)
    data = buffers[view["buffer"]]
    if begin < 0 or count < 1 or stride < 12 or begin + (count - 1) * stride + 12 > len(data):
        raise ValueError(count)
    rows: AnyArray = np.ndarray((count, 3), np.float32, data, begin, (stride, 4))
    return rows.astype(np.float64)


_READERS: dict[str, Callable[[bytes], Floats]] = {"stl": _stl, "dae": _collada, "gltf": _gltf, "glb": _glb}
