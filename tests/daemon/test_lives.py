"""What holds of a daemon's whole life, whatever is played, asked for and goes wrong, in whatever order.

`tests.daemon.lives` makes the lives, `tests.daemon.engine` lives them, and `tests.daemon.invariants` judges;
`make soak` lives a million steps. Seeds that once failed are kept in `tests/files/seeds/lives.txt`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc.states import ACTIVE, State
from motiond.daemon.planning import approach
from motiond.daemon.planning import blend as planned_blend
from motiond.daemon.robots.session import goal_planner
from motiond.daemon.robots.session.goal import MotionGoal
from motiond.daemon.robots.session.robot_session import RobotSession
from motiond.daemon.trajectory.beyond import FAR_OUTSIDE
from motiond.daemon.trajectory.online import OnlineGenerator
from tests.daemon.engine import Account, account_of
from tests.daemon.invariants import broken
from tests.daemon.lives import TO_A_CHANGE, Act, Life, chains, follows, foreseen_chains, life, mixed_chains

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from motiond.daemon.trajectory.track import Track
    from motiond.formats.arrays import Floats

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parent.parent / "files" / "seeds" / "lives.txt"
LIVES = 20
MOST = 30
"""Lives, from one that finds a defect today, in which it is to be found."""


@cache
def lived(seed: int) -> Account:
    return account_of(life(seed))


@cache
def chained(seed: int) -> Account:
    return account_of(chains(seed))


@cache
def chained_at_two_rates(seed: int) -> Account:
    return account_of(mixed_chains(seed))


@cache
def chained_as_foreseen(seed: int) -> Account:
    return account_of(foreseen_chains(seed))


@cache
def followed(seed: int) -> Account:
    return account_of(follows(seed))


@pytest.mark.parametrize("seed", range(LIVES))
def test_setpoints_keep_all_limits_a_stop_holds_and_goals_end_once_and_truly(seed: int) -> None:
    assert broken(lived(seed)) == []


@pytest.mark.parametrize("seed", [int(line.split()[0]) for line in KEPT.read_text().splitlines()])
def test_a_life_that_once_failed_goes_well(seed: int) -> None:
    assert broken(account_of(life(seed))) == []
    assert broken(account_of(chains(seed))) == []
    assert broken(account_of(mixed_chains(seed))) == []
    assert broken(account_of(foreseen_chains(seed))) == []
    assert broken(account_of(follows(seed))) == []


@pytest.mark.parametrize("seed", range(LIVES))
def test_motions_that_flow_into_each_other_keep_all_limits_and_end_once(seed: int) -> None:
    assert broken(chained(seed)) == []


@pytest.mark.parametrize("seed", range(LIVES))
def test_motions_of_two_rates_that_flow_into_each_other_keep_all_limits_and_end_once(seed: int) -> None:
    assert broken(chained_at_two_rates(seed)) == []


@pytest.mark.parametrize("seed", range(LIVES))
def test_motions_that_take_over_where_that_was_foreseen_keep_all_limits_and_end_once(seed: int) -> None:
    assert broken(chained_as_foreseen(seed)) == []


def test_motions_take_over_where_that_was_foreseen_and_are_kept_from_it() -> None:
    acts = sum((chained_as_foreseen(seed).acts for seed in range(LIVES)), Counter())
    assert 20 < acts["taken over"] < acts["looked at"]


@pytest.mark.parametrize(("live", "least"), [(chained, 4), (chained_at_two_rates, 3)])
def test_chains_flow_are_dropped_and_are_ended_before_they_begin(
    live: Callable[[int], Account], least: int
) -> None:
    accounts = [live(seed) for seed in range(LIVES)]
    results = [data for account in accounts for _, data in account.results]
    assert sum("flowed_into" in data["details"] for data in results) >= least
    assert {"bow", "sway"} <= {data["motion"] for data in results}
    assert sum(account.acts["taken over"] for account in accounts) > 10
    assert sum(account.acts["chained"] for account in accounts) > 10


@pytest.mark.parametrize("seed", range(LIVES))
def test_what_follows_targets_keeps_all_limits_and_ends_once(seed: int) -> None:
    assert broken(followed(seed)) == []


def test_follows_end_in_every_way() -> None:
    results = [data for seed in range(LIVES) for _, data in followed(seed).results]
    ways = {
        (data["code"], "no target came" in data["message"]) for data in results if data["motion"] == "follow"
    }
    assert {("SUCCESSFUL", False), ("CANCELED", True), ("CANCELED", False), ("ESTOP", False)} <= ways


def test_a_follow_that_takes_targets_for_setpoints_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def jump(generator: OnlineGenerator, _now_s: float = 0.0) -> None:
        np.copyto(generator.position, generator.target, where=np.isfinite(generator.target))

    monkeypatch.setattr(OnlineGenerator, "step", jump)
    lines = [line for seed in range(LIVES) for line in broken(account_of(follows(seed)))]
    assert any("step" in line for line in lines)
    assert any("velocity changed by" in line for line in lines)


def test_a_blend_that_was_not_checked_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planned_blend._Planner, "problem", lambda *_: "")
    lines = [line for seed in range(MOST) for line in broken(account_of(chains(seed)))]
    assert any("velocity changed by" in line or "step" in line for line in lines)


def test_lives_reach_every_state_and_most_results() -> None:
    accounts = [live(seed) for seed in range(LIVES) for live in (lived, followed)]
    codes = Counter(data["code"] for account in accounts for _, data in account.results)
    assert {after for account in accounts for _, after in account.moves} == set(State) - {State.OFFLINE}
    assert {"SUCCESSFUL", "CANCELED", "ESTOP", "PREEMPTED", "COMM_LOST"} <= set(codes)


# -- what would be found ------------------------------------------------------------------------------------


def _keeps_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RobotSession, "clear_queue", lambda *_: [])


def _begins_after_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RobotSession, "_cancel_begin", lambda _: None)


FINDING = "begins after the"
DEFECTS = {
    "what waits is kept by a stop": (_keeps_what_waits, 28),
    "what is to begin begins after a stop": (_begins_after_a_stop, 22),
}


@pytest.mark.parametrize(("defect", "first"), DEFECTS.values(), ids=DEFECTS)
def test_a_session_that_does_not_obey_a_stop_would_be_found(
    defect: Callable[[pytest.MonkeyPatch], None], first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    defect(monkeypatch)
    seeds = range(first, first + MOST)
    assert any(FINDING in line for seed in seeds for line in broken(account_of(life(seed))))


# -- stops at any moment ------------------------------------------------------------------------------------


def playable() -> Iterator[Life]:
    """Yield robots that have a motion and do nothing by themselves."""
    for seed in count():
        base = life(seed)
        if base.plans and not base.settings.lease.required and base.settings.on_end == "hold":
            yield base


def test_a_stop_at_any_moment_brings_the_robot_to_rest_within_the_time_that_it_is_said_to_take() -> None:
    chance, moments = np.random.default_rng(1), 0
    for base in islice(playable(), 3):
        account = account_of(replace(base, acts=tuple(stops_of(sorted(base.plans), chance))))
        assert broken(account) == []
        moments += sum(data["code"] == "CANCELED" for _, data in account.results)
    assert moments >= 60


ENDLESS = {"seam": "approach", "loop": "forever", "ping_pong": True, "on_busy": "reject"}


def stops_of(motions: list[str], chance: np.random.Generator) -> Iterator[Act]:
    """Play to and fro for ever, and stop, again and again."""
    for motion in motions * 12:
        share = float(chance.choice([-1.0, chance.random()]))
        yield Act(60, "play", ENDLESS | {"motion": motion, "speed_share": share})
        yield Act(int(chance.integers(1, 70)), "stop")


# -- from far beyond a limit --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def from_beyond() -> list[int]:
    """The first seeds whose robots come back from far beyond a limit."""
    return [seed for seed in range(100) if is_far_beyond(life(seed))]


def is_far_beyond(base: Life) -> bool:
    limits, start = base.joint_map.limits, np.array(base.start)
    slack = FAR_OUTSIDE * (limits.upper - limits.lower)
    return bool(((start < limits.lower - slack) | (start > limits.upper + slack)).any())


def test_robots_come_back_from_beyond_where_that_is_asked_for_and_not_otherwise(
    from_beyond: list[int],
) -> None:
    accounts = [account_of(life(seed)) for seed in from_beyond]
    assert [line for account in accounts for line in broken(account)] == []
    ways = [handed for account in accounts for handed in account.handed[:1] if handed.goal.motion == "goto"]
    assert {isinstance(one.goal, MotionGoal) and one.goal.from_beyond for one in ways} == {True}
    assert sum(ended.code == "SUCCESSFUL" for handed in ways for ended in handed.ended) >= 2


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
    assert any(found in line for seed in from_beyond for line in broken(account_of(life(seed))))


# -- somebody pulls a plug ----------------------------------------------------------------------------------

PLAYED = Act(TO_A_CHANGE, "play")
MOMENTS: dict[str, tuple[list[Act], int]] = {
    "on the approach": ([PLAYED], TO_A_CHANGE),
    "in full swing": ([PLAYED], 60),
    "on the way to a pause": ([PLAYED, Act(50, "pause")], 2),
    "in a pause": ([PLAYED, Act(50, "pause")], 60),
    "on the way from a pause": ([PLAYED, Act(50, "pause"), Act(60, "resume")], 2),
    "on the way to another place": ([PLAYED, Act(50, "seek", {"share": 0.5})], 30),
    "on the way to rest": ([PLAYED, Act(50, "stop")], 2),
    "after an emergency stop": ([PLAYED, Act(50, "estop")], 2),
}
PLUGS: dict[str, tuple[Act, set[str]]] = {
    "the daemon is killed": (Act(0, "daemon_dies"), {"COMM_LOST"}),
    "the daemon hangs": (Act(0, "daemon_hangs", {"for_s": 1.0}), {"CANCELED"}),
    "the stream process is killed": (Act(0, "kill"), {"COMM_LOST"}),
    "it is stopped for a moment": (Act(0, "late", {"periods": 5.5}), {"CANCELED", "DEADLINE_MISSED"}),
    "it is stopped for long": (Act(0, "too_late", {"late_s": 2.0}), {"COMM_LOST"}),
    "the bus is lost in a setpoint": (Act(0, "bus_is_lost", {"during": "write"}), {"COMM_LOST"}),
    "a servo fails": (Act(0, "driver_fails", {"during": "read"}), {"HARDWARE_FAULT"}),
}
KILLED = {"the stream process is killed", "it is stopped for long"}
ENDED = {"on the way to rest": {"CANCELED"}, "after an emergency stop": {"ESTOP"}}
ROBOTS = list(islice(playable(), len(MOMENTS)))


@pytest.mark.parametrize("plug", PLUGS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_no_setpoint_jumps_and_each_goal_ends_once_when_a_plug_is_pulled(moment: str, plug: str) -> None:
    base = ROBOTS[(list(MOMENTS).index(moment) + list(PLUGS).index(plug)) % len(ROBOTS)]
    asked = ENDLESS | {"motion": min(base.plans), "speed_share": -1.0}
    before, after = MOMENTS[moment]
    acts = [replace(act, values=asked) if act.verb == "play" else act for act in before]
    pulled, codes = PLUGS[plug]
    acts = [Act(1, "enable"), *acts, replace(pulled, after=after), Act(600, "status")]
    settings = base.settings.model_copy(update={"daemon_timeout_s": 0.3})
    account = account_of(replace(base, settings=settings, acts=tuple(acts), rests_first=True))
    assert broken(account) == []
    ended_s, result = account.results[0]
    assert result["code"] in codes | ENDED.get(moment, set())
    last_stop = next(asked for asked in reversed(account.asked) if asked.verb == "stop")
    assert ended_s < last_stop.at_s or plug == "it is stopped for a moment"
    assert account.moves[-1][1] not in ACTIVE or plug in KILLED
