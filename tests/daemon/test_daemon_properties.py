"""What holds of a daemon's whole life, whatever is asked for and goes wrong, in whatever order.

`tests.daemon.daemon_acts` makes the lives, `tests.daemon.daemon_engine` lives them, and
`tests.daemon.daemon_invariants` judges; `make soak` lives a million steps. Seeds that once failed are kept in
`tests/files/seeds/daemon.txt`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.robots.session.robot_session import RobotSession
from tests.daemon.daemon_acts import life
from tests.daemon.daemon_engine import account_of
from tests.daemon.daemon_invariants import broken

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

KEPT = Path(__file__).parent.parent / "files" / "seeds" / "daemon.txt"
LIVES = 8
MOST = 30
"""Lives, from one that finds a defect today, in which it is to be found."""


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_stop_holds_and_goals_end_once_and_truly_whatever_happens(seed: int) -> None:
    assert broken(account_of(life(seed))) == []


@pytest.mark.parametrize("seed", [int(line.split()[0]) for line in KEPT.read_text().splitlines()])
def test_a_life_that_once_failed_goes_well(seed: int) -> None:
    assert broken(account_of(life(seed))) == []


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
