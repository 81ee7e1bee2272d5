"""What `make soak-service` judges by, so that what must not be is found."""

from __future__ import annotations

import pytest

from bench.cyclictest import parse
from soak.judge import Counts, Goals, fits, slope_mb_per_hour

TWO_THREADS = """\
# Histogram
000010 000100\t000200
000999 000000\t000001
005000 000002\t000000
012000 000000\t000001
# Total: 000000102 000000202
# Min Latencies: 00010 00010
# Max Latencies: 05000 250000
# Histogram Overflows: 00000 00001
"""


@pytest.mark.parametrize(
    ("heard", "ended_s", "counts"),
    [
        (["a", "b"], {"a": 1.0, "b": 2.0}, Counts(lost=0, twice=0, unasked=0, in_its_hands=0)),
        (["a"], {"a": 1.0, "b": 2.0}, Counts(lost=1, twice=0, unasked=0, in_its_hands=0)),
        (["a"], {"a": 1.0, "b": 9.95}, Counts(lost=0, twice=0, unasked=0, in_its_hands=1)),
        (["a"], {"a": 1.0, "b": 10.05}, Counts(lost=1, twice=0, unasked=0, in_its_hands=0)),
        (["a"], {"a": 1.0}, Counts(lost=1, twice=0, unasked=0, in_its_hands=0)),
        (["a", "b", "b"], {"a": 1.0, "b": 9.95}, Counts(lost=0, twice=1, unasked=0, in_its_hands=0)),
        (["a", "b", "c"], {"a": 1.0, "b": 2.0}, Counts(lost=0, twice=0, unasked=1, in_its_hands=0)),
    ],
    ids=["all", "lost", "in its hands", "after the kill", "never ended", "twice", "unasked"],
)
def test_each_goal_has_one_result(heard: list[str], ended_s: dict[str, float], counts: Counts) -> None:
    goals = Goals(accepted={"a": "arm", "b": "arm"}, ended_s=ended_s)
    assert goals.judged(heard, [10.0]) == counts


def test_goals_without_a_result_are_open() -> None:
    goals = Goals(accepted={"a": "arm", "b": "arm", "c": "left"}, ended_s={"a": 1.0})
    assert (goals.open("arm"), goals.open("left"), goals.open("right")) == (1, 1, 0)


@pytest.mark.parametrize(
    ("kept", "right"),
    [
        ({"state": "idle", "sequence": 5}, True),
        ({"state": "playing", "sequence": 7}, True),
        ({"state": "playing", "sequence": 6}, True),
        ({"state": "idle", "sequence": 4}, False),
        ({"state": "playing", "sequence": 5}, False),
        ({"state": "idle", "sequence": 5, "bridge": "motiond"}, True),
        ({}, False),
    ],
    ids=["before", "after", "between", "of long ago", "another of that number", "what MQTT adds", "nothing"],
)
def test_what_is_kept_is_what_was_known_meanwhile(kept: dict[str, object], right: bool) -> None:  # noqa: FBT001
    before, after = {"state": "idle", "sequence": 5}, {"state": "playing", "sequence": 7}
    assert fits(kept, before, after) is right


def test_memory_grows_by_the_slope_of_what_follows_the_warm_up() -> None:
    warm = [(float(second), 50e6 + 1e6 * second) for second in range(20)]
    steady = [(float(second), 80e6 + 1e3 * second) for second in range(20, 101)]
    slope, growth_mb = slope_mb_per_hour([*warm, *steady], 0.2)
    assert slope == pytest.approx(3.6)
    assert growth_mb == pytest.approx(0.08)


def test_deadlines_of_all_threads_of_cyclictest_count_one_by_one() -> None:
    found = parse(TWO_THREADS)
    assert (found.max_us, found.counts[10], found.counts[100_000]) == (250_000, 300, 1)
    assert found.late_by(0.005) == 4
    assert found.missed(0.005) == 2 + 2 + 20
