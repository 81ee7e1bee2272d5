"""Random plays, beside each other and added: no sum breaks a limit, and each goal has one result."""

from __future__ import annotations

import pytest

from tests.daemon.layered_lives import live


@pytest.mark.parametrize("seed", range(12))
def test_the_sum_of_all_that_plays_keeps_every_limit(seed: int) -> None:
    lived = live(seed)
    assert lived.problems == [], dict(lived.done)


def test_these_lives_add_motions_and_play_them_beside_others() -> None:
    done = sum((live(seed).done for seed in range(4)), live(4).done)
    assert done["add accepted"] > 2
    assert done["beside accepted"] > 2
