"""What HEBI modules allow by the limits that they have stored."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from motiond.drivers.hebi.lookup import Module
from motiond.drivers.hebi.sender import Mirror, Mirrors
from motiond.drivers.hebi.stored_limits import stored_limits
from motiond.drivers.limits import KINDS

MODULES = (Module("Arm", "base"), Module("Arm", "elbow"), Module("Arm", "second"))
UNSET = {"position_limit_min": [0.0] * 3, "position_limit_max": [0.0] * 3}
NONE = Mirrors((), 2)


def found(mirrors: Mirrors = NONE, count: int = 2, **info: Any) -> dict[str, list[tuple[float, str]]]:
    modules = MODULES if mirrors is not NONE else MODULES[:2]
    info_arrays = {name: np.array(values[: len(modules)]) for name, values in (UNSET | info).items()}
    limits = stored_limits(SimpleNamespace(**info_arrays), modules, mirrors, count)
    return {
        kind: list(zip(getattr(limits, kind).tolist(), limits.sources[kind], strict=True)) for kind in KINDS
    }


def test_modules_that_report_nothing_limit_nothing() -> None:
    limits = stored_limits(None, MODULES[:2], NONE, 2)
    assert not any(np.isfinite(getattr(limits, kind)).any() for kind in KINDS)
    unset = [np.nan, 0.0]
    assert found(velocity_limit_min=unset, velocity_limit_max=unset)["velocity"] == [
        (np.inf, ""),
        (np.inf, ""),
    ]


def test_safety_limits_hold() -> None:
    limits = found(
        position_limit_min=[-1.0, 0.0],
        position_limit_max=[2.0, 0.0],
        velocity_limit_min=[-3.0, np.nan],
        velocity_limit_max=[2.5, np.nan],
        effort_limit_min=[-20.0, -5.0],
        effort_limit_max=[20.0, np.nan],
    )
    assert limits["lower"] == [(-1.0, "HEBI's stored position limit of module Arm/base"), (-np.inf, "")]
    assert limits["upper"] == [(2.0, "HEBI's stored position limit of module Arm/base"), (np.inf, "")]
    assert limits["velocity"] == [(2.5, "HEBI's stored velocity limit of module Arm/base"), (np.inf, "")]
    assert limits["effort"] == [
        (20.0, "HEBI's stored effort limit of module Arm/base"),
        (5.0, "HEBI's stored effort limit of module Arm/elbow"),
    ]


def test_a_position_limit_that_is_disabled_does_not() -> None:
    limits = found(
        position_limit_min=[-1.0, -1.0],
        position_limit_max=[2.0, 2.0],
        min_position_limit_strategy=[3, 0],
        max_position_limit_strategy=[0, 3],
    )
    source = "HEBI's stored position limit of module Arm"
    assert limits["lower"] == [(-np.inf, ""), (-1.0, f"{source}/elbow")]
    assert limits["upper"] == [(2.0, f"{source}/base"), (np.inf, "")]


def test_targets_among_the_gains_cut_positions_too() -> None:
    limits = found(
        position_limit_min=[-1.0, -9.0],
        position_limit_max=[2.0, 9.0],
        position_min_target=[-0.5, np.nan],
        position_max_target=[3.0, 1.0],
    )
    stored = "HEBI's stored position limit of module Arm"
    assert limits["lower"] == [
        (-0.5, "HEBI's stored position_min_target of module Arm/base"),
        (-9.0, f"{stored}/elbow"),
    ]
    assert limits["upper"] == [(2.0, f"{stored}/base"), (9.0, f"{stored}/elbow")]


@pytest.mark.parametrize(("sign", "lower"), [(-1.0, -0.5), (1.0, -0.25)])
def test_an_actuator_of_two_modules_is_limited_by_both(sign: float, lower: float) -> None:
    limits = found(
        Mirrors((Mirror(MODULES[2], 0, sign),), 2),
        position_limit_min=[-1.0, 0.0, -0.25],
        position_limit_max=[1.0, 0.0, 0.5],
        effort_limit_min=[-10.0, -10.0, -4.0],
        effort_limit_max=[10.0, 10.0, 4.0],
    )
    assert limits["lower"][0] == (lower, "HEBI's stored position limit of module Arm/second")
    assert limits["effort"] == [
        (8.0, "HEBI's stored effort limit of module Arm/second"),
        (10.0, "HEBI's stored effort limit of module Arm/elbow"),
    ]
