"""Whether actuators are strong enough for a motion, held against closed forms of pendulums and slides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.config.robot import EffortSettings
from motiond.daemon.planning.checks import EffortCheck, Meanwhile, checked, checked_plan
from motiond.daemon.planning.checks.effort import loads_of
from motiond.daemon.planning.planner import Plan, plan
from motiond.daemon.planning.violations import PlanError
from motiond.formats import Motion
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

G = 9.80665
RATE_HZ = 500.0
MASS, ARM, DRAG = 2.0, 0.5, 0.4
INERTIA = MASS * ARM**2
NONE = np.array([np.inf])
JOINTS: dict[str, Any] = {"elbow": {"limits": {"lower": -3.0, "upper": 3.0, "velocity": 100.0}}}


class Pendulum:
    """A point of mass on an arm without weight, hanging at 0."""

    @staticmethod
    def by_powers(positions: Floats, velocities: Floats, accelerations: Floats) -> Floats:
        parts = (MASS * G * ARM * np.sin(positions), DRAG * velocities, INERTIA * accelerations)
        return np.array(parts)


def swing(amplitude: float, hz: float, seconds: float = 2.0) -> Floats:
    """Return whole swings from rest to rest, shape (rows, 1)."""
    times = np.arange(round(seconds * RATE_HZ) + 1) / RATE_HZ
    rows: Floats = amplitude * (1.0 - np.cos(2 * np.pi * hz * times))[:, None] / 2
    return rows


def exact(amplitude: float, hz: float, seconds: float = 2.0, speed: float = 1.0) -> Floats:
    """Return the pendulum's torque on a swing by its equation of motion."""
    w, times = 2 * np.pi * hz, np.arange(round(seconds * RATE_HZ) + 1) / RATE_HZ
    q, v = amplitude * (1 - np.cos(w * times)) / 2, amplitude * w * np.sin(w * times) / 2 * speed
    a = amplitude * w**2 * np.cos(w * times) / 2 * speed**2
    torque: Floats = MASS * G * ARM * np.sin(q) + DRAG * v + INERTIA * a
    return torque


def planned(rows: Floats, speed: float = 1.0, **limits: float) -> tuple[Plan, Any]:
    settings = settings_of({"elbow": {"limits": {**JOINTS["elbow"]["limits"], **limits}}})
    joint_map = map_of(settings.model_dump()["joints"])
    motion = Motion("swing", ("elbow",), RATE_HZ, np.arange(len(rows)) / RATE_HZ, rows)
    return plan(motion, joint_map, settings, 1000.0, speed=speed), joint_map


def check(does: str = "reject") -> EffortCheck:
    return EffortCheck(Pendulum(), EffortSettings.model_validate({"on_violation": does}))


def test_the_peak_and_the_root_mean_square_are_those_of_the_pendulum() -> None:
    loads = loads_of(Pendulum(), swing(1.2, 1.0), RATE_HZ, NONE, NONE)
    torque = exact(1.2, 1.0)
    assert loads.peak[0] == pytest.approx(np.abs(torque).max(), rel=1e-4)
    assert loads.peak_row[0] == pytest.approx(np.abs(torque).argmax(), abs=1)
    assert loads.rms[0] == pytest.approx(np.sqrt(np.mean(torque**2)), rel=3e-3)


@pytest.mark.parametrize("limit", [4.0, 6.0, 9.0, 20.0])
def test_a_motion_fits_exactly_up_to_the_factor_at_which_its_peak_is_the_limit(limit: float) -> None:
    rows = swing(0.4, 2.0)
    factor = loads_of(Pendulum(), rows, RATE_HZ, np.array([limit]), NONE).fits_to[0]
    highest = loads_of(Pendulum(), rows, RATE_HZ * factor, NONE, NONE).peak[0]
    assert highest == pytest.approx(limit, rel=1e-8)
    for share in (0.3, 0.7, 0.999):
        assert loads_of(Pendulum(), rows, RATE_HZ * factor * share, NONE, NONE).peak[0] < limit


