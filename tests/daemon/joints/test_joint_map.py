from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from motiond.daemon.joints.joint_map import JointMapError
from motiond.drivers.limits import KINDS, ActuatorLimits
from motiond.formats import Coordinate, Joint, JointType, Mimic, RobotModel
from tests.robots import WIDE, map_of
from tests.tables import table


def joint(
    name: str, *coordinates: Coordinate, kind: JointType = "revolute", mimic: Mimic | None = None
) -> Joint:
    axes = np.tile([0.0, 0.0, 1.0], (len(coordinates), 1))
    return Joint(name, kind, "a", "b", axes, coordinates, mimic)


def model(*joints: Joint) -> RobotModel:
    return RobotModel("arm", "hrdf", "1.6.0", joints, (), (), "a", describes_limits=False)


ELBOW = Coordinate("elbow", lower=-1.0, upper=2.0, velocity_limit=3.0, effort_limit=4.0)
TWO = model(joint("base", Coordinate("base")), joint("elbow", ELBOW))


def refusal(joints: dict[str, dict[str, Any]], of: RobotModel | None = None) -> list[str]:
    with pytest.raises(JointMapError) as caught:
        map_of(joints, of)
    return list(caught.value.problems)


def test_joints_stand_in_the_models_order_without_those_that_nothing_drives() -> None:
    base = joint("base", *(Coordinate(f"base{axis}") for axis in range(6)), kind="free")
    slide = joint("slide", Coordinate("slide"), kind="prismatic")
    found = map_of({"elbow": {}}, model(base, slide, joint("weld", kind="fixed"), joint("elbow", ELBOW)))
    assert found.joints == ("slide", "elbow")
    assert found.actuators == ("slide", "elbow")
    assert found.units == ("m", "rad")


def test_without_a_model_joints_stand_in_the_configured_order() -> None:
    found = map_of({"wrist": {"limits": WIDE}, "base": {"limits": WIDE, "actuator": "A1", "unit": "m"}})
    assert found.joints == ("wrist", "base")
    assert found.actuators == ("wrist", "A1")
    assert found.units == ("rad", "m")


def turning(name: str, kind: JointType = "revolute", mimic: Mimic | None = None, **limits: float) -> Joint:
    return joint(name, Coordinate(name, **limits), kind=kind, mimic=mimic)


@table("joints, settings, continuous")
def test_joints_turn_without_end_where_the_description_or_the_configuration_says_so(
    joints: dict[str, dict[str, Any]], settings: dict[str, dict[str, Any]], continuous: list[str]
) -> None:
    described = replace(model(*(turning(name, **how) for name, how in joints.items())), describes_limits=True)
    found = map_of(settings, described)
    assert [name for name, is_so in zip(found.joints, found.continuous, strict=True) if is_so] == continuous
    assert [joint["name"] for joint in found.payload()["joints"] if joint["continuous"]] == continuous


def test_a_format_without_limits_does_not_say_that_a_joint_turns_without_end() -> None:
    table = model(turning("table", "continuous"))
    assert not map_of({}, table).continuous.any()
    assert map_of({"table": {"continuous": True}}, table).continuous.all()
    assert map_of({"table": {"continuous": True}}).continuous.all()


@table("joints, settings, message")
def test_a_joint_that_has_an_end_is_not_taken_for_one_that_has_none(
    joints: dict[str, dict[str, Any]], settings: dict[str, dict[str, Any]], message: str
) -> None:
    described = model(*(turning(name, **how) for name, how in joints.items()))
    assert refusal(settings, described) == [message]


def test_mimic_joints_turn_with_the_one_that_they_follow() -> None:
    follower = {"mimic": {"joint": "table", "multiplier": -3.0, "offset": 0.5}}
    found = map_of({"gear": follower, "table": {"continuous": True}})
    assert found.turn.tolist() == [-6.0 * np.pi, 2.0 * np.pi]


def test_configured_limits_narrow_the_models() -> None:
    found = map_of({"elbow": {"limits": {"upper": 1.5, "acceleration": 9}}}, TWO)
    limits = found.limits
    assert [limits.lower[1], limits.upper[1], limits.velocity[1]] == [-1.0, 1.5, 3.0]
    assert [limits.acceleration[1], limits.effort[1]] == [9.0, 4.0]
    assert np.isinf([limits.lower[0], limits.upper[0], limits.velocity[0]]).all()
    assert found.configured_limits == {("elbow", "upper"), ("elbow", "acceleration")}


def test_positions_pass_bit_for_bit_without_reduction_and_offset() -> None:
    rng = np.random.default_rng(1)
    found = map_of({f"j{index}": {"limits": WIDE} for index in range(30)})
    setpoints, commands = rng.normal(size=(3, 30)), np.empty((3, 30))
    found.transmission.to_actuators(setpoints, commands)
    assert commands.tobytes() == setpoints.tobytes()
    reports, feedback = rng.normal(size=(5, 30)), np.empty((5, 30))
    found.transmission.to_joints(reports, feedback)
    assert feedback.tobytes() == reports.tobytes()


