"""Limits of actuators are narrowed, joined and sent; and each driver reports those of its options."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest

from motiond.drivers.limits import KINDS, ActuatorLimits
from motiond.drivers.registry import make_driver
from tests.tables import table

INF = np.inf


def test_a_tighter_limit_takes_the_place_of_another_with_where_it_comes_from() -> None:
    limits = ActuatorLimits.none(3).narrowed("velocity", [1.0, 2.0, INF], "option")
    limits = limits.narrowed("velocity", [2.0, 1.0, np.nan], ["r1", "r2", "r3"])
    limits = limits.narrowed("lower", [-1.0, -INF, -2.0], "range")
    assert limits.velocity.tolist() == [1.0, 1.0, INF]
    assert limits.sources["velocity"] == ("option", "r2", "")
    assert limits.lower.tolist() == [-1.0, -INF, -2.0]
    assert limits.sources["lower"] == ("range", "", "range")
    assert limits.narrowed("lower", [-3.0, -INF, -2.0], "wider") == limits


def test_limits_cross_the_process_border_unchanged() -> None:
    limits = ActuatorLimits.none(2).narrowed("upper", [0.5, INF], "servo 3's own max_position_limit")
    limits = limits.narrowed("effort", [INF, 2.5], "driver.effort_limit")
    assert ActuatorLimits.from_lists(orjson.loads(orjson.dumps(limits.as_lists()))) == limits
    assert limits != ActuatorLimits.none(2)


def test_limits_cannot_be_changed_in_place() -> None:
    limits = ActuatorLimits.none(2).narrowed("upper", 1.0, "option")
    for kind in KINDS:
        with pytest.raises(ValueError, match="read-only"):
            getattr(limits, kind)[0] = 0.0


@table("kind, options, expected")
def test_what_options_allow_is_known_before_a_driver_is_open(
    kind: str, options: dict[str, Any], expected: dict[str, dict[str, tuple[float, str]]]
) -> None:
    if kind == "dynamixel":
        options = {**options, "ports": [{"port": "/dev/none", "ids": {"a": 1, "b": 2}}]}
    limits = make_driver(kind, options, ("a", "b")).limits
    found = {
        of: {
            name: (value, source)
            for name, value, source in zip(
                "ab", getattr(limits, of).tolist(), limits.sources[of], strict=True
            )
            if np.isfinite(value)
        }
        for of in KINDS
    }
    assert {of: values for of, values in found.items() if values} == expected