def test_a_motion_bears_exactly_up_to_the_factor_at_which_its_root_mean_square_is_the_rating() -> None:
    rows = swing(0.4, 2.0)
    factor = loads_of(Pendulum(), rows, RATE_HZ, NONE, np.array([3.0])).rms_fits_to[0]
    assert 0 < factor < 1
    assert loads_of(Pendulum(), rows, RATE_HZ * factor, NONE, NONE).rms[0] == pytest.approx(3.0, rel=1e-8)


def test_the_factor_of_random_efforts_is_the_lowest_that_reaches_a_limit() -> None:
    rng = np.random.default_rng(4)

    class Anything:
        powers = rng.normal(size=(3, 50, 40)) * [[[0.5]], [[1.0]], [[1.0]]]

        def by_powers(self, *_: Floats) -> Floats:
            powers: Floats = self.powers
            return powers

    limit = rng.uniform(0.2, 2.5, 40)
    found = loads_of(Anything(), np.zeros((50, 40)), RATE_HZ, limit, np.full(40, np.inf)).fits_to
    factors = np.linspace(0, 10, 20_001)
    c0, c1, c2 = Anything.powers
    for joint in range(40):
        one = [powers[:, joint, None] for powers in (c0, c1, c2)]
        efforts = np.abs(one[0] + one[1] * factors + one[2] * factors**2).max(axis=0)
        beyond = np.flatnonzero(efforts > limit[joint])
        lowest = factors[beyond[0]] if beyond.size else np.inf
        assert found[joint] == pytest.approx(lowest, abs=6e-4)


def test_long_motions_are_looked_at_whole() -> None:
    rows = np.concatenate((np.tile(swing(0.1, 1.0)[:-1], (9, 1)), swing(1.2, 1.0)))
    loads = loads_of(Pendulum(), rows, RATE_HZ, NONE, NONE)
    assert loads.peak[0] == pytest.approx(np.abs(exact(1.2, 1.0)).max(), rel=1e-4)
    assert loads.peak_row[0] > 9000


def test_a_recording_that_begins_in_motion_is_not_held_to_how_it_got_there() -> None:
    rows = np.linspace(0.0, 0.5, 100)[:, None]
    still = np.abs(MASS * G * ARM * np.sin(rows)).max() + DRAG * 0.5 / 99 * RATE_HZ
    begun = loads_of(Pendulum(), rows, RATE_HZ, NONE, NONE, rests=False)
    assert begun.peak[0] == pytest.approx(still, rel=1e-6)
    assert loads_of(Pendulum(), rows, RATE_HZ, NONE, NONE).peak[0] > 100


def test_a_motion_within_its_limits_may_be_played_as_fast_as_these_allow() -> None:
    own, joint_map = planned(swing(0.4, 1.0), effort=10.0, continuous_effort=6.0)
    found = checked(own, [check()], joint_map)
    limits = np.array([10.0]), np.array([6.0])
    loads = loads_of(Pendulum(), own.positions, own.rate_hz, *limits, rests=own.rests)
    assert found.max_speed == min(loads.fits_to[0], loads.rms_fits_to[0]) < own.max_speed
    assert found.limiting_joint == "elbow"
    (joint,) = found.physics["effort"]["joints"]
    assert joint == {
        "joint": "elbow",
        "unit": "N·m",
        "peak": pytest.approx(loads.peak[0], rel=1e-3),
        "time": pytest.approx(loads.peak_row[0] / RATE_HZ),
        "limit": 10.0,
        "rms": pytest.approx(loads.rms[0], rel=1e-3),
        "continuous": 6.0,
    }


def test_what_rounding_leaves_of_an_effort_is_none() -> None:
    own, joint_map = planned(np.full((3, 1), 4e-20), effort=10.0)
    assert 0.0 < loads_of(Pendulum(), own.positions, RATE_HZ, NONE, NONE).peak[0] < 1e-18
    (joint,) = checked(own, [check()], joint_map).physics["effort"]["joints"]
    assert (joint["peak"], joint["rms"]) == (0.0, 0.0)


