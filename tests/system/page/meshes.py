"""Meshes of a cube in every format that the page draws, some that it cannot, and robots of them."""

from __future__ import annotations

import base64
import json
import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

SIZE = (0.3, 0.2, 0.1)
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype="<f4") / 2
CORNERS *= np.array(SIZE, dtype="<f4")
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([(a, b, c) for a, *rest in SIDES for b, c in pairwise(rest)], dtype="<u2")
"""A block, of another length along each axis, so that it is seen when it is turned."""
WHITE_PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAAAAABX3VL4AAAADklEQVR4nGP4/5/h/38AC/oD/eAlihAAAAAASUVORK5CYII="
)
"""A picture of 2 by 2 pixels."""

LAMP = (
    '<library_lights><light id="lamp"><technique_common><point><color>9 9 9</color></point>'
    "</technique_common></light></library_lights>"
)
EYE = (
    '<library_cameras><camera id="eye"><optics><technique_common><perspective><yfov>40</yfov><znear>1</znear>'
    "<zfar>9</zfar></perspective></technique_common></optics></camera></library_cameras>"
)


def stl() -> bytes:
    facets = "".join(
        "facet normal 0 0 0\nouter loop\n"
        + "".join(f"vertex {x} {y} {z}\n" for x, y, z in CORNERS[list(corners)].tolist())
        + "endloop\nendfacet\n"
        for corners in TRIANGLES
    )
    return f"solid cube\n{facets}endsolid cube\n".encode()


def obj() -> bytes:
    vertices = [f"v {x} {y} {z}" for x, y, z in CORNERS.tolist()]
    faces = [f"f {a} {b} {c}" for a, b, c in (TRIANGLES + 1).tolist()]
    return "\n".join([*vertices, *faces, ""]).encode()


def dae(
    up: str = "Z_UP", unit_m: float = 1.0, colour: str = "0.8 0.1 0.1 1", *, with_lamp: bool = False
) -> bytes:
    """Return the block in a unit of its own, of one colour.

    A lamp that carries it, a camera, and 0 for opaque are as some programs export them.
    """
    clear = "<transparency><float>0</float></transparency>" if with_lamp else ""
    lamp = '<instance_light url="#lamp"/>' if with_lamp else ""
    eye = '<node><instance_camera url="#eye"/></node>' if with_lamp else ""
    besides = f"{LAMP}{EYE}" if with_lamp else ""
    numbers = " ".join(map(str, (CORNERS / unit_m).ravel().tolist()))
    corners = " ".join(map(str, TRIANGLES.ravel().tolist()))
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="{unit_m}"/><up_axis>{up}</up_axis></asset>
<library_effects><effect id="lit"><profile_COMMON><technique sid="common"><lambert><diffuse>
<color>{colour}</color></diffuse>{clear}</lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="paint" name="paint"><instance_effect url="#lit"/></material>
</library_materials>{besides}
<library_geometries><geometry id="cube"><mesh>
<source id="at"><float_array id="numbers" count="24">{numbers}</float_array><technique_common>
<accessor source="#numbers" count="8" stride="3"><param name="X" type="float"/><param name="Y" type="float"/>
<param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="corners"><input semantic="POSITION" source="#at"/></vertices>
<triangles count="12" material="skin"><input semantic="VERTEX" source="#corners" offset="0"/>
<p>{corners}</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene">{eye}<node>{lamp}<node><instance_geometry url="#cube">
<bind_material><technique_common><instance_material symbol="skin" target="#paint"/>
</technique_common></bind_material>
</instance_geometry></node></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#scene"/></scene></COLLADA>""".encode()


def gltf(*, is_binary: bool) -> bytes:
    """Return the cube with a picture on it, whose numbers and picture are in the file."""
    parts = [CORNERS.tobytes(), TRIANGLES.tobytes(), np.zeros((8, 2), "<f4").tobytes(), WHITE_PNG]
    parts = [part + bytes(-len(part) % 4) for part in parts]
    data = b"".join(parts)
    begins = np.cumsum([0, *map(len, parts)]).tolist()
    buffer: dict[str, Any] = {"byteLength": len(data)}
    if not is_binary:
        buffer |= {"uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}
    low, high = CORNERS.min(axis=0).tolist(), CORNERS.max(axis=0).tolist()
    primitive = {"attributes": {"POSITION": 0, "TEXCOORD_0": 2}, "indices": 1, "material": 0}
    scene = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}],
        "images": [{"bufferView": 3, "mimeType": "image/png"}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3", "min": low, "max": high},
            {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"},
            {"bufferView": 2, "componentType": 5126, "count": 8, "type": "VEC2"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": begin, "byteLength": len(part)}
            for begin, part in zip(begins, parts, strict=False)
        ],
        "buffers": [buffer],
    }  # fmt: skip
    text = json.dumps(scene).encode()
    if not is_binary:
        return text
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def all_formats() -> dict[str, bytes]:
    """Return the cube by files of each format that is drawn."""
    return {
        "cube.stl": stl(),
        "cube.obj": obj(),
        "cube.dae": dae(),
        "y_up.dae": dae("Y_UP", 0.001, "0.1 0.8 0.1 1", with_lamp=True),
        "cube.glb": gltf(is_binary=True),
        "cube.gltf": gltf(is_binary=False),
    }


ELSEWHERE = b'{"asset": {"version": "2.0"}, "buffers": [{"uri": "cube.bin"}]}'
"""A file whose numbers are in another one; a description with it is not even served."""


def broken() -> dict[str, bytes]:
    """Return files of which the first and the last alone can be drawn."""
    return {"fine.stl": stl(), "empty.glb": b"", "half.glb": b"solid", "late.gltf": gltf(is_binary=False)}


def describe(description: Path, files: Mapping[str, bytes], places: NDArray[np.float64]) -> None:
    """Write the description of a robot with a mesh at each place, and its files."""
    visuals = []
    for (name, content), (x, y, z) in zip(files.items(), places.tolist(), strict=True):
        description.with_name(name).write_bytes(content)
        mesh = f"<mesh><uri>{name}</uri></mesh>"
        pose = f"<pose>{x} {y} {z} 0 0 0</pose>"
        visuals.append(f'<visual name="{name}">{pose}<geometry>{mesh}</geometry></visual>')
    description.write_text(
        '<sdf version="1.10"><model name="stand"><link name="base"/>'
        f'<link name="rack">{"".join(visuals)}</link><joint name="turn" type="revolute"><parent>base</parent>'
        "<child>rack</child><axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper>"
        "<velocity>1</velocity></limit></axis></joint></model></sdf>"
    )
