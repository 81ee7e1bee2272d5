"""What is added to others: whatever the check lets pass keeps every limit, in any alignment of the clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.planning.layering import Extent, conflict_of, extent_added, extent_of
from motiond.daemon.planning.planner import plan
from motiond.daemon.planning.playback import whole
from motiond.daemon.trajectory.track import Track
from motiond.formats import Motion
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from motiond.daemon.planning.playback import Playback
    from motiond.formats.arrays import Floats

RATE_HZ = 100.0
LIMITS = {"lower": -1.0, "upper": 1.0, "velocity": 3.0, "acceleration": 20.0}
ARM: dict[str, dict[str, Any]] = {"shoulder": {"limits": LIMITS}, "elbow": {"limits": LIMITS}}
NOTHING = Track(np.empty((0, 2)), np.empty((0, 2)), np.array([True, True]), RATE_HZ, 1.0)


def playback_of(chance: np.random.Generator, reach: float, at: float = 0.0) -> Playback:
    """Return a motion from rest to rest that is within the limits by itself."""
    u = np.linspace(0.0, 1.0, int(chance.integers(80, 300)))[:, np.newaxis]
    wave = np.sin(np.pi * u) ** 2 * np.sin(
        2 * np.pi * chance.uniform(0.5, 2.0) * u + chance.uniform(0.0, 6.0)
    )
    rows = at + chance.uniform(-reach, reach, 2) * wave
    motion = Motion("wave", tuple(ARM), RATE_HZ, np.arange(len(rows)) / RATE_HZ, rows)
    settings = settings_of(ARM).model_copy(update={"on_violation": "slow"})
    return whole(plan(motion, map_of(ARM), settings, max_rate_hz=1000.0))


def weights(ticks: int, ramp_s: float, leaves_at: int) -> Floats:
    """Return a weight that comes from the first tick on, and goes from another one on."""

    def share(ticks_since: Floats) -> Floats:
        u: Floats = np.minimum(np.maximum(ticks_since / (ramp_s * RATE_HZ), 0.0), 1.0)
        return u * u * u * (10.0 - 15.0 * u + 6.0 * u * u)

    at = np.linspace(0.0, ticks - 1.0, ticks)
    weight: Floats = (share(at) * (1.0 - share(at - leaves_at)))[:, np.newaxis]
    return weight


def held_on(rows: Floats, before: int, ticks: int) -> Floats:
    """Return rows that begin after so many ticks; before and behind, their ends are held."""
    return rows[np.clip(np.arange(ticks) - before, 0, len(rows) - 1)]


@pytest.mark.parametrize("seed", range(60))
def test_no_row_of_what_is_added_breaks_a_limit_with_any_row_of_the_base(seed: int) -> None:
    chance = np.random.default_rng(seed)
    base = playback_of(chance, 0.6, float(chance.uniform(-0.3, 0.3)))
    added, ramp_s = playback_of(chance, 0.4), float(chance.choice([0.1, 0.3, 1.0]))
    room, adds = (
        extent_of(base.plan.track, base.begins_at),
        extent_added(added, NOTHING, speed=1.0, ramp_s=ramp_s),
    )
    conflict = conflict_of(room, adds, 1.0, map_of(ARM))
    weight = 1.0 if conflict is None else conflict.weight
    if not weight:
        return
    assert conflict_of(room, adds, weight, map_of(ARM)) is None
    offsets = added.plan.positions - added.begins_at
    ticks = len(base.plan.positions) + len(offsets) + 200
    for _ in range(20):
        leaves_at = int(chance.integers(1, ticks))
        one = held_on(base.plan.positions, int(chance.integers(0, ticks)), ticks)
        other = offsets[(np.arange(ticks) + int(chance.integers(len(offsets)))) % len(offsets)]
        total = one + weight * weights(ticks, ramp_s, leaves_at) * other
        velocity = np.diff(total, axis=0) * RATE_HZ
        assert np.abs(total).max() <= 1.0
        assert np.abs(velocity).max() <= 3.0
        assert np.abs(np.diff(velocity, axis=0)).max() * RATE_HZ <= 20.0 * 1.02


def test_a_refusal_names_the_joint_the_limit_and_a_weight_that_would_do() -> None:
    chance = np.random.default_rng(1)
    adds = extent_added(playback_of(chance, 0.4), NOTHING, speed=1.0, ramp_s=1.0)
    near = Extent.held(np.array([0.0, 0.99]))
    conflict = conflict_of(near, adds, 1.0, map_of(ARM))
    assert conflict is not None
    reached = 0.99 + adds.upper[1]
    assert conflict.joint == "elbow"
    assert conflict.what == f"joint 'elbow' would reach {reached:.4g} rad; its upper limit is 1 rad"
    assert conflict.weight == pytest.approx(0.99 * 0.01 / adds.upper[1])
    beyond = conflict_of(Extent.held(np.array([0.0, 1.0])), adds, 1.0, map_of(ARM))
    assert beyond is not None
    assert beyond.weight == 0.0
