"""Robots of good HRDF files."""

from pathlib import Path

import numpy as np
import pytest

from motiond.formats import RobotModel, hrdf
from motiond.formats.arrays import Floats
from motiond.formats.io.source import Source
from tests.tables import table

GOOD = Path(__file__).parents[2] / "files" / "good"
ROBOTS = Path(__file__).parents[3] / "config" / "robots"


def load_file(path: Path) -> RobotModel:
    source = Source(path)
    (model,) = hrdf.load(source.read(), source)
    return model


def load_text(body: str, version: str = "1.6.0") -> RobotModel:
    text = f'<robot version="{version}">{body}</robot>'
    (model,) = hrdf.load(text.encode(), Source(Path("arm.hrdf")))
    return model


def names(model: RobotModel, kind: str) -> list[str]:
    return [frame.name for frame in model.frames if frame.kind == kind]


def place(model: RobotModel, frame: str, *q: float) -> Floats:
    return model.forward_kinematics(np.array(q))[frame]


def test_six_axis_arm_of_the_demo() -> None:
    model = load_file(ROBOTS / "six_axis.hrdf")
    assert (model.name, model.format, model.version) == ("six_axis", "hrdf", "1.6.0")
    assert [joint.name for joint in model.joints] == [
        "base",
        "shoulder",
        "elbow",
        "wrist1",
        "wrist2",
        "wrist3",
    ]
    assert [joint.coordinates[0].velocity_limit for joint in model.joints[:2]] == [4.08407, 2.094395]
    assert [joint.coordinates[0].effort_limit for joint in model.joints[:2]] == [23.0, 44.0]
    assert model.dof == 6
    assert model.warnings == ()


def test_actuator_is_a_link_with_a_joint_at_its_output() -> None:
    model = load_text('<actuator type="X5-4"/><link type="X5" extension="0.3" twist="0"/>')
    (joint,) = model.joints
    assert (joint.name, joint.type, joint.parent, joint.child) == (
        "actuator1", "continuous", "actuator1", "actuator1/output",
    )  # fmt: skip
    assert joint.axes.tolist() == [[0, 0, 1]]
    assert joint.coordinates[0].lower == -np.inf
    assert [(link.name, link.attached_to, link.mass) for link in model.links] == [
        ("actuator1", "", 0.335),
        ("actuator1/output", "", 0.0),
        ("link1", "actuator1/output", pytest.approx(0.319)),
    ]
    assert model.canonical_link == "actuator1"
    # The joint has turned by 90 degrees, so the link's 0.3 m along x lie along y.
    np.testing.assert_allclose(place(model, "link1/output", np.pi / 2)[:3, 3], [0, 0.3, 0.07105], atol=1e-12)


def test_joint_without_mass_hangs_on_what_precedes_it() -> None:
    model = load_text(
        '<joint axis="tx" gear_ratio="10"/><rigid-body mass="1" output_trans="0 1 0"/><joint axis="ry"/>'
    )
    assert [(joint.type, joint.parent, joint.child) for joint in model.joints] == [
        ("prismatic", "world", "joint1/output"),
        ("continuous", "body1", "joint2/output"),
    ]
    assert model.joints[0].coordinates[0].velocity_limit == np.inf
    np.testing.assert_allclose(place(model, "joint2/output", 5.0, 0.0)[:3, 3], [0.5, 1, 0])


def test_tags_name_elements_and_their_frames() -> None:
    model = load_text(
        '<actuator type="X5-4" tag="base"/><bracket type="X5LightLeft"/><actuator type="X5-4"/>'
    )
    assert [joint.name for joint in model.joints] == ["base", "actuator2"]
    assert names(model, "com") == ["base/com", "bracket1/com", "actuator2/com"]
    assert names(model, "output") == ["base/output", "bracket1/output", "actuator2/output"]


def test_untagged_element_keeps_off_the_tag_of_another() -> None:
    model = load_text('<joint axis="rx"/><joint axis="rx" tag="joint1"/>')
    assert [joint.name for joint in model.joints] == ["joint1_", "joint1"]


