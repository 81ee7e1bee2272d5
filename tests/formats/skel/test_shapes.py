"""What bodies look like in SKEL files: solids, planes, meshes, colours, and what warns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import FormatError, Mesh, RobotModel, skel
from motiond.formats.io.source import Source
from tests.tables import table


def load(inside: str, path: Path = Path("s.skel"), within: tuple[Path, ...] = ()) -> RobotModel:
    """Read a skeleton whose body has what is given, on line 2."""
    text = f'<skel><world><skeleton name="s"><body name="b">\n{inside}\n</body></skeleton></world></skel>'
    return skel.load(text.encode(), Source(path, within))[0]


def shape(geometry: str, more: str = "", tag: str = "visualization_shape") -> str:
    return f"<{tag}>{more}<geometry>{geometry}</geometry></{tag}>"


@pytest.mark.parametrize(
    ("geometry", "kind", "size", "scale"),
    [
        ("<box><size>0.1 0.2 0.3</size></box>", "box", (0.1, 0.2, 0.3), (1, 1, 1)),
        ("<box/>", "box", (1, 1, 1), (1, 1, 1)),
        ("<ellipsoid><size>0.2 0.8 0.4</size></ellipsoid>", "sphere", (0.4,), (0.25, 1, 0.5)),
        ("<ellipsoid/>", "sphere", (0.5,), (1, 1, 1)),
        ("<cylinder><radius>0.1</radius><height>2</height></cylinder>", "cylinder", (0.1, 2), (1, 1, 1)),
        ("<cylinder><radius>0.1</radius><length>2</length></cylinder>", "cylinder", (0.1, 2), (1, 1, 1)),
        ("<cylinder/>", "cylinder", (0.5, 1), (1, 1, 1)),
        ("<sphere><radius>0.4</radius></sphere>", "sphere", (0.4,), (1, 1, 1)),
        ("<capsule><radius>0.1</radius><height>2</height></capsule>", "capsule", (0.1, 2), (1, 1, 1)),
        ("<plane/>", "plane", (10, 10), (1, 1, 1)),
    ],
)
def test_a_body_has_its_size_or_the_default_of_the_specification(
    geometry: str, kind: str, size: tuple[float, ...], scale: tuple[float, ...]
) -> None:
    model = load(shape(geometry))
    (found,) = model.links[0].shapes
    assert (found.kind, found.size, found.scale, found.colour) == (kind, size, scale, None)
    assert model.warnings == ()


def test_a_shape_has_its_place_its_colour_and_its_role() -> None:
    place = "<transformation>1 2 3 0 0 1.5707963267948966</transformation>"
    visual, other, collision = (
        load(
            shape("<box/>", f"{place}<color>1 0.5 0</color>")
            + shape("<sphere/>", "<color>0 0 1 0.5</color>")
            + shape("<cylinder/>", tag="collision_shape")
        )
        .links[0]
        .shapes
    )
    assert (visual.colour, other.colour, collision.colour) == ((1, 0.5, 0, 1), (0, 0, 1, 0.5), None)
    assert (visual.role, collision.role) == ("visual", "collision")
    np.testing.assert_allclose(visual.pose[:3], [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]], atol=1e-12)


@pytest.mark.parametrize("place", ["<point>1 0.5 2</point>", "<offset>0.5</offset>"])
def test_a_plane_lies_where_its_point_or_its_offset_says(place: str) -> None:
    (found,) = load(shape(f"<plane><normal>0 1 0</normal>{place}</plane>")).links[0].shapes
    np.testing.assert_allclose(found.pose[:3, 2], [0, 1, 0])
    assert found.pose[1, 3] == 0.5


def test_a_mesh_lies_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "arm.obj").touch()
    inside = shape("<mesh><file_name>arm.obj</file_name><scale>0.01 0.01 0.02</scale></mesh>")
    model = load(inside, tmp_path / "s.skel", (tmp_path,))
    (found,) = model.links[0].shapes
    assert (found.kind, found.scale) == ("mesh", (0.01, 0.01, 0.02))
    assert found.mesh == Mesh(tmp_path / "arm.obj", "obj", (tmp_path,))
    assert model.warnings == ()


@table("mesh, warning")
def test_a_mesh_that_cannot_be_shown_warns_and_the_robot_is_read(
    tmp_path: Path, mesh: str, warning: str
) -> None:
    model = load(shape(f"<mesh>{mesh}</mesh>"), tmp_path / "s.skel", (tmp_path,))
    assert model.links[0].shapes == ()
    assert model.warnings == (f"{tmp_path}/s.skel:2: {warning.format(folder=tmp_path)}",)


@table("inside, warning")
def test_a_shape_that_nobody_can_draw_is_left_out_with_a_warning(inside: str, warning: str) -> None:
    model = load(inside)
    assert model.links[0].shapes == ()
    assert model.warnings == (f"s.skel:2: {warning}",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 0", "'1 0' has 2 numbers; a colour is three or four numbers, r g b a"),
        ("nan 0 0", "'nan' is no number; a number is written as 3.24, -.5 or 32e-4"),
    ],
)
def test_a_colour_that_is_none_is_left_out_with_a_warning(text: str, problem: str) -> None:
    model = load(shape("<box/>", f"<color>{text}</color>"))
    assert [found.colour for found in model.links[0].shapes] == [None]
    assert model.warnings == (f"s.skel:2: <color> {problem}; it is left out",)


def test_of_two_colours_the_first_counts() -> None:
    model = load(shape("<box/>", "<color>1 0 0</color><color>0 1 0</color>"))
    assert [found.colour for found in model.links[0].shapes] == [(1, 0, 0, 1)]
    assert model.warnings == (
        "s.skel:2: a second <color> in <visualization_shape>; there is one; the first is read",
    )


def test_a_size_that_is_no_number_is_refused() -> None:
    with pytest.raises(FormatError) as refused:
        load(shape("<sphere><radius>nan</radius></sphere>"))
    problem = "<radius> 'nan' is no number; a number is written as 3.24, -.5 or 32e-4"
    assert str(refused.value) == f"s.skel:2: {problem}"


def test_a_mesh_adds_no_inertia_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "arm.obj").touch()
    inside = "<inertia><mass>2</mass></inertia>" + shape("<mesh><file_name>arm.obj</file_name></mesh>")
    model = load(inside, tmp_path / "s.skel")
    assert model.links[0].inertia.tolist() == np.eye(3).tolist()
    assert model.warnings == (
        (
            f"{tmp_path}/s.skel:2: <mesh> adds no inertia; its volume is not computed; "
            "write <moment_of_inertia>"
        ),
    )


def test_a_flood_of_shapes_is_refused() -> None:
    with pytest.raises(FormatError) as refused:
        load("<visualization_shape/>" * 10_000)
    assert str(refused.value) == (
        "s.skel:2: more than 10000 elements; counted with all included files; no real robot is that large"
    )
