"""The corners of meshes, held to what trimesh writes, and to what COLLADA's transforms mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import trimesh

from motiond.formats import BadText, Mesh
from motiond.formats.io.mesh_corners import is_text_stl, mesh_points

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats.arrays import Floats
    from motiond.formats.model.shapes import MeshFormat

TURN = trimesh.transformations.rotation_matrix(0.7, [1, 2, 3], [0.1, 0.2, 0.3])


def points_of(path: Path, format_: MeshFormat) -> Floats:
    return np.unique(np.round(mesh_points(Mesh(path, format_)), 6), axis=0)


def body() -> trimesh.Trimesh:
    return trimesh.creation.cone(radius=0.2, height=0.5, sections=7)


def corners(mesh: trimesh.Trimesh, pose: Floats) -> Floats:
    moved: Floats = mesh.vertices @ pose[:3, :3].T + pose[:3, 3]
    return np.unique(np.round(moved, 6), axis=0)


def assert_same(found: Floats, expected: Floats) -> None:
    assert found.shape == expected.shape
    for point in found:
        assert np.abs(expected - point).max(axis=1).min() < 2e-6


@pytest.mark.parametrize("format_", ["glb", "gltf"])
def test_gltf_has_its_points_where_its_nodes_put_them(tmp_path: Path, format_: MeshFormat) -> None:
    scene = trimesh.Scene()
    scene.add_geometry(body(), transform=TURN)
    path = tmp_path / f"cone.{format_}"
    if format_ == "glb":
        path.write_bytes(scene.export(file_type="glb"))
    else:
        files = scene.export(file_type="gltf", embed_buffers=True)
        path.write_bytes(files["model.gltf"])
    assert_same(points_of(path, format_), corners(body(), TURN))


def test_gltf_turns_by_quaternions_and_scales_along_axes(tmp_path: Path) -> None:
    path = tmp_path / "cone.glb"
    path.write_bytes(trimesh.Scene(body()).export(file_type="glb"))
    data = path.read_bytes()
    length = int.from_bytes(data[12:16], "little")
    file: dict[str, Any] = json.loads(data[20 : 20 + length])
    quaternion = trimesh.transformations.quaternion_from_matrix(TURN)
    for node in file["nodes"]:
        node.pop("matrix", None)
        if "mesh" in node:
            node |= {
                "rotation": np.roll(quaternion, -1).tolist(),
                "scale": [1, 2, 3],
                "translation": [4, 5, 6],
            }
    text = json.dumps(file).encode()
    path.write_bytes(data[:12] + len(text).to_bytes(4, "little") + data[16:20] + text + data[20 + length :])
    pose = TURN @ np.diag([1.0, 2.0, 3.0, 1.0])
    pose[:3, 3] = 4, 5, 6
    assert_same(points_of(path, "glb"), corners(body(), pose))


COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="15">0 0 0  1 0 0  0 2 0  0 0 3  9 9 9</float_array></source>
    <source id="n"><float_array id="b" count="3">0 0 1</float_array></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="2">
      <input semantic="NORMAL" source="#n" offset="0"/><input semantic="VERTEX" source="#v" offset="1"/>
      <p>0 0 0 1 0 2 0 0 0 1 0 3</p>
    </triangles>
  </mesh></geometry></library_geometries>
  <library_nodes><node id="part">
    <translate>10 0 0</translate><instance_geometry url="#g"/>
  </node></library_nodes>
  <library_visual_scenes><visual_scene id="s"><node>
    <matrix>1 0 0 100 0 1 0 0 0 0 1 0 0 0 0 1</matrix>
    <node><rotate>0 0 1 90</rotate><scale>1 1 2</scale><instance_node url="#part"/></node>
  </node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def test_collada_has_its_points_in_m_where_its_nodes_put_them(tmp_path: Path) -> None:
    path = tmp_path / "arm.dae"
    path.write_text(COLLADA)
    # From the geometry out: moved by 10 along x, scaled, turned by a right angle, moved by 100, of 1 cm each.
    expected = [[1, 0.1, 0], [1, 0.11, 0], [0.98, 0.1, 0], [1, 0.1, 0.06]]
    assert_same(points_of(path, "dae"), np.unique(expected, axis=0))


def test_stl_in_text_is_known_and_read(tmp_path: Path) -> None:
    text, binary = tmp_path / "text.stl", tmp_path / "binary.stl"
    text.write_text(trimesh.exchange.stl.export_stl_ascii(body()))
    binary.write_bytes(trimesh.exchange.stl.export_stl(body()))
    assert is_text_stl(Mesh(text, "stl"))
    assert not is_text_stl(Mesh(binary, "stl"))
    assert_same(points_of(text, "stl"), corners(body(), np.eye(4)))


LOOP = COLLADA.replace('<instance_geometry url="#g"/>', '<instance_node url="#part"/>')
NO_TRIANGLES = "it holds no triangles, or some that are nowhere"
DAMAGED = "its file is damaged or is not what its suffix says"
BAD: dict[str, tuple[MeshFormat, bytes, str]] = {
    "a loop of nodes": ("dae", LOOP.encode(), DAMAGED),
    "an unknown geometry": ("dae", COLLADA.replace('url="#g"', 'url="#h"').encode(), DAMAGED),
    "a corner that is not there": ("dae", COLLADA.replace("1 0 3</p>", "1 0 30</p>").encode(), DAMAGED),
    "a huge corner": ("dae", COLLADA.replace("1 0 3</p>", f"1 0 {10**30}</p>").encode(), DAMAGED),
    "no number": ("dae", COLLADA.replace("0 2 0", "0 two 0", 1).encode(), DAMAGED),
    "nowhere": ("dae", COLLADA.replace("0 2 0", "0 nan 0", 1).encode(), NO_TRIANGLES),
    "nothing shown": ("dae", COLLADA.replace('<instance_geometry url="#g"/>', "").encode(), NO_TRIANGLES),
    "no XML": ("dae", b"arm", DAMAGED),
    "no JSON": ("gltf", b"{", DAMAGED),
    "deep JSON": ("gltf", b"[" * 100_000, DAMAGED),
    "no nodes": ("gltf", b'{"buffers": [], "nodes": []}', NO_TRIANGLES),
    "a loop of glTF's nodes": ("gltf", b'{"buffers": [], "nodes": [{"children": [0]}]}', DAMAGED),
    "a short file": ("glb", b"glTF", DAMAGED),
    "no vertex": ("stl", b"solid arm endsolid", NO_TRIANGLES),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_mesh_is_refused(tmp_path: Path, name: str) -> None:
    format_, data, reason = BAD[name]
    path = tmp_path / f"arm.{format_}"
    path.write_bytes(data)
    with pytest.raises(BadText) as caught:
        mesh_points(Mesh(path, format_))
    assert str(caught.value) == f"mesh 'arm.{format_}'; {reason}; export it again"


def test_compressed_positions_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "arm.glb"
    path.write_bytes(
        trimesh.Scene(body())
        .export(file_type="glb")
        .replace(b'"componentType":5126', b'"componentType":5123')
    )
    with pytest.raises(BadText, match="compressed"):
        mesh_points(Mesh(path, "glb"))
