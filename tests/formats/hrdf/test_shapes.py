"""Meshes of rigid bodies in HRDF files, and which of them are not shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.formats import Mesh, RobotModel, hrdf
from motiond.formats.io.source import Source

if TYPE_CHECKING:
    from pathlib import Path


def load(inside: str, path: Path) -> RobotModel:
    text = f'<robot version="1.6.0">\n{inside}</robot>'
    return hrdf.load(text.encode(), Source(path, (path.parent,)))[0]


def test_a_mesh_is_placed_in_its_rigid_body(tmp_path: Path) -> None:
    (tmp_path / "hull.stl").touch()
    model = load(
        '<rigid-body mass="1" mesh_path="hull.stl" mesh_rot="Rz(pi/2)" mesh_trans="0.1 0.2 0.3"/>',
        tmp_path / "arm.hrdf",
    )
    (shape,) = model.links[0].shapes
    assert (shape.kind, shape.role, shape.size, shape.scale) == ("mesh", "visual", (), (1, 1, 1))
    assert shape.mesh == Mesh(tmp_path / "hull.stl", "stl", (tmp_path,))
    assert shape.pose.round(9).tolist() == [[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]
    assert model.warnings == ()
    assert not model.describes_looks


def test_a_mesh_of_an_included_file_lies_beside_that_file(tmp_path: Path) -> None:
    (tmp_path / "leg").mkdir()
    (tmp_path / "leg" / "shin.glb").touch()
    (tmp_path / "leg" / "leg.hrdf").write_text(
        '<robot version="1.6.0"><rigid-body mass="1" mesh_path="./shin.glb"/></robot>'
    )
    (shape,) = load('<include path="leg/leg.hrdf"/>', tmp_path / "arm.hrdf").links[0].shapes
    assert shape.mesh == Mesh(tmp_path / "leg" / "shin.glb", "glb", (tmp_path,))


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("hull.stl", "there is no file {folder}/hull.stl; check the path"),
        ("hull.fbx", "STL, OBJ, glTF, GLB and COLLADA (.dae) are; convert it"),
        ("../hull.stl", "it lies outside of {folder}; move it there"),
        ("link.stl", "it lies outside of {folder}; move it there"),
        ("https://example.com/hull.stl", "nothing is fetched from the network; save it in a file"),
    ],
)
def test_a_mesh_that_cannot_be_shown_warns_and_the_robot_is_read(
    tmp_path: Path, path: str, reason: str
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "hull.stl").touch()
    (folder / "link.stl").symlink_to(tmp_path / "hull.stl")
    model = load(f'<rigid-body mass="1" mesh_path="{path}"/>', folder / "arm.hrdf")
    assert model.links[0].shapes == ()
    assert model.warnings == (
        f"{folder}/arm.hrdf:2: mesh '{path}' is not shown; {reason.format(folder=folder)}",
    )