def test_joints_in_another_order_pass_bit_for_bit_too() -> None:
    found = map_of({"a": {"limits": WIDE}, "b": {"limits": WIDE}})
    crossed = replace(found.transmission, joint_of=np.array([1, 0]), actuator_of=np.array([1, 0]))
    setpoints, commands = np.array([[0.1, 0.7]] * 3), np.empty((3, 2))
    crossed.to_actuators(setpoints, commands)
    assert commands.tolist() == [[0.7, 0.1]] * 3


def test_reduction_and_offset_relate_joint_and_actuator() -> None:
    found = map_of({"a": {"limits": WIDE}, "b": {"limits": WIDE, "reduction": -4, "offset": 0.25}})
    commands, feedback = np.empty((3, 2)), np.empty((5, 2))
    found.transmission.to_actuators(np.array([[1.0, 0.75], [1.0, 2.0], [1.0, 8.0]]), commands)
    assert commands.tolist() == [[1.0, -2.0], [1.0, -8.0], [1.0, -2.0]]
    reports = np.array([[1.0, -2.0], [1.0, 8.0], [1.0, 0.5], [25.0, 30.0], [24.0, 12.0]])
    found.transmission.to_joints(reports, feedback)
    assert feedback.tolist() == [[1.0, 0.75], [1.0, -2.0], [1.0, -2.0], [25.0, 30.0], [24.0, 12.0]]


def test_a_mimic_joint_follows_through_others_to_the_one_that_leads() -> None:
    found = map_of(
        {
            "tip": {"mimic": {"joint": "knuckle", "multiplier": 0.5, "offset": 1.0}},
            "knuckle": {"mimic": {"joint": "finger", "multiplier": -2.0, "offset": 0.5}},
            "finger": {"limits": WIDE},
        }
    )
    positions = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.25]])
    found.follow(positions)
    assert positions.tolist() == [[0.25, -1.5, 1.0], [1.0, 0.0, 0.25]]


def test_a_mimic_joint_without_actuator_is_where_its_leader_puts_it() -> None:
    follower = {"actuator": "none", "mimic": {"joint": "finger", "multiplier": 3.0, "offset": 0.5}}
    found = map_of({"tip": follower, "finger": {"limits": WIDE, "reduction": 2.0, "offset": 1.0}})
    feedback = np.empty((5, 2))
    found.transmission.to_joints(np.array([[4.0], [2.0], [4.0], [30.0], [12.0]]), feedback)
    assert found.actuators == ("finger",)
    assert feedback[[0, 1, 3, 4]].tolist() == [[9.5, 3.0], [3.0, 1.0], [30.0, 30.0], [12.0, 12.0]]
    assert np.isnan(feedback[2, 0])
    assert feedback[2, 1] == 8.0


def test_the_models_mimic_joints_count_too() -> None:
    follower = joint("tip", Coordinate("tip"), mimic=Mimic("elbow", 2.0, 0.0))
    found = map_of({}, model(joint("elbow", ELBOW), follower))
    assert [(column.joint, column.leader, column.multiplier) for column in found.mimics] == [(1, 0, 2.0)]


def test_every_mismatch_with_the_model_is_told_at_once() -> None:
    joints: dict[str, dict[str, Any]] = {
        "elbo": {},
        "base": {"unit": "m", "actuator": "none"},
        "elbow": {"limits": {"upper": 2.5, "lower": -0.5, "velocity": 9}, "actuator": "hip"},
    }
    hip = joint("hip", Coordinate("x"), Coordinate("y"), kind="universal")
    assert refusal(joints, model(joint("base", Coordinate("base")), joint("elbow", ELBOW), hip)) == [
        "arm: the model has no joint 'elbo'; it has base, elbow, hip; did you mean 'elbow'?",
        "arm: joint 'base' is configured in m; the model's revolute joint is in rad; remove its unit",
        (
            "arm: joint 'hip' (universal) has 2 coordinates; motiond moves joints with one; "
            "leave it out of the model"
        ),
        (
            "arm: joint 'base' has no actuator; only a joint that follows another can do without; "
            "name its actuator"
        ),
        (
            "arm: actuator 'hip' moves elbow and hip; it can move one joint; "
            "name another, or let one mimic the other"
        ),
        (
            "arm: joint 'elbow' is configured with a limit of 2.5 (upper); the model's is 2; "
            "narrow joints.elbow.limits.upper, or remove it"
        ),
        (
            "arm: joint 'elbow' is configured with a limit of 9 (velocity); the model's is 3; "
            "narrow joints.elbow.limits.velocity, or remove it"
        ),
    ]


def test_a_configured_limit_that_is_the_models_but_for_rounding_is_the_models() -> None:
    coordinate = Coordinate("a", -np.pi / 2, np.pi / 2)
    joint = Joint("a", "revolute", "x", "y", np.array([[0.0, 0.0, 1.0]]), (coordinate,))
    model = RobotModel("arm", "sdf", "1.7", (joint,), (), (), "x")
    limits = map_of({"a": {"limits": {"lower": -1.5707963268, "upper": 1.5707963268}}}, model).limits
    assert (limits.lower[0], limits.upper[0]) == (-np.pi / 2, np.pi / 2)


