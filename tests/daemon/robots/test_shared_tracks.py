"""Which motions stay in shared memory, and that no descriptor of another stays open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from motiond.daemon.planning.planner import plan
from motiond.daemon.robots.session.shared_tracks import MOST, SharedTracks
from motiond.daemon.trajectory.track import map_shared
from motiond.formats import Motion
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from motiond.daemon.planning.planner import Plan

ELBOW = {"elbow": {"limits": {"lower": -2.0, "upper": 2.0, "velocity": 3.0}}}


@pytest.fixture
def tracks() -> Iterator[SharedTracks]:
    tracks = SharedTracks("arm")
    yield tracks
    tracks.close()


def planned(name: str) -> Plan:
    motion = Motion(name, ("elbow",), 100.0, np.arange(10) / 100.0, np.linspace(0.0, 0.1, 10)[:, None])
    return plan(motion, map_of(ELBOW), settings_of(ELBOW), 1000.0)


def _open_tracks() -> int:
    return sum(
        link.is_symlink() and "motiond-track" in str(link.readlink())
        for link in Path("/proc/self/fd").iterdir()
    )


@pytest.fixture
def open_tracks() -> Callable[[], int]:
    """Count what has been opened since; what earlier tests left to the garbage collector does not count."""
    before = _open_tracks()
    return lambda: _open_tracks() - before


def test_a_motion_is_copied_once(tracks: SharedTracks) -> None:
    wave = planned("wave")
    assert tracks.fd(wave) == tracks.fd(wave)
    assert map_shared(tracks.fd(wave)).positions.tobytes() == wave.positions.tobytes()


def test_a_motion_that_was_planned_anew_takes_the_place_of_the_old_one(
    tracks: SharedTracks, open_tracks: Callable[[], int]
) -> None:
    tracks.fd(planned("wave"))
    tracks.fd(planned("wave"))
    assert (len(tracks), open_tracks()) == (1, 1)


def test_of_very_many_motions_the_latest_stay(tracks: SharedTracks, open_tracks: Callable[[], int]) -> None:
    wave = planned("wave")
    first = tracks.fd(wave)
    for number in range(2000):
        tracks.fd(replace(wave, motion=f"wave {number}"))
        assert tracks.fd(wave) == first
    assert (len(tracks), open_tracks()) == (MOST, MOST)


def test_what_can_no_longer_be_played_is_freed(tracks: SharedTracks, open_tracks: Callable[[], int]) -> None:
    wave, nod = planned("wave"), planned("nod")
    tracks.fd(wave)
    tracks.fd(nod)
    tracks.keep_only(lambda plan: plan is nod)
    assert (len(tracks), open_tracks()) == (1, 1)
    tracks.close()
    assert open_tracks() == 0