def test_all_that_is_beyond_is_refused_at_once() -> None:
    own, joint_map = planned(swing(0.4, 2.0, 0.5), effort=10.0, continuous_effort=4.0)
    with pytest.raises(PlanError) as caught:
        checked(own, [check()], joint_map, lambda _: own)
    peak = (
        "swing: joint 'elbow' needs 15.8 N·m at 0.006 s (frame 3, the worst of 118); its effort limit is "
        "10 N·m; lighten the motion, let `effort.on_violation: slow` slow it to 0.66 of its speed or raise "
        "`joints.elbow.limits.effort`"
    )
    rms = (
        "swing: joint 'elbow' needs, as root mean square, 9.96 N·m over the whole motion; its continuous "
        "effort limit is 4 N·m; lighten it, let it rest in between, let `effort.on_violation: slow` "
        "slow it to 0.66 of its speed or raise `joints.elbow.limits.continuous_effort`"
    )
    assert str(caught.value).splitlines() == [peak, rms]
    assert [one.kind for one in caught.value.violations] == ["effort", "continuous_effort"]
    assert caught.value.physics["effort"]["joints"][0]["limit"] == 10.0


def slowed(does: str, rows: Floats, **limits: float) -> Plan:
    joints = {"elbow": {"limits": {**JOINTS["elbow"]["limits"], **limits}}}
    settings = settings_of(joints, effort={"on_violation": does})
    joint_map = map_of(settings.model_dump()["joints"])
    motion = Motion("swing", ("elbow",), RATE_HZ, np.arange(len(rows)) / RATE_HZ, rows)
    return checked_plan(motion, joint_map, settings, 1000.0, [check(does)])


def test_slowed_it_needs_what_the_limit_is() -> None:
    rows = swing(0.4, 2.0, 0.5)
    found = slowed("slow", rows, effort=10.0)
    factor = loads_of(Pendulum(), rows, RATE_HZ, np.array([10.0]), NONE).fits_to[0]
    assert 0.9 * factor < found.slowed_to < factor
    peak = loads_of(Pendulum(), found.positions, found.rate_hz, NONE, NONE, rests=found.rests).peak[0]
    assert 9.7 < peak <= 10.0
    (warning,) = found.warnings
    assert warning == (
        f"swing: slowed to {found.slowed_to:.3g} of its speed: joint 'elbow' needs 15.8 N·m at 0.006 s "
        "(frame 3, the worst of 118); its effort limit is 10 N·m; lighten the motion or raise "
        "`joints.elbow.limits.effort`"
    )


def test_slowness_is_no_help_against_weight() -> None:
    rows = swing(1.2, 1.0)
    for does in ("slow", "reject"):
        with pytest.raises(PlanError) as caught:
            slowed(does, rows, effort=7.0)
        (line,) = str(caught.value).splitlines()
        assert line.endswith(
            "its effort limit is 7 N·m; lighten the payload, choose another posture or raise "
            "`joints.elbow.limits.effort`"
        )


def test_warned_of_it_is_played_as_it_is() -> None:
    own, joint_map = planned(swing(0.4, 2.0, 0.5), effort=10.0)
    found = checked(own, [check("warn")], joint_map)
    assert (found.slowed_to, found.max_speed) == (own.slowed_to, own.max_speed)
    (warning,) = found.warnings
    assert warning == (
        "swing: joint 'elbow' needs 15.8 N·m at 0.006 s (frame 3, the worst of 118); its effort limit is "
        "10 N·m; lighten the motion or raise `joints.elbow.limits.effort`"
    )


def test_a_way_is_held_to_its_peak_alone() -> None:
    own, joint_map = planned(swing(0.4, 2.0, 0.5), effort=10.0, continuous_effort=1.0)
    way = replace(own.track, positions=own.positions)
    meanwhile = Meanwhile(own.positions[0], *np.zeros((2, *own.positions[0].shape)))
    (violation,) = check().of_way(way, meanwhile, joint_map).refusals
    assert getattr(violation, "kind", "") == "effort"
    assert check().of_way(replace(way, rate_hz=100.0), meanwhile, joint_map).refusals == ()


def test_once_stopped_nothing_passes_for_checked() -> None:
    own, joint_map = planned(swing(0.4, 1.0), effort=10.0)
    with pytest.raises(PlanError) as caught:
        checked(own, [check()], joint_map, stopped=lambda: True)
    assert str(caught.value) == "swing: it was not checked; the robot leaves"
