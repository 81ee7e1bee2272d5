from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.options import check
from motiond.drivers.weights import Gravity, Weights
from tests.drivers.sim.joints import Joints

if TYPE_CHECKING:
    from motiond.drivers.testing.rig import Clock

ARM = ("shoulder", "elbow", "lift")
G = 9.80665


def shift(x: float, y: float, z: float) -> list[list[float]]:
    return [[1, 0, 0, x], [0, 1, 0, y], [0, 0, 1, z], [0, 0, 0, 1]]


UPPER = {"actuator": "shoulder", "axis": [0, 1, 0], "mass": 2.0, "com": [0.2, 0, 0]}
LOWER = {
    "actuator": "elbow",
    "carried_by": "shoulder",
    "pose": shift(0.4, 0, 0),
    "axis": [0, 1, 0],
    "mass": 1.0,
    "com": [0.15, 0, 0],
}
LIFT = {"actuator": "lift", "slides": True, "axis": [0, 0, 1], "mass": 3.0}


def weights(*bodies: dict[str, Any], **options: Any) -> Weights:
    return Weights("driver sim", check("gravity", Gravity, {"bodies": bodies, **options}), ARM)


@pytest.mark.parametrize("angles", [(0.0, 0.0), (0.7, 0.0), (-0.4, 1.9), (np.pi / 2, 0.3)])
def test_two_links_weigh_as_in_a_textbook(angles: tuple[float, float]) -> None:
    shoulder, elbow = angles
    inner = G * (2 * 0.2 + 1 * 0.4) * np.cos(shoulder)
    outer = G * 1 * 0.15 * np.cos(shoulder + elbow)
    given = weights(LOWER, UPPER, LIFT)(np.array([shoulder, elbow, 0.0]))
    np.testing.assert_allclose(given, [inner + outer, outer, -3 * G], atol=1e-12)


def test_a_reduction_divides_the_weight() -> None:
    geared = {**UPPER, "reduction": -50.0, "offset": 0.5}
    given = weights(geared)(np.array([10.0, 0, 0]))
    np.testing.assert_allclose(given[0], G * 2 * 0.2 * np.cos(10 / -50 + 0.5) / -50)


def test_a_screw_bears_what_its_lead_lifts_and_what_leans_on_it() -> None:
    screw = {**LIFT, "slides": False, "lead": 0.004, "reduction": 2.0}
    leaning = {**UPPER, "carried_by": "lift", "axis": [0, 1, 0]}
    given = weights(screw, leaning)(np.array([0.3, 0.0, 7.0]))
    np.testing.assert_allclose(given[2], -(3 + 2) * G * 0.004 / 2, rtol=1e-12)
    np.testing.assert_allclose(given[0], 2 * G * 0.2 * np.cos(0.3), rtol=1e-12)
    tilted = weights({**screw, "axis": [1, 0, 0], "com": [0.5, 0.1, 0]})(np.array([0, 0, 2.0]))
    np.testing.assert_allclose(tilted[2], -3 * G * 0.1 * np.cos(1.0) / 2, rtol=1e-12)


def test_an_arm_without_torque_falls_and_comes_to_rest_hanging(clock: Clock) -> None:
    arm = Joints(clock, holds=False, actuators=ARM, gravity={"bodies": [UPPER, LOWER]}, inertia=1.0)
    arm.play(0, 10.0)
    state = arm.state
    np.testing.assert_allclose(state.position, [np.pi / 2, 0, 0], atol=0.1)
    np.testing.assert_allclose(state.velocity, 0, atol=0.1)
