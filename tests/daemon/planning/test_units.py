"""Units that joints cannot have are refused; numbers that are likely in degrees get a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.joints import JointMapError
from motiond.daemon.planning import PlanError
from motiond.daemon.planning.planner import plan
from motiond.formats import Motion
from tests.robots import map_of, settings_of
from tests.tables import table

if TYPE_CHECKING:
    from motiond.daemon.planning import Plan

LIMITS = {"lower": -2, "upper": 2, "velocity": 9}
ARM: dict[str, dict[str, Any]] = {
    "elbow": {"limits": LIMITS},
    "slide": {"unit": "m", "limits": LIMITS},
}


def planned(
    names: tuple[str, ...], ends: list[float], units: dict[str, str], made_by: str = "csv", **options: Any
) -> Plan:
    rows = np.linspace(np.zeros(len(ends)), ends, 10_001)
    metadata = {"format": made_by, "units": units}
    motion = Motion("wave", names, 100.0, np.arange(10_001) / 100.0, rows, {}, metadata)
    return plan(motion, map_of(ARM), settings_of(ARM, **options), 1000.0)


@table("names, units, message")
def test_a_unit_that_a_joint_cannot_have_is_refused(
    names: tuple[str, ...], units: dict[str, str], message: str
) -> None:
    with pytest.raises(JointMapError) as caught:
        planned(names, [0.1, 0.1], units)
    assert str(caught.value) == message


def test_units_that_joints_can_have_are_played() -> None:
    for turn, way in (("rad", "m"), ("deg", "mm"), ("deg", "cm")):
        assert planned(("elbow", "slide"), [0.1, 0.1], {"elbow": turn, "slide": way}).joints


@table("ends, units, made_by, message")
def test_numbers_that_would_fit_in_another_unit_get_a_hint(
    ends: list[float], units: dict[str, str], made_by: str, message: str
) -> None:
    """Not where the file states the unit, and not where they would not fit in the other one either."""
    with pytest.raises(PlanError) as caught:
        planned(("elbow", "slide"), ends, units, made_by)
    hints = [line for line in str(caught.value).splitlines() if "times as far" in line]
    assert hints == ([message] if message else [])


def test_what_is_clipped_or_slowed_gets_the_hint_as_a_warning() -> None:
    clipped = planned(("elbow",), [90.0], {}, on_violation="clip")
    assert any("if they are degrees, say `units: deg` in a motion map" in one for one in clipped.warnings)
