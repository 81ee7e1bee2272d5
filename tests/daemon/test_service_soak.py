"""What `make soak-service` judges by, so that what must not be is found."""

from __future__ import annotations

import pytest

from soak.judge import fits, slope_mb_per_hour


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