def test_tree_with_includes_is_read_depth_first() -> None:
    model = load_file(GOOD / "walker.hrdf")
    assert [joint.name for joint in model.joints] == ["actuator1", "actuator2", "mast"]
    assert names(model, "output") == [
        "torso/output",
        "actuator1/output", "link1/output", "body2/output",
        "torso/output2",
        "actuator2/output", "link2/output", "body3/output",
        "torso/output3",
        "torso/output4",
        "mast/output", "end_effector1/output",
    ]  # fmt: skip
    assert names(model, "end_effector") == ["end_effector1/end_effector"]
    links = {link.name: link for link in model.links}
    assert links["actuator1"].attached_to == "torso"
    assert links["actuator1"].mass == pytest.approx(0.435)
    assert links["torso"].inertia.tolist() == [[0.1, -0.01, 0], [-0.01, 0.2, 0], [0, 0, 0.3]]
    # The robot is 1 m up, turned so that its y is the world's -x; the mast moves by a tenth of its joint.
    np.testing.assert_allclose(place(model, "torso/com", 0, 0, 0)[:3, 3], [0, 0, 1.1], atol=1e-12)
    np.testing.assert_allclose(place(model, "torso/output2", 0, 0, 0)[:3, 3], [0.5, 0, 1], atol=1e-12)
    np.testing.assert_allclose(
        place(model, "end_effector1/end_effector", 0, 0, 1)[:3, 3], [0, 0, 1.4 - 0.1 - 0.1], atol=1e-12
    )
    # An <output> has its own rotation, or else that of the body.
    np.testing.assert_allclose(
        place(model, "torso/output", 0, 0, 0)[:3, :3], [[-1, 0, 0], [0, -1, 0], [0, 0, 1]], atol=1e-12
    )
    np.testing.assert_allclose(
        place(model, "torso/output3", 0, 0, 0)[:3, :3], [[0, 1, 0], [1, 0, 0], [0, 0, -1]], atol=1e-12
    )


def test_each_included_file_is_read_by_its_own_version_with_a_warning() -> None:
    leg = GOOD / "legs" / "leg.hrdf"
    assert load_file(leg).warnings == (
        (
            f"{leg}:5: a file of version 1.6.0 includes 'feet/foot.hrdf' of version 1.3.0; "
            "the specification asks for the same; each is read by its own version"
        ),
    )


def test_empty_robots_and_includes_are_fine(tmp_path: Path) -> None:
    (tmp_path / "empty.hrdf").write_text('<robot version="1.6.0"/>')
    (tmp_path / "arm.hrdf").write_text(
        '<robot version="1.6.0"><joint axis="rx"/><include path="empty.hrdf"/><joint axis="rx"/></robot>'
    )
    model = load_file(tmp_path / "empty.hrdf")
    assert (model.dof, model.links, model.frames, model.canonical_link) == (0, (), (), "")
    assert model.forward_kinematics(np.zeros(0)) == {}
    assert load_file(tmp_path / "arm.hrdf").joints[1].parent == "joint1/output"


@pytest.mark.parametrize("version", ["", ' version="1.0.0"', ' version="1.1.0"'])
def test_old_files_get_an_implicit_end_effector(version: str) -> None:
    text = f'<robot{version}><actuator type="X5-1"/></robot>'
    (model,) = hrdf.load(text.encode(), Source(Path("arm.hrdf")))
    assert model.version == (version[-6:-1] or "1.0.0")
    assert names(model, "end_effector") == ["end_effector1/end_effector"]
    assert model.links[-1].mass == 0
    np.testing.assert_allclose(place(model, "end_effector1/end_effector", 0.0)[:3, 3], [0, 0, 0.03105])


def test_included_old_file_adds_no_end_effector(tmp_path: Path) -> None:
    (tmp_path / "old.hrdf").write_text('<robot><actuator type="X5-1"/></robot>')
    (tmp_path / "arm.hrdf").write_text(
        '<robot version="1.3.0"><include path="old.hrdf"/><bracket type="X5LightLeft"/></robot>'
    )
    assert names(load_file(tmp_path / "arm.hrdf"), "end_effector") == []


def test_enums_in_another_case_are_read_with_a_warning() -> None:
    model = load_text(
        '<actuator\n type="x5-4"/><link type="X5" extension="0" twist="0" output="INLINE"/><joint axis="RX"/>'
    )
    assert model.joints[1].type == "continuous"
    assert model.warnings == (
        "arm.hrdf:2: actuator type 'x5-4' is not in the case of the specification; write 'X5-4'",
        "arm.hrdf:2: link output 'INLINE' is not in the case of the specification; write 'Inline'",
        "arm.hrdf:2: joint axis 'RX' is not in the case of the specification; write 'rx'",
    )


@pytest.mark.parametrize("axis", ["rx", "ry", "rz", "tx", "ty", "tz"])
def test_a_minus_before_an_axis_negates_it(axis: str) -> None:
    plain, negated = load_text(f'<joint axis="{axis}"/>'), load_text(f'<joint axis="-{axis}"/>')
    assert plain.warnings == ()
    assert negated.warnings == (
        (
            f"arm.hrdf:1: joint axis '-{axis}' is not in the specification; "
            "it is read as the negated axis, as HEBI's library does"
        ),
    )
    assert negated.joints[0].type == plain.joints[0].type
    np.testing.assert_array_equal(negated.joints[0].axes, -plain.joints[0].axes)
    np.testing.assert_allclose(
        place(negated, "joint1/output", 0.4), place(plain, "joint1/output", -0.4), atol=1e-12
    )


