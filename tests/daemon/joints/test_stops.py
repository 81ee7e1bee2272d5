"""Stops and beginnings of simulated joints as their actuators see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motiond.daemon.joints.stops import with_stops
from motiond.formats import Coordinate, Joint, Mimic, RobotModel
from tests.robots import map_of
from tests.tables import table

LIMITS = {"lower": -1.0, "upper": 2.0, "velocity": 1.0}


def stops(joints: dict[str, dict[str, Any]], options: dict[str, Any], kind: str = "sim") -> dict[str, Any]:
    limited = {name: {"limits": LIMITS} | joint for name, joint in joints.items()}
    return with_stops(kind, options, map_of(limited))


def beginning(
    initial: float, options: dict[str, Any] | None = None, *, follower: Mimic | None = None, **joint: Any
) -> dict[str, float]:
    """Return where the actuators of a knee that bends from 0.25 to 2.5 rad begin."""
    axis, knee = np.array([[0.0, 0.0, 1.0]]), Coordinate("knee", 0.25, 2.5, initial=initial)
    joints = [Joint("knee", "revolute", "x", "y", axis, (knee,))]
    if follower:
        ankle = Coordinate("ankle", initial=9.0)
        joints.append(Joint("ankle", "revolute", "y", "z", axis, (ankle,), follower))
    model = RobotModel("leg", "sdf", "1.7", tuple(joints), (), (), "x")
    found: dict[str, float] = with_stops("sim", options or {}, map_of({"knee": joint}, model))["initial"]
    return found


@pytest.mark.parametrize(("initial", "begins"), [(1.25, 1.25), (0.0, 0.25), (3.0, 2.5), (np.inf, 0.25)])
def test_a_joint_begins_where_its_description_says_or_as_near_as_its_limits_allow(
    initial: float, begins: float
) -> None:
    assert beginning(initial) == {"knee": begins}


def test_where_a_joint_begins_is_seen_through_the_transmission() -> None:
    assert beginning(1.25, reduction=-2.0, offset=0.5) == {"knee": -1.5}


def test_a_joint_begins_within_the_limits_and_stops_that_are_configured() -> None:
    assert beginning(1.25, limits={"lower": 1.5}) == {"knee": 1.5}
    assert beginning(1.25, {"upper_stop": 1.0}) == {"knee": 1.0}
    assert beginning(1.25, {"lower_stop": {"knee": 1.75}}) == {"knee": 1.75}


def test_a_joint_that_follows_begins_where_its_leader_puts_it() -> None:
    assert beginning(1.25, follower=Mimic("knee", -2.0, 0.5)) == {"knee": 1.25, "ankle": -2.0}


def test_where_an_option_says_it_begins_holds_also_beyond_a_stop() -> None:
    assert beginning(1.25, {"initial": {"knee": 3.0}}) == {"knee": 3.0}


@table("joint, lower, upper")
def test_limits_are_seen_through_the_transmission(joint: dict[str, Any], lower: float, upper: float) -> None:
    found, name = stops({"a": joint}, {}), joint.get("actuator", "a")
    assert {"lower_stop": {name: lower}, "upper_stop": {name: upper}}.items() <= found.items()


def test_a_setpoint_at_a_limit_is_at_the_stop_bit_for_bit() -> None:
    limits = {"lower": -0.1234567, "upper": 1.7654321, "velocity": 1.0}
    joint_map = map_of({"a": {"limits": limits, "reduction": -7.3, "offset": 0.77}})
    at_ends = np.empty((3, 1))
    found = with_stops("sim", {}, joint_map)
    for limit, option in (("lower", "upper_stop"), ("upper", "lower_stop")):
        joint_map.transmission.to_actuators(np.array([[limits[limit]], [0.0], [0.0]]), at_ends)
        assert found[option]["a"] == at_ends[0, 0]


def test_a_joint_that_follows_stops_its_leader() -> None:
    follows = {"actuator": "none", "mimic": {"joint": "a", "multiplier": -2.0}}
    joints = {"a": {}, "b": follows | {"limits": LIMITS | {"lower": -2.0}}}
    found = stops(joints, {})
    assert (found["lower_stop"], found["upper_stop"]) == ({"a": -1.0}, {"a": 1.0})


@pytest.mark.parametrize("mimic", [{"multiplier": 0.0, "offset": 2.0}, {"multiplier": 1.0, "offset": 50.0}])
def test_a_joint_that_would_leave_its_leader_no_range_stops_nothing(mimic: dict[str, float]) -> None:
    joints = {"a": {}, "b": {"actuator": "none", "mimic": {"joint": "a"} | mimic}}
    found = stops(joints, {})
    assert (found["lower_stop"], found["upper_stop"]) == ({"a": -1.0}, {"a": 2.0})


def test_a_joint_without_limits_has_no_stops() -> None:
    endless = Joint("a", "continuous", "x", "y", np.array([[0.0, 0.0, 1.0]]), (Coordinate("a"),), None)
    model = RobotModel("arm", "hrdf", "1.6.0", (endless,), (), (), "x")
    found = with_stops("sim", {}, map_of({}, model))
    assert found == {"lower_stop": None, "upper_stop": None, "initial": {"a": 0.0}}


def test_what_an_option_says_holds() -> None:
    joints: dict[str, dict[str, Any]] = {"a": {}, "b": {}}
    options = {"upper_stop": 5.0, "initial": 0.5, "noise": 0.1}
    found = stops(joints, {"lower_stop": {"a": -9.0}, **options})
    assert found == {"lower_stop": {"a": -9.0, "b": -1.0}, **options}


def test_parts_of_a_composite_have_those_of_their_own_actuators() -> None:
    parts = {"body": {"type": "sim", "actuators": ["a"]}, "hand": {"type": "dynamixel", "actuators": ["b"]}}
    found = stops({"a": {}, "b": {}}, {"parts": parts}, "composite")
    own = {"lower_stop": {"a": -1.0}, "upper_stop": {"a": 2.0}, "initial": {"a": 0.0}}
    assert found == {"parts": {"body": parts["body"] | own, "hand": parts["hand"]}}


def test_other_drivers_have_none() -> None:
    assert stops({"a": {}}, {"port": "/dev/x"}, "dynamixel") == {"port": "/dev/x"}
