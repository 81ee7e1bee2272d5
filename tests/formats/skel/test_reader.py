"""Robots of good SKEL files; poses are worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from motiond.formats import load_robot, load_robots, skel
from motiond.formats.io.source import Source
from tests.tables import table

if TYPE_CHECKING:
    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

GOOD = Path(__file__).parents[2] / "files" / "good"


QUARTER = np.pi / 2


def robot(inside: str) -> RobotModel:
    """Read a skeleton with bodies a and b, a welded to the world."""
    text = f"""<skel version="1.0"><world name="w"><skeleton name="s">
        <body name="a"/><body name="b"/>
        <joint type="weld" name="fixed"><parent>world</parent><child>a</child></joint>
        {inside}
        </skeleton></world></skel>"""
    (model,) = skel.load(text.encode(), Source(Path("s.skel")))
    return model


def joint(type_: str, inside: str = "") -> str:
    return f'<joint type="{type_}" name="j"><parent>a</parent><child>b</child>{inside}</joint>'


def axis(text: str, tag: str = "axis") -> str:
    return f"<{tag}><xyz>{text}</xyz></{tag}>"


def plane(first: str, second: str) -> str:
    axes = axis(first, "translation_axis1") + axis(second, "translation_axis2")
    return f'<plane type="arbitrary">{axes}</plane>'


def where_is_b(model: RobotModel, *q: float) -> Floats:
    return np.round(model.forward_kinematics(q)["b"], 9)


def test_every_skeleton_of_a_world_is_a_robot_in_the_worlds_frame() -> None:
    bench, arm = load_robots(GOOD / "workshop.skel")
    assert (bench.name, arm.name, arm.format, arm.version) == ("bench", "arm", "skel", "1.0")
    assert (bench.dof, [one.type for one in bench.joints]) == (0, ["fixed"])
    np.testing.assert_allclose(bench.forward_kinematics([])["top"][:3, 3], [0, 0.8, 0])
    at_rest = arm.forward_kinematics(np.zeros(arm.dof))
    np.testing.assert_allclose(at_rest["base"][:3, 3], [1, 0, 0])
    np.testing.assert_allclose(at_rest["hand"][:3, 3], [1.3, 0, 0.5])
    np.testing.assert_allclose(at_rest["wrist"][:3, 3], [1, 0, 0.5])


def test_a_body_that_nothing_carries_is_free_and_joints_follow_those_that_carry_them() -> None:
    arm = load_robot(GOOD / "workshop.skel", "arm")
    assert [(one.name, one.type, one.parent, one.child) for one in arm.joints] == [
        ("root", "free", "world", "base"),
        ("lift", "screw", "base", "mast"),
        ("wrist", "universal", "mast", "hand"),
    ]
    assert arm.canonical_link == "base"


def test_the_worlds_physics_and_what_is_immobile_or_weightless_are_kept() -> None:
    bench, arm = load_robots(GOOD / "workshop.skel")
    assert arm.metadata["gravity"].tolist() == [0, -9.81, 0]
    assert (arm.metadata["world"], arm.metadata["time_step_s"]) == ("workshop", 0.002)
    assert (bench.metadata["immobile"], arm.metadata["immobile"]) == (True, False)
    assert (bench.metadata["weightless"], arm.metadata["weightless"]) == ((), ("base",))


def test_what_the_world_does_not_say_has_the_defaults_of_the_specification() -> None:
    text = b"<skel><world><skeleton><body/></skeleton></world></skel>"
    (model,) = skel.load(text, Source(Path("s.skel")))
    assert (model.name, [link.name for link in model.links]) == ("Unknown skeleton", ["Unknown body"])
    assert model.metadata["gravity"].tolist() == [0, 0, -9.8]
    assert (model.metadata["world"], model.metadata["time_step_s"]) == ("Unknown world", 0.001)
    assert (model.links[0].mass, model.links[0].inertia.tolist()) == (1, np.eye(3).tolist())
    assert (model.version, model.metadata["immobile"], model.warnings) == ("1.0", False, ())


def test_inertia_is_as_stated_or_else_that_of_the_shapes() -> None:
    base, mast, hand = load_robot(GOOD / "workshop.skel", "arm").links
    assert base.inertia.tolist() == [[0.02, 0.001, 0.002], [0.001, 0.03, 0.003], [0.002, 0.003, 0.04]]
    assert (base.mass, base.com[:3, 3].tolist()) == (4, [0, 0, 0.05])
    np.testing.assert_allclose(np.diag(mast.inertia), [0.0475, 0.0475, 0.015])
    np.testing.assert_allclose(np.diag(hand.inertia), [0.5 * 0.13 / 12, 0.5 * 0.1 / 12, 0.5 * 0.05 / 12])


def test_a_ball_of_an_ellipsoid_has_two_fifths_of_its_mass_times_its_radius_squared() -> None:
    solid = "<geometry><ellipsoid><size>0.4 0.4 0.4</size></ellipsoid></geometry>"
    body = (
        "<body name='c'><inertia><mass>5</mass></inertia>"
        f"<visualization_shape>{solid}</visualization_shape></body>"
    )
    np.testing.assert_allclose(robot(body).links[2].inertia, 0.08 * np.eye(3))


def shape(solid: str, place: str = "0 0 0 0 0 0", tag: str = "visualization_shape") -> str:
    return f"<{tag}><transformation>{place}</transformation><geometry>{solid}</geometry></{tag}>"


BOX = "<box><size>0.2 0.4 0.6</size></box>"


# What DART 6.20 makes of a body of 6 kg with its centre of mass at 0 0 0.1.
@table("shapes, moments")
def test_inertia_of_shapes_is_as_dart_computes_it(shapes: str, moments: list[float]) -> None:
    body = f"<body name='c'><inertia><mass>6</mass><offset>0 0 0.1</offset></inertia>{shapes}</body>"
    model = robot(body)
    xx, yy, zz, xy, xz, yz = moments
    np.testing.assert_allclose(
        model.links[2].inertia, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], rtol=1e-12, atol=1e-12
    )
    cone = "s.skel:4: <cone> is not shown; shown are sphere, box, ellipsoid, cylinder, capsule, plane, mesh"
    assert model.warnings == ((cone,) if "<cone>" in shapes else ())


def test_inertia_is_in_the_frame_of_a_centre_of_mass_that_is_turned() -> None:
    inertia = f"<inertia><mass>6</mass><transformation>0 0 0 {QUARTER} 0 0</transformation></inertia>"
    (*_, link) = robot(f"<body name='c'>{inertia}{shape(BOX)}</body>").links
    np.testing.assert_allclose(link.inertia, np.diag([0.26, 0.1, 0.2]), atol=1e-12)


def test_inertia_without_a_shape_that_has_a_volume_is_that_of_dart() -> None:
    solid = "<box><size>1 1 0</size></box>"
    assert (
        robot(f"<body name='c'><inertia/>{shape(solid)}</body>").links[2].inertia.tolist()
        == np.eye(3).tolist()
    )
    flat_and_full = f"<body name='c'><inertia><mass>6</mass></inertia>{shape(solid)}{shape(BOX)}</body>"
    np.testing.assert_allclose(robot(flat_and_full).links[2].inertia, np.diag([0.26, 0.2, 0.1]))


def test_limits_dynamics_and_initial_values_come_from_axes_and_then_from_dofs() -> None:
    first, second = load_robot(GOOD / "workshop.skel", "arm").joints[2].coordinates
    assert (first.name, first.lower, first.upper, first.velocity_limit) == ("wrist_1", -1.5, 1.5, np.inf)
    assert (first.initial, first.initial_velocity, first.damping) == (0.1, 0.3, 0.1)
    assert (second.name, second.lower, second.upper) == ("wrist_turn", -2, 2)
    assert (second.velocity_limit, second.effort_limit) == (4, 8)
    assert (second.initial, second.initial_velocity) == (0.25, 0.5)
    assert (second.damping, second.friction) == (0.2, 0.3)
    assert (second.spring_reference, second.spring_stiffness) == (0.4, 5)


def test_a_limit_may_bound_velocity_and_effort() -> None:
    limit = "<axis><xyz>1 0 0</xyz><limit><effort>12</effort><velocity>3</velocity></limit></axis>"
    (one,) = robot(joint("revolute", limit)).joints[1].coordinates
    assert (one.lower, one.upper, one.effort_limit, one.velocity_limit) == (-np.inf, np.inf, 12, 3)


def test_a_transformation_turns_about_x_then_the_new_y_then_the_new_z() -> None:
    body = f"<body name='c'><transformation>1 2 3 {QUARTER} {QUARTER} 0</transformation></body>"
    model = robot(body)
    pose = model.forward_kinematics(np.zeros(model.dof))["c"]
    np.testing.assert_allclose(pose, [[0, 0, 1, 1], [1, 0, 0, 2], [0, 1, 0, 3], [0, 0, 0, 1]], atol=1e-12)


def test_a_joint_sits_in_its_child() -> None:
    inside = axis("0 0 1") + "<transformation>-2 0 0 0 0 0</transformation>"
    model = robot(joint("revolute", inside))
    np.testing.assert_allclose(where_is_b(model, QUARTER)[:3, 3], [-2, 2, 0], atol=1e-9)


@table("type_, inside, q, position, columns")
def test_each_joint_type_moves_its_child(
    type_: str,
    inside: str,
    q: tuple[float, ...],
    position: tuple[float, ...],
    columns: tuple[str, ...],
) -> None:
    model = robot(joint(type_, inside))
    pose = where_is_b(model, *q)
    unit = dict(zip(("x", "y", "z", "-x", "-y", "-z"), (*np.eye(3), *-np.eye(3)), strict=True))
    np.testing.assert_allclose(pose[:3, :3], np.transpose([unit[one] for one in columns]), atol=1e-9)
    np.testing.assert_allclose(pose[:3, 3], position, atol=1e-9)
    assert model.joints[1].type == type_
    assert np.allclose(np.linalg.norm(model.joints[1].axes, axis=1), 1)
    assert model.warnings == ()


@table("inside, names")
def test_coordinates_are_named_as_in_dart(inside: str, names: list[str]) -> None:
    assert [one.name for one in robot(inside).joints[1].coordinates] == names


def test_free_bodies_joints_get_names_that_are_free() -> None:
    text = joint("weld").replace('"j"', '"root"') + '<body name="c"/><body name="d"/>'
    assert [one.name for one in robot(text).joints] == ["fixed", "root", "root(1)", "root(2)"]


def test_a_body_may_be_called_world() -> None:
    text = b"""<skel><world><skeleton><body name="world"/><body name="b"/>
        <joint type="weld" name="j"><parent>world</parent><child>b</child></joint>
        </skeleton></world></skel>"""
    (model,) = skel.load(text, Source(Path("s.skel")))
    np.testing.assert_allclose(model.forward_kinematics([0, 0, 0, 1, 2, 3])["b"][:3, 3], [1, 2, 3])


def test_actuator_types_are_kept_and_the_default_is_torque() -> None:
    arm = load_robot(GOOD / "workshop.skel", "arm")
    assert [one.actuator for one in arm.joints] == ["", "torque", "servo"]


@table("inside, warning")
def test_what_is_odd_is_read_with_a_warning(inside: str, warning: str) -> None:
    assert list(robot(inside).warnings) == [f"s.skel:4: {warning}"]
