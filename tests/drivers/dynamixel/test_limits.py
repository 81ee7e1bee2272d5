"""What servos allow by their registers, learned when their port is opened."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motiond.drivers.base import DriverError
from tests.drivers.errors import message_of

from .bench import Bench, servo

TICK = 2 * np.pi / 4096
VELOCITY_UNIT = 0.229 * 2 * np.pi / 60
FACTORY_VELOCITY = 350 * VELOCITY_UNIT


def limits_of(*servos: Any, **options: Any) -> dict[str, list[Any]]:
    with Bench(list(servos), **options) as bench:
        bench.driver.open()
        limits = bench.driver.limits
    kinds = ("lower", "upper", "velocity", "acceleration", "effort", "continuous_effort")
    return {
        kind: list(zip(getattr(limits, kind).tolist(), limits.sources[kind], strict=True)) for kind in kinds
    }


def test_position_limits_are_the_servos_own_whichever_way_it_turns() -> None:
    ends = {"min_position_limit": 1024, "max_position_limit": 2560}
    found = limits_of(servo(3, registers=ends), servo(4, registers=ends), direction={"shoulder": -1})
    least, most = -1024 * TICK, 512 * TICK
    assert found["lower"] == [
        (pytest.approx(least), "servo 3's own min_position_limit"),
        (pytest.approx(-most), "servo 4's own max_position_limit"),
    ]
    assert found["upper"] == [
        (pytest.approx(most), "servo 3's own max_position_limit"),
        (pytest.approx(-least), "servo 4's own min_position_limit"),
    ]


@pytest.mark.parametrize("mode", [4, 5])
def test_a_servo_that_counts_turns_goes_as_far_as_it_counts(mode: int) -> None:
    found = limits_of(servo(1, operating_mode=mode, min_position_limit=2000, max_position_limit=2100))
    ends = (-(2**20) + 1 - 2048) * TICK, (2**20 - 1 - 2048) * TICK
    assert found["lower"] == [(pytest.approx(ends[0]), "servo 1's own count of turns")]
    assert found["upper"] == [(pytest.approx(ends[1]), "servo 1's own count of turns")]


def test_a_goal_beyond_the_count_of_turns_is_refused() -> None:
    with Bench([servo(1, operating_mode=4, ticks=1048000)]).hold() as bench:
        bench.play([1605.0])
        assert message_of(DriverError, bench.play, [1606.0]) == (
            f"{bench.where(0)}: a goal of 1606.000 rad is beyond its own limits, -1611.635 and 1605.352 rad; "
            "it would ignore the goal; narrow the joint's limits, or widen the servo's with DYNAMIXEL Wizard"
        )


def test_the_velocity_limit_holds_unless_the_profile_is_slower() -> None:
    own: Any = (pytest.approx(FACTORY_VELOCITY), "servo 1's own velocity_limit")
    assert limits_of(servo(1))["velocity"] == [own]
    assert limits_of(servo(1), profile_velocity_rad_s=20.0 * VELOCITY_UNIT)["velocity"] == [
        (pytest.approx(20.0 * VELOCITY_UNIT), "driver.profile_velocity_rad_s")
    ]
    assert limits_of(servo(1), profile_velocity_rad_s=0.3, follow_velocity=True)["velocity"] == [own]
    assert limits_of(servo(1, velocity_limit=0))["velocity"] == [(np.inf, "")]


def test_the_profile_acceleration_holds_also_where_velocities_are_followed() -> None:
    options: dict[str, Any] = {"profile_acceleration_rad_s2": 20.0, "follow_velocity": True}
    unit = 214.577 * 2 * np.pi / 3600
    rounded = round(20.0 / unit) * unit
    assert limits_of(servo(1), **options)["acceleration"] == [
        (pytest.approx(min(20.0, rounded)), "driver.profile_acceleration_rad_s2")
    ]


def test_the_continuous_torque_of_a_model_is_a_limit_where_it_is_known() -> None:
    known, unknown = servo(1, "PM54-040-S250"), servo(2, "PM54-060-S250")
    assert limits_of(known, unknown)["continuous_effort"] == [
        (3.9, "the continuous torque of a PM54-040-S250"),
        (np.inf, ""),
    ]


def test_the_current_limit_is_an_effort_where_the_torque_constant_is_known() -> None:
    assert limits_of(servo(1, current_limit=1000))["effort"] == [(np.inf, "")]
    assert limits_of(servo(1, current_limit=1000), torque_constant_nm_per_a=1.5)["effort"] == [
        (pytest.approx(1000 * 2.69e-3 * 1.5), "servo 1's own current_limit")
    ]


def test_limits_are_read_again_when_the_port_is_opened_again() -> None:
    with Bench([servo(1, max_position_limit=2560)]) as bench:
        bench.driver.open()
        bench.driver.close()
        bench.servos[0].set("max_position_limit", 3072)
        bench.driver.open()
        assert bench.driver.limits.upper.tolist() == [pytest.approx(np.pi / 2)]
