"""Behaviour of cross-fades: between which rows they lie, which limits they keep, and what would do."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.planning.blend import Blend, BlendError, Overlap, Pace, longer_blend, plan_blend
from motiond.daemon.planning.curve import slopes_of
from motiond.daemon.trajectory import Track, TrajectoryClock
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from motiond.formats import Interpolation
    from motiond.formats.arrays import Floats

RATE_HZ = 100.0
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 20.0}
ARM: dict[str, dict[str, Any]] = {"shoulder": {"limits": LIMITS}, "elbow": {"limits": LIMITS}}
FREE = {name: {"limits": {key: LIMITS[key] for key in ("lower", "upper", "velocity")}} for name in ARM}


def swing(reach: float, at: float = 0.0, duration_s: float = 1.0) -> Floats:
    """Swing both joints to and fro, from rest to rest; shape (rows, 2)."""
    u = np.linspace(0.0, 1.0, round(duration_s * RATE_HZ) + 1)
    return at + reach * np.outer(0.5 - 0.5 * np.cos(2 * np.pi * u), [1.0, -1.0])


def overlap_of(before: Floats, after: Floats, interpolation: Interpolation = "cubic") -> Overlap:
    return Overlap(before, after, np.array([True, True]), RATE_HZ, "nod", interpolation, np.zeros(2))


def blended(
    before: Floats,
    after: Floats,
    blend_s: float,
    joints: Any = ARM,
    *,
    speed: float = 1.0,
    then: float | None = None,
) -> Blend:
    """Blend two motions; `then`: the speed of the second, by default that of both."""
    pace = Pace(speed, speed if then is None else then)
    return plan_blend(overlap_of(before, after), blend_s, map_of(joints), settings_of(joints), pace)


def refusal(before: Floats, after: Floats, blend_s: float, **how: Any) -> BlendError:
    with pytest.raises(BlendError) as caught:
        blended(before, after, blend_s, **how)
    return caught.value


def played(before: Floats, blend: Blend, after: Floats) -> Floats:
    return np.concatenate((before[: -blend.steps - 1], blend.positions, after[blend.steps + 1 :]))


def test_the_last_of_one_and_the_first_of_the_next_overlap_in_a_smooth_share() -> None:
    before, after = swing(0.3), swing(0.2)
    blend = blended(before, after, 0.3)
    u = np.linspace(0.0, 1.0, 31)[:, None]
    share = 6 * u**5 - 15 * u**4 + 10 * u**3
    assert np.allclose(blend.positions, (1 - share) * before[-31:] + share * after[:31], atol=1e-12)
    assert (blend.positions[0] == before[-31]).all()
    assert (blend.positions[-1] == after[30]).all()


def test_it_does_not_rest_between() -> None:
    before, after = swing(0.3), swing(0.3)
    speeds = np.abs(np.diff(played(before, blended(before, after, 0.5), after), axis=0)).max(axis=1)
    around = speeds[len(before) - 40 : len(before) - 10]
    assert (np.abs(np.diff(before, axis=0))[-1] < 0.001).all()
    assert around.max() > 0.009


@pytest.mark.parametrize("seed", range(40))
def test_an_accepted_blend_keeps_every_limit_by_differences_of_its_rows_alone(seed: int) -> None:
    chance = np.random.default_rng(seed)
    before = swing(chance.uniform(-0.9, 0.9), chance.uniform(-0.5, 0.5))
    after = swing(chance.uniform(-0.9, 0.9), chance.uniform(-0.5, 0.5))
    speed = float(chance.uniform(0.3, 1.5))
    try:
        blend = blended(before, after, float(chance.uniform(0.01, 0.98)), speed=speed)
    except BlendError as error:
        if not error.data:
            return
        blend = blended(before, after, error.data["longest_s"], speed=speed)
    begin, end = len(before) - blend.steps - 1, len(before)
    rows = played(before, blend, after)[max(0, begin - 3) : end + 3]
    assert np.abs(rows).max() <= 2.0
    assert np.abs(np.diff(rows, axis=0)).max() * RATE_HZ * speed <= 3.0 * (1 + 1e-6)
    assert np.abs(np.diff(rows, 2, axis=0)).max() * (RATE_HZ * speed) ** 2 <= 20.0 * (1 + 1e-6)
    assert blend.max_speed >= speed


def test_one_that_is_too_short_for_a_gap_is_refused_with_those_that_would_do() -> None:
    error = refusal(swing(0.3), swing(0.3, 0.5), 0.1)
    assert str(error) == (
        "nod: a blend of 0.1 s accelerates joint 'elbow' at 283.4 rad/s²; its acceleration limit is "
        "20 rad/s²; 0.5 to 0.99 s would do"
    )
    assert error.data == {"shortest_s": 0.5, "longest_s": 0.99}
    assert blended(swing(0.3), swing(0.3, 0.5), 0.5).steps == 50
    assert refusal(swing(0.3), swing(0.3, 0.5), 0.49).data["shortest_s"] == 0.5


def test_one_that_is_too_long_is_refused_with_the_longest_that_would_do() -> None:
    before, after = swing(0.6, duration_s=1.4), swing(-0.6, duration_s=1.4)
    assert str(refusal(before, after, 0.8)) == (
        "nod: a blend of 0.8 s moves joint 'shoulder' at 3.032 rad/s; its velocity limit is 3 rad/s; "
        "up to 0.74 s would do"
    )
    assert blended(before, after, 0.74).steps == 74
    assert refusal(before, after, 0.75).data == {"shortest_s": 0.01, "longest_s": 0.74}


def test_one_that_is_longer_than_a_motion_is_refused_with_the_longest() -> None:
    assert str(refusal(swing(0.1), swing(0.1, duration_s=0.5), 2.0)) == (
        "nod: a blend of 2 s does not fit; the motions overlap by at most 0.49 s; 0.13 to 0.49 s would do"
    )


def test_ends_that_no_blend_joins_are_refused() -> None:
    assert str(refusal(swing(0.1, -1.9, 0.1), swing(0.1, 1.8, 0.1), 0.05)).endswith(
        "; no blend would do; leave blend_s out, so that it rests between"
    )


def test_motions_of_fewer_than_three_rows_cannot_be_blended() -> None:
    assert str(refusal(swing(0.1), np.zeros((2, 2)), 0.1)) == (
        "nod: there is nothing to blend; each motion needs three rows or more; leave blend_s out"
    )


def test_a_higher_speed_asks_for_more_than_the_limits_allow() -> None:
    before, after = swing(0.3), swing(0.3)
    fastest = blended(before, after, 0.4).max_speed
    assert 1.0 < fastest < 1.5
    blended(before, after, 0.4, speed=0.999 * fastest)
    refusal(before, after, 0.4, speed=1.001 * fastest)


def test_a_joint_without_an_acceleration_limit_is_asked_for_no_more_than_by_its_motions_or_an_approach() -> (
    None
):
    error = refusal(swing(0.3), swing(0.3, 0.2), 0.2, joints=FREE)
    assert str(error) == (
        "nod: a blend of 0.2 s accelerates joint 'shoulder' at 38.15 rad/s²; without a limit it gets at most "
        "5.92 rad/s², as by the motions or an approach; 0.83 to 0.97 s would do"
    )


def test_a_smooth_curve_is_compared_between_its_rows_too() -> None:
    overlap = overlap_of(swing(0.3), swing(0.2), "smooth")
    blend = plan_blend(overlap, 0.3, map_of(ARM), settings_of(ARM, interpolation="smooth"))
    assert (blend.interpolation, blend.steps) == ("smooth", 30)


def late(gentle_s: float) -> Floats:
    """Begin gently, and only then speed up as much as the limit allows twice over; shape (rows, 2)."""
    half = np.concatenate((np.full(round(gentle_s * RATE_HZ), 0.1), np.full(20, 9.0)))
    rows = np.cumsum(np.cumsum(np.concatenate(([0.0], half, [0.0], -half[::-1])))) / RATE_HZ**2
    return np.outer(rows, [1.0, -1.0])


def test_the_second_motion_keeps_the_limits_while_the_clock_slows_down_to_its_speed() -> None:
    before, soon, later = swing(0.02), late(0.3), late(2.0)
    assert blended(before, soon, 0.1).behind is None
    assert blended(before, soon, 0.1, speed=1.4).max_speed > 1.4
    assert str(refusal(before, soon, 0.1, speed=2.0, then=1.0)) == (
        "nod: a blend of 0.1 s accelerates joint 'shoulder' at 36 rad/s² behind it, where it may still slow "
        "down from speed 2 to 1; its acceleration limit is 20 rad/s²; no blend would do; leave blend_s out, "
        "so that it rests between"
    )
    behind = blended(before, later, 0.1, speed=2.0, then=1.0).behind
    assert behind is not None
    assert (behind.positions == later[10 : 10 + len(behind.positions)]).all()
    assert 1.0 < len(behind.positions) / RATE_HZ < 2.0


def setpoints(before: Floats, blend: Blend, after: Floats, pace: Pace) -> Floats:
    """Return what is put out from a blend on until the clock has slowed down behind it, and on to the end."""
    rows = played(before, blend, after)[len(before) - blend.steps - 4 :]
    slopes = slopes_of(rows, RATE_HZ, "cubic")
    track = Track(rows, slopes, np.array([True, True]), RATE_HZ, blend.clock_acceleration)
    clock = TrajectoryClock()
    found: list[Floats] = []
    clock.start(pace.speed, blend.clock_acceleration / RATE_HZ)
    clock.advance(1 + math.ceil(3.0 / pace.speed))  # on the first row of the blend, or a little later
    clock.aim(pace.then)
    position, velocity = np.zeros(2), np.zeros(2)
    while clock.position < track.last and len(found) < 2000:
        track.sample(clock.position, position, velocity, clock.rate)
        found.append(position.copy())
        clock.advance(1)
    return np.array(found)


@pytest.mark.parametrize("seed", range(40))
def test_an_accepted_blend_keeps_the_limits_while_the_clock_slows_down(seed: int) -> None:
    chance = np.random.default_rng(seed)
    before, after = swing(0.02), late(float(chance.uniform(0.1, 2.0))) * float(chance.uniform(0.3, 1.5))
    pace = Pace(float(chance.uniform(1.0, 3.0)), float(chance.uniform(0.5, 1.0)))
    blend_s = float(chance.uniform(0.02, 0.9))
    try:
        blend = blended(before, after, blend_s, speed=pace.speed, then=pace.then)
    except BlendError as error:
        if not error.data:
            return
        blend = blended(before, after, error.data["longest_s"], speed=pace.speed, then=pace.then)
    rows = setpoints(before, blend, after, pace)
    assert np.abs(np.diff(rows, axis=0)).max() * RATE_HZ <= 3.0 * (1 + 1e-6)
    assert np.abs(np.diff(rows, 2, axis=0)).max() * RATE_HZ**2 <= 20.0 * 1.02


def lengthened(least_steps: float, duration_s: float) -> tuple[Blend | None, list[int]]:
    """Look for a longer blend than one of 0.3 s; return it, and which were tried, by their steps."""
    rows, tried = swing(0.1, duration_s=duration_s), list[int]()

    def allows(one: Blend) -> bool:
        tried.append(one.steps)
        return one.steps >= least_steps

    overlap = overlap_of(rows, rows)
    found = longer_blend(overlap, blended(rows, rows, 0.3), map_of(ARM), settings_of(ARM), allows=allows)
    return found, tried


@pytest.mark.parametrize("least_steps", [31, 73, 500, 999])
def test_a_longer_blend_is_as_short_as_is_allowed_within_few_tries(least_steps: int) -> None:
    found, tried = lengthened(least_steps, duration_s=30.0)
    assert found is not None
    assert least_steps <= found.steps <= 1.01 * least_steps
    assert len(tried) <= 16


@pytest.mark.parametrize(("duration_s", "longest"), [(30.0, 1000), (2.0, 199)])
def test_no_blend_is_longer_than_may_be_asked_for_or_than_its_motions(
    duration_s: float, longest: int
) -> None:
    found, tried = lengthened(np.inf, duration_s)
    assert found is None
    assert (max(tried), len(tried) <= 10) == (longest, True)
