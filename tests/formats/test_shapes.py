"""What links look like, in every format: bodies, meshes, colours, and what is left out with a warning."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiond.formats import FormatError, Mesh, RobotModel, Source
from tests.tables import table

# A file whose link has what is given, on line 2.
FILES = {
    "sdf": '<sdf version="1.9"><model name="m"><link name="l">\n{}\n</link></model></sdf>',
    "skel": '<skel><world><skeleton name="s"><body name="b">\n{}\n</body></skeleton></world></skel>',
    "hrdf": '<robot version="1.6.0">\n{}</robot>',
}
SHAPES = {
    "sdf": "<visual name='v'>{1}<geometry>{0}</geometry></visual>",
    "skel": "<visualization_shape>{1}<geometry>{0}</geometry></visualization_shape>",
    "hrdf": '<rigid-body mass="1" mesh_path="{0}"{1}/>',
}


def load(name: str, inside: str, folder: Path = Path(), within: tuple[Path, ...] = ()) -> RobotModel:
    module: Any = import_module(f"motiond.formats.{name}")
    text = FILES[name].format(inside)
    (model,) = module.load(text.encode(), Source(folder / f"arm.{name}", within))
    assert isinstance(model, RobotModel)
    return model


def shape(name: str, geometry: str, more: str = "") -> str:
    return SHAPES[name].format(geometry, more)


@table("name, geometry, kind, size, scale")
def test_a_body_has_its_size_or_the_default_of_the_format(
    name: str, geometry: str, kind: str, size: tuple[float, ...], scale: tuple[float, ...]
) -> None:
    model = load(name, shape(name, geometry))
    (found,) = model.links[0].shapes
    assert (found.kind, found.size, found.scale) == (kind, size, scale)
    assert (found.role, found.colour, found.pose.tolist()) == ("visual", None, np.eye(4).tolist())
    assert model.warnings == ()


@table("name, material, colour")
def test_a_colour_is_that_in_the_light(name: str, material: str, colour: tuple[float, ...] | None) -> None:
    assert load(name, shape(name, "<box/>", material)).links[0].shapes[0].colour == colour


@table("name, plane, normal")
def test_a_plane_is_turned_to_its_normal_and_lies_where_it_says(
    name: str, plane: str, normal: list[float]
) -> None:
    (found,) = load(name, shape(name, plane)).links[0].shapes
    np.testing.assert_allclose([*found.pose[:3, 2], found.pose[1, 3]], normal)
    np.testing.assert_allclose(found.pose[:3, :3] @ found.pose[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(found.pose) == pytest.approx(1)


def test_visuals_and_collisions_are_kept_apart_in_document_order() -> None:
    collision = shape("sdf", "<sphere/>").replace("visual", "collision")
    empty = shape("sdf", "<empty/>").replace("'v'", "'w'")
    shapes = load("sdf", collision + shape("sdf", "<box/>") + empty).links[0].shapes
    assert [(one.kind, one.role) for one in shapes] == [("box", "visual"), ("sphere", "collision")]


def test_a_shape_of_skel_has_its_place_and_its_role() -> None:
    place = "<transformation>1 2 3 0 0 1.5707963267948966</transformation>"
    collision = shape("skel", "<cylinder/>").replace("visualization_shape", "collision_shape")
    shapes = load("skel", shape("skel", "<box/>", place) + collision).links[0].shapes
    assert [one.role for one in shapes] == ["visual", "collision"]
    np.testing.assert_allclose(shapes[0].pose[:3], [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]], atol=1e-12)


def test_a_pose_is_in_the_link_unless_it_names_a_frame() -> None:
    inside = """<pose>1 0 0 0 0 0</pose>
          <visual name="v"><pose>0 0 0.5 0 0 0</pose><geometry><box/></geometry></visual>
          <visual name="w"><pose relative_to="b">0 0 0.5 0 0 0</pose><geometry><box/></geometry></visual>
          <visual name="x"><pose relative_to="c"/><geometry><box/></geometry></visual>
        </link>
        <link name="b"><pose degrees="true">0 2 0 90 0 0</pose>"""
    model = load("sdf", inside)
    first, second = model.links[0].shapes
    np.testing.assert_allclose(first.pose[:3, 3], [0, 0, 0.5])
    # b is at -1 2 0 in the link, its z is -y.
    np.testing.assert_allclose(second.pose[:3, 3], [-1, 1.5, 0], atol=1e-12)
    (warning,) = model.warnings
    assert warning == (
        "arm.sdf:5: the <pose> of visual 'x' is relative_to 'c'; there is no such frame in model 'm', "
        "so that it is left out; name a frame, or remove 'relative_to'"
    )


def test_shapes_of_a_merged_model_stay_where_they_were(tmp_path: Path) -> None:
    (tmp_path / "tool.sdf").write_text(
        '<sdf version="1.9"><model name="tool"><link name="t"><pose>0 0 1 0 0 0</pose><visual name="v">'
        '<pose relative_to="__model__">0 0 1.25 0 0 0</pose><geometry><box/></geometry></visual></link>'
        "</model></sdf>"
    )
    include = (
        '</link><include merge="true"><uri>tool.sdf</uri><pose>5 0 0 0 0 0</pose></include><link name="k">'
    )
    (found,) = load("sdf", include, tmp_path).links[1].shapes
    np.testing.assert_allclose(found.pose[:3, 3], [0, 0, 0.25], atol=1e-12)


@table("uri, format_")
def test_a_mesh_is_found_as_an_included_model_is(tmp_path: Path, uri: str, format_: str) -> None:
    file = tmp_path / "lamp" / "meshes" / uri.rpartition("/")[2]
    file.parent.mkdir(parents=True)
    file.touch()
    mesh = shape("sdf", f"<mesh><uri>{uri}</uri><scale>0.001 0.001 0.002</scale></mesh>")
    model = load("sdf", mesh, tmp_path / "lamp", (tmp_path,))
    (found,) = model.links[0].shapes
    assert model.warnings == ()
    assert (found.kind, found.scale, found.size) == ("mesh", (0.001, 0.001, 0.002), ())
    assert found.mesh is not None
    assert (found.mesh.path.resolve(), found.mesh.format, found.mesh.within) == (file, format_, (tmp_path,))


def test_a_mesh_is_found_along_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "arm.stl").touch()
    monkeypatch.setenv("SDF_PATH", str(tmp_path / "shared"))
    mesh = shape("sdf", "<mesh><uri>model://arm.stl</uri></mesh>")
    (found,) = load("sdf", mesh, tmp_path / "a").links[0].shapes
    assert found.mesh == Mesh(tmp_path / "shared" / "arm.stl", "stl")


def test_a_mesh_of_skel_lies_beside_the_file_and_adds_no_inertia(tmp_path: Path) -> None:
    (tmp_path / "arm.obj").touch()
    mesh = "<mesh><file_name>arm.obj</file_name><scale>0.01 0.01 0.02</scale></mesh>"
    model = load("skel", "<inertia><mass>2</mass></inertia>" + shape("skel", mesh), tmp_path, (tmp_path,))
    (found,) = model.links[0].shapes
    assert (found.kind, found.scale) == ("mesh", (0.01, 0.01, 0.02))
    assert found.mesh == Mesh(tmp_path / "arm.obj", "obj", (tmp_path,))
    assert model.links[0].inertia.tolist() == np.eye(3).tolist()
    reason = "its volume is not computed; write <moment_of_inertia>"
    assert model.warnings == (f"{tmp_path}/arm.skel:2: <mesh> adds no inertia; {reason}",)


def test_a_mesh_of_hrdf_is_placed_in_its_rigid_body_and_lies_beside_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "leg").mkdir()
    (tmp_path / "leg" / "hull.stl").touch()
    body = shape("hrdf", "./hull.stl", ' mesh_rot="Rz(pi/2)" mesh_trans="0.1 0.2 0.3"')
    (tmp_path / "leg" / "leg.hrdf").write_text(FILES["hrdf"].format(body))
    model = load("hrdf", '<include path="leg/leg.hrdf"/>', tmp_path, (tmp_path,))
    (found,) = model.links[0].shapes
    assert (found.kind, found.role, found.size, found.scale) == ("mesh", "visual", (), (1, 1, 1))
    assert found.mesh == Mesh(tmp_path / "leg" / "hull.stl", "stl", (tmp_path,))
    assert found.pose.round(9).tolist() == [[0, -1, 0, 0.1], [1, 0, 0, 0.2], [0, 0, 1, 0.3], [0, 0, 0, 1]]
    assert model.warnings == ()
    assert not model.describes_looks


@table("name, inside, warning")
def test_a_mesh_that_cannot_be_shown_warns_and_the_robot_is_read(
    tmp_path: Path, name: str, inside: str, warning: str
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "hull.stl").touch()
    (folder / "scan.ply").touch()
    (folder / "link.stl").symlink_to(tmp_path / "hull.stl")
    model = load(name, shape(name, inside), folder, (folder,))
    assert model.links[0].shapes == ()
    assert model.warnings == (f"{folder}/arm.{name}:2: {warning.format(folder=folder)}",)


@table("name, geometry, warning")
def test_a_shape_that_nobody_can_draw_is_left_out_with_a_warning(
    name: str, geometry: str, warning: str
) -> None:
    model = load(name, shape(name, geometry))
    assert model.links[0].shapes == ()
    assert model.warnings == (f"arm.{name}:2: {warning}",)


@table("name, geometry, more, problem")
def test_what_is_no_number_is_refused(name: str, geometry: str, more: str, problem: str) -> None:
    with pytest.raises(FormatError) as refused:
        load(name, shape(name, geometry, more))
    assert str(refused.value) == f"arm.{name}:2: {problem}"


@table("text, problem")
def test_a_colour_of_skel_that_is_none_is_left_out_with_a_warning(text: str, problem: str) -> None:
    model = load("skel", shape("skel", "<box/>", f"<color>{text}</color>"))
    assert [found.colour for found in model.links[0].shapes] == [None]
    assert model.warnings == (f"arm.skel:2: <color> {problem}; it is left out",)
