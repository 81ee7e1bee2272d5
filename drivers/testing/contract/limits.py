"""A driver reports what its actuators themselves allow, and where each limit comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...limits import KINDS

if TYPE_CHECKING:
    from ...base import Driver
    from ...limits import ActuatorLimits
    from ..rig import Rig


class LimitsContract:
    """What a driver knows of its actuators' limits."""

    def test_has_limits_before_it_is_open_and_after(self, rig: Rig, driver: Driver) -> None:
        for limits in (rig.make().limits, driver.limits):
            assert_sound(limits, len(rig.actuators))

    def test_learns_no_wider_limits_than_its_options_have(self, rig: Rig, driver: Driver) -> None:
        before, after = rig.make().limits, driver.limits
        assert (after.lower >= before.lower).all()
        for kind in KINDS[1:]:
            assert (getattr(after, kind) <= getattr(before, kind)).all()

    def test_learns_the_same_limits_when_it_is_opened_again(self, driver: Driver) -> None:
        limits = driver.limits
        driver.close()
        driver.open()
        assert driver.limits == limits


def assert_sound(limits: ActuatorLimits, count: int) -> None:
    """Assert that there is a value for each actuator, and words for each value that limits it."""
    for kind in KINDS:
        values, sources = getattr(limits, kind), limits.sources[kind]
        assert values.shape == (count,)
        assert not np.isnan(values).any()
        assert [bool(source) for source in sources] == np.isfinite(values).tolist()
    assert (limits.lower <= limits.upper).all()
    assert (np.array([limits.velocity, limits.acceleration, limits.effort]) > 0).all()
