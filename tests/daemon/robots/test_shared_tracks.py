"""Which motions stay in shared memory, and that no descriptor of another stays open."""

from __future__ import annotations

import gc
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
    from collections.abc import Iterator

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


def open_tracks() -> int:
    links = Path("/proc/self/fd").iterdir()
    return sum(link.is_symlink() and "motiond-track" in str(link.readlink()) for link in links)


def test_a_motion_is_copied_once(tracks: SharedTracks) -> None:
    wave = planned("wave")
    assert tracks.fd(wave) == tracks.fd(wave)
    assert map_shared(tracks.fd(wave)).positions.tobytes() == wave.positions.tobytes()


def test_of_very_many_motions_the_latest_stay_and_one_that_was_planned_again_takes_the_place_of_the_old(
    tracks: SharedTracks,
) -> None:
    gc.collect()  # what earlier tests have left
    before = open_tracks()
    tracks.fd(planned("wave"))
    wave = planned("wave")
    first = tracks.fd(wave)
    assert open_tracks() == before + 1
    for number in range(100):
        tracks.fd(replace(wave, motion=f"wave {number}"))
        assert tracks.fd(wave) == first
    assert open_tracks() == before + MOST
    tracks.keep_only(lambda plan: plan is wave)
    assert open_tracks() == before + 1
    tracks.close()
    assert open_tracks() == before