def test_an_inertia_that_no_body_has_warns() -> None:
    model = load_text('<rigid-body mass="1" ixx="1" iyy="1" izz="1" ixy="1" ixz="1" iyz="1" tag="rod"/>')
    assert model.warnings == (
        (
            "arm.hrdf:1: <rigid-body> tag 'rod' has an inertia that no body has; moments are not negative, "
            "and none is more than the other two together; check units and signs"
        ),
    )


def test_an_empty_mesh_path_is_no_mesh() -> None:
    model = load_text('<rigid-body mass="1" mesh_path="" mesh_rot="Rx(1)" mesh_trans="0 0 1"/>')
    assert model.warnings == (
        (
            "arm.hrdf:1: 'mesh_path' of <rigid-body> is empty; "
            "it is read as no mesh, as HEBI's library does; remove it"
        ),
    )


@table("trans, values, read")
def test_formulas_in_a_translation_are_evaluated_with_a_warning(
    trans: str, values: tuple[float, ...], read: str
) -> None:
    model = load_text(f'<rigid-body mass="1" output_trans="{trans}"/>')
    np.testing.assert_allclose(place(model, "body1/output")[:3, 3], values, atol=1e-12)
    assert model.warnings == (
        (
            f"arm.hrdf:1: 'output_trans' of <rigid-body>: {trans!r} holds formulas; they are evaluated, "
            f"but HEBI's library reads {read}, the number that each begins with; write plain numbers"
        ),
    )
    vendor = pytest.importorskip("hebi", reason="hebi-py is not installed").robot_model
    model = vendor.import_from_hrdf_string(
        f'<robot version="1.6.0"><rigid-body mass="1" output_trans="{trans}"/></robot>'
    )
    np.testing.assert_allclose(
        model.get_forward_kinematics_mat("output", [])[-1, :3, 3], [float(one) for one in read.split()]
    )


def test_plain_numbers_in_a_translation_warn_of_nothing() -> None:
    assert load_text('<rigid-body mass="1" output_trans="-1e-3 +2. .5"/>').warnings == ()


def test_offsets_add_to_the_catalogue_and_overrides_replace_it() -> None:
    added = load_text(
        '<actuator type="X5-4" mass_offset="-0.035" com_trans_offset="0.0142 0 1" com_rot="Rx(pi)"/>'
    )
    assert added.links[0].mass == pytest.approx(0.3)
    np.testing.assert_allclose(added.links[0].com[:3, 3], [0, -0.0031, 1.0165], atol=1e-12)
    np.testing.assert_allclose(added.links[0].com[:3, :3], np.diag([1, -1, -1]), atol=1e-12)
    replaced = load_text('<bracket type="X5LightLeft" mass="3" com_trans="1 2 3" ixz="0.5"/>')
    assert replaced.links[0].mass == 3
    np.testing.assert_array_equal(replaced.links[0].com[:3, 3], [1, 2, 3])
    assert replaced.links[0].inertia.tolist() == [[0, 0, 0.5], [0, 0, 0], [0.5, 0, 0]]


def test_end_effector_keeps_what_its_attributes_do_not_replace() -> None:
    model = load_text('<end-effector type="X5Parallel" output_rot="Rz(pi)" mass_offset="1"/>')
    assert model.links[0].mass == pytest.approx(1.2464)
    np.testing.assert_allclose(place(model, "end_effector1/output")[:3, 3], [0, 0, 0.095])
    np.testing.assert_allclose(
        place(model, "end_effector1/end_effector")[:3, :3], np.diag([-1, -1, 1]), atol=1e-12
    )


def test_negative_mass_is_read_with_a_warning() -> None:
    assert load_text('<rigid-body mass="-0.1" tag="counter"/>').warnings == (
        "arm.hrdf:1: <rigid-body> tag 'counter' has a mass of -0.1 kg; no part weighs less than nothing",
    )


def test_bracket_may_hold_its_one_output() -> None:
    chain = load_text('<bracket type="R8LightLeft"/><actuator type="T8-3"/>')
    nested = load_text('<bracket type="R8LightLeft"><output><actuator type="T8-3"/></output></bracket>')
    for frame, pose in chain.forward_kinematics([0.4]).items():
        np.testing.assert_array_equal(nested.forward_kinematics([0.4])[frame], pose)


@table("body")
def test_parts_that_fit_are_accepted(body: str) -> None:
    assert load_text(body).warnings == ()
