"""Columns become joints: names, signs, offsets, units and order; what does not fit is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.formats import MappedJoint, Motion, MotionError, MotionMap, name_joints, rename, select
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Mapping

DEG = math.pi / 180


def motion_of(names: tuple[str, ...], row: list[float], units: Mapping[str, str] | None = None) -> Motion:
    """Return a motion of two rows; `row` is the second, the first is 0."""
    metadata: dict[str, Any] = {"format": "test"} | ({"units": units} if units else {})
    return Motion("wave", names, 10.0, np.array([0.0, 0.1]), np.array([[0.0] * len(row), row]), {}, metadata)


def at(column: str | int, sign: float = 1.0, offset: float = 0.0, unit: Any = None) -> MappedJoint:
    return MappedJoint(column, sign, offset, unit, "arm.map.yaml:2")


def test_a_joint_is_its_column_by_sign_unit_and_offset_in_the_maps_order() -> None:
    map_ = MotionMap({"elbow": at("J2", -1, 90, "deg"), "shoulder": at("J1")}, frozenset({"led"}))
    mapped = map_.apply(motion_of(("J1", "led", "J2"), [0.5, 7.0, 30.0]))
    assert mapped.joint_names == ("elbow", "shoulder")
    np.testing.assert_allclose(mapped.positions, [[90 * DEG, 0], [60 * DEG, 0.5]], rtol=1e-15)
    assert mapped.metadata == {
        "format": "test",
        "units": {"elbow": "deg"},
        "map": {
            "columns": [
                {"column": "J2", "unit": "deg", "sign": -1, "offset": 90, "joint": "elbow"},
                {"column": "J1", "unit": None, "sign": 1, "offset": 0, "joint": "shoulder"},
            ],
            "ignored": ["led"],
        },
    }
    assert mapped.warnings == ()


@pytest.mark.parametrize("unit", ["rad", "deg", "m", "cm", "mm"])
def test_a_unit_counts_once_whoever_states_it(unit: Any) -> None:
    """Where the file states it, the reader has converted the column already."""
    in_si = {"rad": 1, "deg": DEG, "m": 1, "cm": 0.01, "mm": 0.001}[unit]
    by_file = motion_of(("J1",), [0.25], {"J1": unit})
    silent = motion_of(("J1",), [0.25])
    own, general = MotionMap({"a": at("J1", unit=unit)}), MotionMap({"a": at("J1")}, units=unit)
    for motion, map_, factor in (
        (by_file, own, 1.0),
        (by_file, general, 1.0),
        (by_file, MotionMap({"a": at("J1")}), 1.0),
        (by_file, MotionMap({"a": at("J1")}, units="rad"), 1.0),
        (silent, own, in_si),
        (silent, general, in_si),
        (silent, MotionMap({"a": at("J1", unit=unit)}, units="rad"), in_si),
        (silent, MotionMap(units=unit), in_si),
    ):
        mapped = map_.apply(motion)
        assert mapped.positions[1, 0] == pytest.approx(0.25 * factor, rel=1e-15)
        assert list(mapped.metadata["units"].values()) == [unit]


@pytest.mark.parametrize("unit", ["rad", "deg", "m", "cm", "mm"])
def test_an_offset_is_in_the_unit_of_its_column(unit: Any) -> None:
    in_si = {"rad": 1, "deg": DEG, "m": 1, "cm": 0.01, "mm": 0.001}[unit]
    for motion, map_ in (
        (motion_of(("J1",), [1.0], {"J1": unit}), MotionMap({"a": at("J1", 1, 8)})),
        (motion_of(("J1",), [1.0]), MotionMap({"a": at("J1", 1, 8, unit)})),
        (motion_of(("J1",), [1.0]), MotionMap({"a": at("J1", 1, 8)}, units=unit)),
    ):
        assert map_.apply(motion).positions[0, 0] == pytest.approx(8 * in_si, rel=1e-15)
    assert MotionMap({"a": at("J1", 1, 8)}).apply(motion_of(("J1",), [1.0])).positions[0, 0] == 8


def test_velocity_acceleration_and_effort_go_along_without_the_offset() -> None:
    series = np.array([[0.0, 0.0], [10.0, 20.0]])
    motion = Motion(
        "wave",
        ("J1", "J2"),
        10.0,
        np.array([0.0, 0.1]),
        series,
        {"JointVelocity": series, "JointAcceleration": series, "JointEffort": series, "ZMP": np.ones((2, 3))},
        {"components": {"JointEffort": {"part_labels": ("J1", "J2")}}, "servos": {"J1": {"id": "1"}}},
    )
    mapped = MotionMap({"b": at("J2", -1, 5, "deg"), "a": at("J1")}).apply(motion)
    for name in ("JointVelocity", "JointAcceleration"):
        np.testing.assert_allclose(mapped.components[name][1], [-20 * DEG, 10], rtol=1e-15)
    assert mapped.components["JointEffort"][1].tolist() == [-20, 10]
    assert mapped.components["ZMP"] is motion.components["ZMP"]
    assert {**mapped.metadata, "map": None} == {
        "map": None,
        "components": {"JointEffort": {"part_labels": ("b", "a")}},
        "servos": {"a": {"id": "1"}},
        "units": {"b": "deg"},
    }


def test_series_that_cannot_be_mapped_are_refused() -> None:
    series = np.array([[0.0, 0.0], [1.0, 2.0]])
    components = {"JointGain": series, "JointEffort": np.ones((2, 3))}
    motion = Motion("wave", ("J1", "J2"), 10.0, np.array([0.0, 0.1]), series, components)
    with pytest.raises(MotionError) as caught:
        MotionMap({"a": at("J1", -1), "b": at("J2")}).apply(motion)
    assert str(caught.value) == (
        "wave: component 'JointGain' cannot go along; its sign and unit are not known; drop it first\n"
        "wave: component 'JointEffort' cannot go along; it does not have a column for each joint; "
        "drop it first"
    )


def test_columns_by_number_are_those_of_motions_without_names() -> None:
    mapped = MotionMap({"b": at(2, unit="deg"), "a": at(0)}, frozenset({1})).apply(motion_of((), [1, 2, 3]))
    assert mapped.joint_names == ("b", "a")
    np.testing.assert_allclose(mapped.positions[1], [3 * DEG, 1])


def test_units_without_joints_convert_every_column_and_leave_the_names() -> None:
    named = MotionMap(units="mm").apply(motion_of(("x", "y"), [1000, 2000], {"y": "m"}))
    assert (named.joint_names, named.positions[1].tolist()) == (("x", "y"), [1, 2000])
    assert named.metadata["units"] == {"x": "mm", "y": "m"}
    unnamed = MotionMap(units="mm").apply(motion_of((), [1000, 2000]))
    assert (unnamed.joint_names, unnamed.positions[1].tolist()) == ((), [1, 2])
    assert unnamed.metadata["units"] == {"0": "mm", "1": "mm"}


def test_units_stay_with_their_joints_through_edits() -> None:
    motion = MotionMap({"a": at("x", unit="mm"), "b": at("y")}).apply(motion_of(("x", "y"), [1000, 2]))
    assert rename(motion, {"a": "c"}).metadata["units"] == {"c": "mm"}
    assert select(motion, ["b"]).metadata["units"] == {}
    unnamed = MotionMap(units="mm").apply(motion_of((), [1, 2]))
    assert name_joints(unnamed, ["a", "b"]).metadata["units"] == {"a": "mm", "b": "mm"}


def test_names_may_be_swapped_and_a_column_may_move_two_joints() -> None:
    swapped = MotionMap({"a": at("b"), "b": at("a")}).apply(motion_of(("a", "b"), [1, 2]))
    assert swapped.positions[1].tolist() == [2, 1]
    fingers = MotionMap({"left": at("grip"), "right": at("grip", -1)}).apply(motion_of(("grip",), [3]))
    assert (fingers.positions[1].tolist(), fingers.warnings) == ([3, -3], ())


def test_what_the_map_does_not_mention_stays_after_its_joints() -> None:
    mapped = MotionMap({"elbow": at("J2")}).apply(motion_of(("J1", "J2", "led"), [1, 2, 3]))
    assert mapped.joint_names == ("elbow", "J1", "led")
    others = MotionMap({"elbow": at("J2")}, ignores_others=True).apply(motion_of(("J1", "J2"), [1, 2]))
    assert others.joint_names == ("elbow",)


def test_with_others_ignored_a_column_that_moves_two_joints_warns() -> None:
    """Otherwise a copied line would leave another column over, which the robot refuses."""
    map_ = MotionMap({"a": at("J1"), "b": at("J1")}, ignores_others=True)
    assert map_.apply(motion_of(("J1", "J2"), [1, 2])).warnings == (
        "wave: joint 'a' takes column 'J1' (arm.map.yaml:2); so does another one; check that it is meant",
        "wave: joint 'b' takes column 'J1' (arm.map.yaml:2); so does another one; check that it is meant",
    )


def test_a_motion_of_some_joints_warns_where_every_column_is_accounted_for() -> None:
    mapped = MotionMap({"a": at("J1"), "b": at("J2")}).apply(motion_of(("J1",), [1]))
    assert mapped.joint_names == ("a",)
    (warning,) = mapped.warnings
    assert warning == (
        "wave: there is no column 'J2' for joint 'b' (arm.map.yaml:2); "
        "the motion does not move that joint; check that it is meant"
    )


@table("names, units, map_, message")
def test_what_does_not_fit_is_refused(
    names: tuple[str, ...], units: dict[str, str], map_: dict[str, Any], message: str
) -> None:
    map_ = dict(map_)
    joints = {name: at(*joint) for name, joint in map_.pop("joints", {}).items()}
    map_["ignored"] = frozenset(map_.get("ignored", ()))
    row = [1.0] * map_.pop("columns", len(names))
    with pytest.raises(MotionError) as caught:
        MotionMap(joints, **map_).apply(motion_of(names, row, units))
    assert str(caught.value) == message


def test_a_robots_map_leaves_a_motion_alone_that_has_none_of_its_columns() -> None:
    map_ = MotionMap({"elbow": at("J2", -1)}, frozenset({"led"}), must_fit=False)
    for names in ((), ("elbow", "wrist")):
        motion = motion_of(names, [1, 2])
        assert map_.apply(motion) is motion
    assert (
        MotionMap({"elbow": at(0)}, frozenset({1}), must_fit=False).apply(motion_of((), [1, 2])).joint_names
    )


def test_what_a_robots_map_says_of_no_joint_counts_for_every_motion() -> None:
    map_ = MotionMap({"elbow": at("J2", -1)}, frozenset({"led"}), units="deg", must_fit=False)
    mapped = map_.apply(motion_of(("elbow", "led"), [180, 1]))
    assert mapped.joint_names == ("elbow",)
    assert mapped.positions[-1].tolist() == [math.pi]
    assert mapped.metadata["units"] == {"elbow": "deg"}


def test_a_column_in_si_is_in_rad_or_m() -> None:
    motion = replace(motion_of(("J1",), [2]), metadata={"units": {"J1": "SI"}})
    for unit in (None, "rad", "m", "SI"):
        assert MotionMap({"elbow": at("J1", unit=unit)}, units="deg").apply(motion).positions[-1, 0] == 2
    with pytest.raises(MotionError) as refused:
        MotionMap({"elbow": at("J1", unit="deg")}).apply(motion)
    assert str(refused.value) == (
        "wave: the file has column 'J1' in SI; the map has it in deg for joint 'elbow' (arm.map.yaml:2); "
        "correct the one that is wrong"
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MappedJoint("J1", sign=0.5), "sign is 0.5; it is 1 or -1; correct it"),
        (lambda: MappedJoint("J1", offset=math.inf), "offset is inf; it is a finite number; correct it"),
        (lambda: MotionMap(rate_hz=0), "rate is 0 rows/s; it is above 0 and at most 100000; correct it"),
        (
            lambda: MotionMap({"a": at("J1", unit="degrees")}),
            "unit is 'degrees'; it is one of rad, deg, m, cm, mm, SI; correct it",
        ),
    ],
)
def test_a_map_with_impossible_values_cannot_be_made(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        make()
