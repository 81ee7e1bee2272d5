"""What links look like in SDFormat files: bodies, meshes, colours, and what is left out with a warning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, Mesh, RobotModel, Shape, sdf
from motiond.formats.io.source import Source
from tests.tables import table


def load(inside: str, path: Path = Path("arm.sdf"), within: tuple[Path, ...] = ()) -> RobotModel:
    """Read a model whose link has what is given, on line 2."""
    text = f'<sdf version="1.9"><model name="m"><link name="l">\n{inside}\n</link></model></sdf>'
    return sdf.load(text.encode(), Source(path, within))[0]


def visual(geometry: str, more: str = "", tag: str = "visual") -> str:
    return f"<{tag} name='v'>{more}<geometry>{geometry}</geometry></{tag}>"


def the_shape(inside: str) -> Shape:
    model = load(inside)
    assert model.warnings == ()
    (shape,) = model.links[0].shapes
    return shape


@pytest.mark.parametrize(
    ("geometry", "kind", "size"),
    [
        ("<box><size>0.1 0.2 0.3</size></box>", "box", (0.1, 0.2, 0.3)),
        ("<box/>", "box", (1, 1, 1)),
        ("<sphere><radius>0.4</radius></sphere>", "sphere", (0.4,)),
        ("<sphere/>", "sphere", (1,)),
        ("<cylinder><radius>0.1</radius><length>2</length></cylinder>", "cylinder", (0.1, 2)),
        ("<cylinder/>", "cylinder", (1, 1)),
        ("<capsule><radius>0.1</radius><length>2</length></capsule>", "capsule", (0.1, 2)),
        ("<capsule/>", "capsule", (0.5, 1)),
        ("<plane><size>3 4</size></plane>", "plane", (3, 4)),
        ("<plane/>", "plane", (1, 1)),
    ],
)
def test_a_body_has_its_size_or_the_default_of_the_format(
    geometry: str, kind: str, size: tuple[float, ...]
) -> None:
    shape = the_shape(visual(geometry))
    assert (shape.kind, shape.size, shape.role, shape.colour) == (kind, size, "visual", None)
    assert shape.pose.tolist() == np.eye(4).tolist()


def test_an_ellipsoid_is_a_sphere_scaled_along_its_axes() -> None:
    shape = the_shape(visual("<ellipsoid><radii>0.1 0.4 0.2</radii></ellipsoid>"))
    assert (shape.kind, shape.size, shape.scale) == ("sphere", (0.4,), (0.25, 1, 0.5))


def test_a_plane_is_turned_to_its_normal() -> None:
    shape = the_shape(visual("<plane><normal>0 -2 0</normal><size>1 1</size></plane>"))
    np.testing.assert_allclose(shape.pose[:3, 2], [0, -1, 0])
    np.testing.assert_allclose(shape.pose[:3, :3] @ shape.pose[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(shape.pose) == pytest.approx(1)


@table("material, colour")
def test_a_colour_is_that_in_the_light(material: str, colour: tuple[float, ...] | None) -> None:
    assert the_shape(visual("<box/>", material)).colour == colour


def test_visuals_and_collisions_are_kept_apart_in_document_order() -> None:
    shapes = (
        load(
            visual("<sphere/>", tag="collision") + visual("<box/>") + visual("<empty/>").replace("'v'", "'w'")
        )
        .links[0]
        .shapes
    )
    assert [(shape.kind, shape.role) for shape in shapes] == [("box", "visual"), ("sphere", "collision")]


def test_a_pose_is_in_the_link_unless_it_names_a_frame() -> None:
    text = """<sdf version="1.9"><model name="m">
        <link name="a"><pose>1 0 0 0 0 0</pose>
          <visual name="v"><pose>0 0 0.5 0 0 0</pose><geometry><box/></geometry></visual>
          <visual name="w"><pose relative_to="b">0 0 0.5 0 0 0</pose><geometry><box/></geometry></visual>
          <visual name="x"><pose relative_to="c"/><geometry><box/></geometry></visual>
        </link>
        <link name="b"><pose degrees="true">0 2 0 90 0 0</pose></link></model></sdf>"""
    (model,) = sdf.load(text.encode(), Source(Path("arm.sdf")))
    first, second = model.links[0].shapes
    np.testing.assert_allclose(first.pose[:3, 3], [0, 0, 0.5])
    # b is at -1 2 0 in a, its z is -y.
    np.testing.assert_allclose(second.pose[:3, 3], [-1, 1.5, 0], atol=1e-12)
    assert model.warnings == (
        (
            "arm.sdf:5: the <pose> of visual 'x' is relative_to 'c'; there is no such frame in model 'm', "
            "so that it is left out; name a frame, or remove 'relative_to'"
        ),
    )


def test_shapes_of_a_merged_model_stay_where_they_were(tmp_path: Path) -> None:
    (tmp_path / "tool.sdf").write_text(
        '<sdf version="1.9"><model name="tool"><link name="t"><pose>0 0 1 0 0 0</pose><visual name="v">'
        '<pose relative_to="__model__">0 0 1.25 0 0 0</pose><geometry><box/></geometry></visual></link>'
        "</model></sdf>"
    )
    text = """<sdf version="1.9"><model name="m"><link name="l"/><include merge="true">
        <uri>tool.sdf</uri><pose>5 0 0 0 0 0</pose></include></model></sdf>"""
    (model,) = sdf.load(text.encode(), Source(tmp_path / "arm.sdf", (tmp_path,)))
    (shape,) = model.links[1].shapes
    np.testing.assert_allclose(shape.pose[:3, 3], [0, 0, 0.25], atol=1e-12)


# -- meshes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("uri", "format_"),
    [
        ("meshes/arm.stl", "stl"),
        ("meshes/arm.STL", "stl"),
        ("file://meshes/arm.obj", "obj"),
        ("model://lamp/meshes/arm.dae", "dae"),
        ("package://lamp/meshes/arm.glb", "glb"),
    ],
)
def test_a_mesh_is_found_as_an_included_model_is(tmp_path: Path, uri: str, format_: str) -> None:
    file = tmp_path / "lamp" / "meshes" / uri.rpartition("/")[2]
    file.parent.mkdir(parents=True)
    file.touch()
    mesh = f"<mesh><uri>{uri}</uri><scale>0.001 0.001 0.002</scale></mesh>"
    model = load(visual(mesh), tmp_path / "lamp" / "lamp.sdf", (tmp_path,))
    (shape,) = model.links[0].shapes
    assert model.warnings == ()
    assert (shape.kind, shape.scale, shape.size) == ("mesh", (0.001, 0.001, 0.002), ())
    assert shape.mesh is not None
    assert (shape.mesh.path.resolve(), shape.mesh.format, shape.mesh.within) == (file, format_, (tmp_path,))


def test_a_mesh_is_found_along_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "arm.stl").touch()
    monkeypatch.setenv("SDF_PATH", str(tmp_path / "shared"))
    (shape,) = (
        load(visual("<mesh><uri>model://arm.stl</uri></mesh>"), tmp_path / "a" / "l.sdf").links[0].shapes
    )
    assert shape.mesh == Mesh(tmp_path / "shared" / "arm.stl", "stl")


@table("mesh, reason")
def test_a_mesh_that_cannot_be_shown_warns_and_the_robot_is_read(
    tmp_path: Path, mesh: str, reason: str
) -> None:
    model = load(visual(f"<mesh>{mesh}</mesh>"), tmp_path / "arm.sdf", (tmp_path,))
    assert model.links[0].shapes == ()
    assert model.warnings == (f"{tmp_path}/arm.sdf:2: {reason.format(folder=tmp_path)}",)


# -- what is left out or refused ----------------------------------------------------------------------------


@table("geometry, warning")
def test_a_shape_that_nobody_can_draw_is_left_out_with_a_warning(geometry: str, warning: str) -> None:
    model = load(visual(geometry))
    assert model.links[0].shapes == ()
    assert model.warnings == (f"arm.sdf:2: {warning}",)


@table("inside, problem")
def test_what_is_no_number_is_refused(inside: str, problem: str) -> None:
    with pytest.raises(FormatError) as refused:
        load(inside)
    assert str(refused.value) == f"arm.sdf:2: {problem}"


def test_a_flood_of_shapes_ends_in_a_message() -> None:
    flood = "".join(f"<visual name='v{number}'/>" for number in range(10_000))
    with pytest.raises(FormatError) as refused:
        load(flood)
    assert str(refused.value) == (
        "arm.sdf:2: more than 10000 elements; counted with all included files; no real robot is that large"
    )
