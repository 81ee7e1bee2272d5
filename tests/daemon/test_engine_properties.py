"""What holds of every setpoint and every goal, whatever is played, asked for and goes wrong, at any tick.

`tests.daemon.sequences` makes the sequences, `tests.daemon.invariants` says what holds; `make soak-engine`
plays a hundred thousand more. Seeds that once failed are kept in `tests/files/seeds/engine.txt`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from motiond.daemon.ipc.states import State
from motiond.daemon.planning import approach
from motiond.daemon.robots.session import goal_planner
from motiond.daemon.trajectory.beyond import FAR_OUTSIDE
from tests.daemon.engine import account_of
from tests.daemon.invariants import broken
from tests.daemon.sequences import Act, sequence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.daemon.trajectory.track import Track
    from motiond.formats.arrays import Floats
    from tests.daemon.sequences import Sequence

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parent.parent / "files" / "seeds" / "engine.txt"
ANY = settings(
    database=None,
    derandomize=True,  # `make soak-engine` explores; a test says the same of the same engine
    suppress_health_check=list(HealthCheck),
)


def kept_seeds() -> list[int]:
    return [int(line.split()[0]) for line in KEPT.read_text().splitlines() if line.strip()]


@pytest.mark.timeout(900)
@settings(ANY, max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_setpoints_keep_all_limits_and_goals_end_once_whatever_happens(seed: int) -> None:
    note(f"to play it again: .venv/bin/python -m soak --engine {seed}")
    assert broken(account_of(sequence(seed))) == []


@pytest.mark.parametrize("seed", kept_seeds())
def test_a_sequence_that_once_failed_holds(seed: int) -> None:
    assert broken(account_of(sequence(seed))) == []


def test_a_stop_at_any_moment_brings_the_robot_to_rest_within_the_time_that_it_is_said_to_take() -> None:
    chance, moments = np.random.default_rng(1), 0
    for _ in range(1000):
        if moments >= 60:
            break
        seed = int(chance.integers(2**32))
        base = sequence(seed)
        account = account_of(replace(base, acts=tuple(stops_of(sorted(base.plans), chance))))
        assert broken(account) == [], seed
        moments += sum(ended.code == "CANCELED" for handed in account.handed for ended in handed.ended)
    assert moments >= 60


@pytest.fixture
def from_beyond() -> list[int]:
    """The first seeds whose robots come back from far beyond a limit."""
    return [seed for seed in range(150) if is_far_beyond(sequence(seed))]


def is_far_beyond(base: Sequence) -> bool:
    limits, start = base.joint_map.limits, np.array(base.start)
    slack = FAR_OUTSIDE * (limits.upper - limits.lower)
    return bool(((start < limits.lower - slack) | (start > limits.upper + slack)).any())


def test_robots_come_back_from_beyond_where_that_is_asked_for_and_not_otherwise(
    from_beyond: list[int],
) -> None:
    accounts = [account_of(sequence(seed)) for seed in from_beyond]
    ends = [
        (handed.goal.from_beyond, ended.code)
        for account in accounts
        for handed in account.handed[:1]
        for ended in handed.ended
    ]
    assert [line for account in accounts for line in broken(account)] == []
    assert ends.count((True, "SUCCESSFUL")) >= 2
    assert sum(account.acts["goto refused"] for account in accounts) >= 1


@pytest.mark.parametrize(
    ("share", "found"), [(1.0, "from far outside the limits"), (-1.0, "is outside the limits")]
)
def test_a_way_back_that_is_too_fast_or_leads_out_would_be_found(
    from_beyond: list[int], monkeypatch: pytest.MonkeyPatch, share: float, found: str
) -> None:
    planned = approach.plan_approach

    def wrong(start: Floats, target: Floats, *rest: Any, from_beyond: bool, **how: Any) -> Track:
        if share > 0.0:
            monkeypatch.setattr(approach, "FROM_BEYOND", share)
            return planned(start, target, *rest, from_beyond=from_beyond, **how)
        track = planned(start, target, *rest, from_beyond=from_beyond, **how)
        rows = track.positions.copy()
        rows[1:-1] += 1e-3 * np.sign(start - target)
        return replace(track, positions=rows)

    monkeypatch.setattr(goal_planner, "plan_approach", wrong)
    assert any(found in line for seed in from_beyond for line in broken(account_of(sequence(seed))))


def stops_of(motions: list[str], chance: np.random.Generator) -> Iterator[Act]:
    """Play to and fro for ever, and stop, again and again."""
    yield Act(1, "enable")
    for motion in motions * 25:
        asked = {
            "motion": motion,
            "seam": "approach",
            "speed_share": float(chance.choice([-1.0, chance.random()])),
        }
        yield Act(40, "play", asked | {"loop": "forever", "ping_pong": True})
        yield Act(int(chance.integers(1, 50)), "stop")


def test_sequences_reach_every_state_and_most_results() -> None:
    states, codes, acts = set(), Counter[str](), Counter[str]()
    for seed in range(60):
        account = account_of(sequence(seed))
        states |= {after for _, after in account.moves}
        codes.update(ended.code for handed in account.handed for ended in handed.ended)
        acts += account.acts
    assert states == set(State) - {State.OFFLINE}
    often = {"SUCCESSFUL", "CANCELED", "ESTOP", "INVALID_GOAL", "DEADLINE_MISSED", "HARDWARE_FAULT"}
    assert often <= set(codes)
