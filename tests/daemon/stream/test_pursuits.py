"""Random sequences of targets, and whether the oracle finds out what must not be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.trajectory.online.generator import OnlineGenerator
from tests.daemon.stream import pursuits

FOLLOWING, IDLE = STATES.index(State.FOLLOWING), STATES.index(State.IDLE)


KEPT = [417, 1183, 90085, 402110]
"""They have failed: rows between two ticks on which a joint speeds up more than it may."""


@pytest.mark.parametrize("seed", [*range(40), *KEPT])
def test_whatever_comes_setpoints_keep_their_limits_and_each_goal_has_one_result(seed: int) -> None:
    assert pursuits.broken(pursuits.account_of(seed)) == []


@pytest.fixture(scope="module")
def sound() -> pursuits.Account:
    """Return an account of a sequence in which joints move far, of no mimic joint."""
    account = pursuits.account_of(1)
    assert pursuits.broken(account) == []
    return account


def changed(account: pursuits.Account, at: int, by: float) -> pursuits.Account:
    """Return an account whose first joint is elsewhere from a place of its way on, which is from 0 to 1."""
    setpoints = account.setpoints.copy()
    moving = np.flatnonzero(account.states == FOLLOWING)
    setpoints[moving[len(moving) * at // 10] :, 0] += by
    return replace(account, setpoints=setpoints)


def test_a_setpoint_beyond_a_limit_a_jump_and_a_kink_are_found_out(sound: pursuits.Account) -> None:
    limits, h = sound.limits, sound.period_s
    assert any("beyond a limit" in problem for problem in pursuits.broken(changed(sound, 5, 9.0)))
    jump = pursuits.broken(changed(sound, 5, 2.1 * limits.velocity[0] * h))
    assert any("a velocity is" in problem for problem in jump)
    kink = pursuits.broken(changed(sound, 5, 2.1 * limits.acceleration[0] * h**2))
    assert any("an acceleration is" in problem for problem in kink)


def test_a_setpoint_after_the_end_and_a_second_result_are_found_out(sound: pursuits.Account) -> None:
    setpoints = sound.setpoints.copy()
    setpoints[-1, 0] += 1e-12
    assert pursuits.broken(replace(sound, setpoints=setpoints)) == ["a setpoint moved after its end"]
    twice = pursuits.broken(replace(sound, ended=[*sound.ended, sound.ended[-1]]))
    assert twice == [f"follow-1 has the results {[sound.ended[-1].code] * 2}"]
    assert pursuits.broken(replace(sound, ended=[])) == ["follow-1 has the results []"]


def test_a_generator_that_trusts_ruckig_alone_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OnlineGenerator, "_unsafe", lambda *_: [])
    assert any(pursuits.broken(pursuits.account_of(seed)) for seed in range(40))
