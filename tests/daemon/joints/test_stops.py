"""Stops of simulated joints as their actuators see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motiond.daemon.joints.stops import with_stops
from motiond.formats import Coordinate, Joint, RobotModel
from tests.robots import map_of
from tests.tables import table

LIMITS = {"lower": -1.0, "upper": 2.0, "velocity": 1.0}


def stops(joints: dict[str, dict[str, Any]], options: dict[str, Any], kind: str = "sim") -> dict[str, Any]:
    limited = {name: {"limits": LIMITS} | joint for name, joint in joints.items()}
    return with_stops(kind, options, map_of(limited))


@table("joint, lower, upper")
def test_limits_are_seen_through_the_transmission(joint: dict[str, Any], lower: float, upper: float) -> None:
    found, name = stops({"a": joint}, {}), joint.get("actuator", "a")
    assert found == {"lower_stop": {name: lower}, "upper_stop": {name: upper}}


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
    assert stops(joints, {}) == {"lower_stop": {"a": -1.0}, "upper_stop": {"a": 1.0}}


@pytest.mark.parametrize("mimic", [{"multiplier": 0.0, "offset": 2.0}, {"multiplier": 1.0, "offset": 50.0}])
def test_a_joint_that_would_leave_its_leader_no_range_stops_nothing(mimic: dict[str, float]) -> None:
    joints = {"a": {}, "b": {"actuator": "none", "mimic": {"joint": "a"} | mimic}}
    assert stops(joints, {}) == {"lower_stop": {"a": -1.0}, "upper_stop": {"a": 2.0}}


def test_a_joint_without_limits_has_no_stops() -> None:
    endless = Joint("a", "continuous", "x", "y", np.array([[0.0, 0.0, 1.0]]), (Coordinate("a"),), None)
    model = RobotModel("arm", "hrdf", "1.6.0", (endless,), (), (), "x")
    assert with_stops("sim", {}, map_of({}, model)) == {"lower_stop": None, "upper_stop": None}


def test_what_an_option_says_holds() -> None:
    joints: dict[str, dict[str, Any]] = {"a": {}, "b": {}}
    found = stops(joints, {"lower_stop": {"a": -9.0}, "upper_stop": 5.0, "noise": 0.1})
    assert found == {"lower_stop": {"a": -9.0, "b": -1.0}, "upper_stop": 5.0, "noise": 0.1}


def test_parts_of_a_composite_have_those_of_their_own_actuators() -> None:
    parts = {"body": {"type": "sim", "actuators": ["a"]}, "hand": {"type": "dynamixel", "actuators": ["b"]}}
    found = stops({"a": {}, "b": {}}, {"parts": parts}, "composite")
    body = {"type": "sim", "actuators": ["a"], "lower_stop": {"a": -1.0}, "upper_stop": {"a": 2.0}}
    assert found == {"parts": {"body": body, "hand": parts["hand"]}}


def test_other_drivers_have_none() -> None:
    assert stops({"a": {}}, {"port": "/dev/x"}, "dynamixel") == {"port": "/dev/x"}