@table("joints, message")
def test_a_mimic_that_leads_nowhere_is_refused(joints: dict[str, dict[str, Any]], message: str) -> None:
    assert refusal(joints)[0] == message


def test_limits_that_leave_no_room_are_refused() -> None:
    assert refusal({"elbow": {"limits": {"lower": 3}}}, TWO) == [
        "arm: joint 'elbow' cannot be anywhere; its limits are 3 and 2; correct them"
    ]


def test_a_model_without_moving_joints_is_refused() -> None:
    assert refusal({}, model(joint("weld", kind="fixed"))) == [
        "arm: the model has no joint that moves; there is nothing to play on; choose another"
    ]


def test_a_motions_columns_are_found_by_name() -> None:
    found = map_of({"a": {}, "b": {}, "c": {}})
    assert found.columns_of("wave", ("c", "a"), 2).tolist() == [2, 0]


@pytest.mark.parametrize(
    ("count", "configured", "columns"),
    [(3, None, [0, -1, 2]), (2, None, [0, 2]), (1, ["c"], [2]), (2, ["c", "a"], [2, 0])],
    ids=["all joints", "all that follow none", "one listed", "two listed"],
)
def test_columns_without_names_are_taken_in_order(
    count: int, configured: list[str] | None, columns: list[int]
) -> None:
    found = map_of({"a": {}, "b": {"mimic": {"joint": "a"}}, "c": {}})
    assert found.columns_of("wave", (), count, configured).tolist() == columns


@table("names, count, configured, problems")
def test_columns_that_fit_no_joint_are_told_at_once(
    names: tuple[str, ...], count: int, configured: list[str] | None, problems: list[str]
) -> None:
    with pytest.raises(JointMapError) as caught:
        map_of({}, TWO).columns_of("wave", names, count, configured)
    assert list(caught.value.problems) == problems


def test_the_description_tells_joints_with_units_and_limits() -> None:
    none: dict[str, Any] = {"unit": "rad", "continuous": False, **dict.fromkeys(KINDS), "limited_by": {}}
    elbow = {"name": "elbow", "lower": -1.0, "upper": 2.0, "velocity": 3.0, "effort": 4.0}
    assert map_of({"elbow": {"actuator": "A1"}}, TWO).payload() == {
        "joints": [none | {"name": "base"}, none | elbow],
        "actuators": ["base", "A1"],
        "model": TWO.name,
    }


def test_what_actuators_allow_narrows_the_limits_of_their_joints() -> None:
    wide = {"lower": -20.0, "upper": 20.0, "velocity": 9.0}
    settings: dict[str, dict[str, Any]] = {
        "plain": {"limits": wide},
        "geared": {"reduction": 2.0, "offset": 0.5, "limits": wide | {"acceleration": 9.0}},
        "turned": {"reduction": -4.0, "offset": 0.25, "limits": wide},
        "slave": {"mimic": {"joint": "turned"}, "actuator": "none", "limits": wide},
        "second": {"mimic": {"joint": "turned"}, "reduction": 2.0, "limits": wide},
    }
    allowed = ActuatorLimits.none(4)
    for kind, value in zip(KINDS, (-1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True):
        allowed = allowed.narrowed(kind, [np.inf, value, value, value], f"its {kind}")
    found = map_of(settings).within(allowed)
    limits = found.limits
    assert limits.lower.tolist() == [-20.0, 0.0, -0.25, -20.0, -0.5]
    assert limits.upper.tolist() == [20.0, 1.5, 0.5, 20.0, 1.0]
    assert limits.velocity.tolist() == [9.0, 1.5, 0.75, 9.0, 1.5]
    assert limits.acceleration.tolist() == [np.inf, 2.0, 1.0, np.inf, 2.0]
    assert limits.effort.tolist() == [np.inf, 10.0, 20.0, np.inf, 10.0]
    assert limits.continuous_effort.tolist() == [np.inf, 12.0, 24.0, np.inf, 12.0]
    assert found.limit_sources["geared", "lower"] == "its lower"
    assert found.limit_sources["turned", "lower"] == "its upper"
    assert found.limit_sources["turned", "upper"] == "its lower"
    assert not {joint for joint, _ in found.limit_sources} & {"plain", "slave"}
    assert ("geared", "acceleration") not in found.configured_limits
    assert ("plain", "velocity") in found.configured_limits
    geared = found.payload()["joints"][1]
    assert geared["limited_by"] == {kind: f"its {kind}" for kind in KINDS}


def test_actuators_that_allow_more_change_nothing() -> None:
    own = map_of({"plain": {"limits": WIDE}})
    wider = ActuatorLimits.none(1).narrowed("velocity", WIDE["velocity"] + 1.0, "it")
    assert own.within(wider) is own
    assert own.has_limits_of(own.within(wider))
    tighter = wider.narrowed("velocity", 0.01, "it")
    assert not own.has_limits_of(own.within(tighter))
    assert own.within(tighter).has_limits_of(own.within(tighter))
