"""Shapes derived from a robot's kinematics: struts, housings, and how thick they are."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from motiond.formats import RobotModel, Shape, hrdf, load_robot, sdf
from motiond.formats.io.source import Source
from motiond.formats.model.outline import derived_shapes
from tests.tables import table

ROBOTS = Path(__file__).parents[3] / "config" / "robots"


def arm(joint: str, visual: str = "", upper_mass: float = 2.0) -> RobotModel:
    """Read a mast of 0.5 m on the world, and a boom that a joint carries, of 0.4 m along x."""
    text = f"""<sdf version="1.9"><model name="m">
        <link name="mast">{visual}</link>
        <link name="boom"><pose>0 0 0.5 0 0 0</pose>
          <inertial><mass>{upper_mass}</mass><pose>0.2 0 0 0 0 0</pose></inertial></link>
        <joint name="fix" type="fixed"><parent>world</parent><child>mast</child></joint>
        <joint name="j" type="{joint}"><parent>mast</parent><child>boom</child>
          <axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""
    (model,) = sdf.load(text.encode(), Source(Path("arm.sdf")))
    return model


def parts(text: str, path: Path = Path("arm.hrdf")) -> RobotModel:
    (model,) = hrdf.load(f'<robot version="1.6.0">{text}</robot>'.encode(), Source(path))
    return model


def ends(shape: Shape) -> list[list[float]]:
    """Return both ends of what lies along its z."""
    half = shape.pose[:3, 2] * shape.size[-1] / 2
    return [(shape.pose[:3, 3] + sign * half).round(6).tolist() for sign in (-1, 1)]


def test_a_strut_leads_from_joint_to_joint_and_on_to_twice_the_mass_centre() -> None:
    shapes = derived_shapes(arm("revolute"))
    assert ends(shapes["mast"][0]) == [[0, 0, 0], [0, 0, 0.5]]
    (boom,) = shapes["boom"]
    assert (boom.kind, ends(boom)) == ("cylinder", [[0, 0, 0], [0.4, 0, 0]])


def test_a_strut_is_as_thick_as_a_rod_of_its_mass() -> None:
    (boom,) = derived_shapes(arm("revolute", upper_mass=2.0))["boom"]
    radius, length = boom.size
    assert math.pi * radius**2 * length * 2000 == pytest.approx(2.0)


@pytest.mark.parametrize(("mass", "radius"), [(0.0, 0.01), (1e-6, 0.01), (1e12, 0.2)])
def test_no_strut_is_thinner_or_thicker_than_fits_the_robot(mass: float, radius: float) -> None:
    (boom,) = derived_shapes(arm("revolute", upper_mass=mass))["boom"]
    assert boom.size == pytest.approx((radius, 0.4))


@table("joint, kind, along")
def test_a_housing_lies_along_the_axis_of_each_joint(
    joint: str, kind: str, along: list[float] | None
) -> None:
    strut, housing = derived_shapes(arm(joint))["mast"]
    assert housing.kind == kind
    assert housing.pose[:3, 3].tolist() == [0, 0, 0.5]
    assert housing.size[0] == pytest.approx(1.25 * strut.size[0])
    if along is not None:
        np.testing.assert_allclose(housing.pose[:3, 2], along, atol=1e-12)
        assert housing.size[-1] == pytest.approx(2.5 * housing.size[0])


def test_a_fixed_joint_has_no_housing() -> None:
    assert [shape.kind for shape in derived_shapes(arm("fixed"))["mast"]] == ["cylinder"]


def test_a_joint_on_the_world_has_its_housing_on_what_it_carries() -> None:
    text = """<sdf version="1.9"><model name="m"><link name="l"><pose>0 0 1 0 0 0</pose></link>
        <joint name="j" type="revolute"><pose>0 0 -0.25 0 0 0</pose><parent>world</parent><child>l</child>
        <axis><xyz>1 0 0</xyz></axis></joint></model></sdf>"""
    (model,) = sdf.load(text.encode(), Source(Path("arm.sdf")))
    (*_, housing) = derived_shapes(model)["l"]
    assert (housing.kind, housing.pose[:3, 3].tolist()) == ("cylinder", [0, 0, -0.25])
    np.testing.assert_allclose(housing.pose[:3, 2], [1, 0, 0], atol=1e-12)


def test_actuators_are_discs_along_their_axes_and_tubes_reach_to_the_next_part() -> None:
    shapes = derived_shapes(load_robot(ROBOTS / "six_axis.hrdf"))
    (elbow,), (tube,) = shapes["elbow"], shapes["link2"]
    assert ends(elbow) == [[0, 0, 0], [0, 0, 0.0451]]
    # An X8 is 75 mm wide, and its links are tubes of 32 mm.
    assert 0.03 < elbow.size[0] < 0.05
    assert tube.size[1] == pytest.approx(0.325, abs=0.003)
    assert 0.01 < tube.size[0] < 0.02
    assert "elbow/output" not in shapes


def test_every_part_of_hrdf_but_those_with_a_mesh_gets_shapes(tmp_path: Path) -> None:
    (tmp_path / "a.stl").touch()
    body = '<rigid-body mass="1" mesh_path="a.stl" output_trans="0 0 0.1"/>'
    model = parts(f'{body}<actuator type="X5-1" tag="a"/>', tmp_path / "arm.hrdf")
    assert set(derived_shapes(model)) == {"a"}


def test_a_link_without_shapes_is_bare_where_the_file_shows_another_one() -> None:
    box = '<visual name="v"><geometry><box/></geometry></visual>'
    assert derived_shapes(arm("revolute", box)) == {}


def test_a_part_without_length_is_a_ball_of_its_mass() -> None:
    (ball,) = derived_shapes(parts('<rigid-body mass="0.1" tag="weight"/>'))["weight"]
    assert ball.kind == "sphere"
    assert ball.size[0] == pytest.approx((0.1 * 3 / (4 * math.pi * 2000)) ** (1 / 3))


def test_a_part_without_mass_and_length_has_no_shape() -> None:
    assert derived_shapes(parts('<rigid-body mass="0"/>')) == {}


def test_shapes_are_finite_wherever_links_lie() -> None:
    far = '<rigid-body mass="1e300" output_trans="1e15 0 0"/>'
    for shapes in derived_shapes(parts(f'{far}<actuator type="X5-1"/>')).values():
        for shape in shapes:
            assert np.isfinite(shape.pose).all()
            assert 0 < max(shape.size) <= 1000
