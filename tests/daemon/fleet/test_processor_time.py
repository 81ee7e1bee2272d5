"""The processor time of a fleet is told as a plane over robots and rate, and how far it is from one."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.font_manager  # noqa: F401 - where it has no list of fonts yet, it asks a program for one
import numpy as np
import pytest

from bench.__main__ import NAMES, TIMED, TOGETHER, chosen
from bench.fleet_processor import Share, draw, plane_through, table, wakes_hz
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.daemon.stream.timing.schedule import Schedule

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "fleet.md"
COUNTS = [(robots, rate_hz) for robots in (1, 2, 5) for rate_hz in (50, 100, 200)]


def linear(robots: int, rate_hz: int) -> Share:
    """Return 3 % of a core, 2 % for each robot, and 100 µs for each time that its stream wakes."""
    return Share(robots, rate_hz, robots * max(100, rate_hz) * 1e-4, 0.03 + 0.02 * robots, 1.0, 0.01)


def test_what_is_linear_in_robots_and_rate_is_told_exactly() -> None:
    plane = plane_through([linear(*count) for count in COUNTS])
    assert (plane.base, plane.robot, plane.wake_s, plane.r2) == pytest.approx((0.03, 0.02, 1e-4, 1.0))
    assert plane.at(20, 200) == pytest.approx(0.03 + 20 * (0.02 + 0.02))
    assert plane.fitted == pytest.approx([linear(*count).both for count in COUNTS])
    assert plane.off == pytest.approx(0.0)


def test_streams_of_slow_motions_wake_as_often_as_the_schedule_looks() -> None:
    schedule = Schedule(VirtualClock(), 0.01, max_lateness_s=0.1, max_skip_s=0.02)
    for rate_hz in (20, 50, 60, 100, 200):
        schedule.start_grid(1.0 / rate_hz)
        assert wakes_hz(rate_hz) == pytest.approx(rate_hz * schedule.looks)


def test_what_grows_with_the_square_of_the_robots_has_a_residual() -> None:
    bent = [Share(robots, rate_hz, 1e-5 * robots**2 * rate_hz, 0.0, 1.0) for robots, rate_hz in COUNTS]
    plane = plane_through(bent)
    assert plane.r2 < 0.99
    assert np.abs(plane.off).max() > 0.001


def test_figures_that_cannot_tell_the_rate_from_the_robots_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^3 shares: no plane; measure more numbers of robots, or rates$"):
        plane_through([linear(robots, 100) for robots in (1, 2, 5)])


def test_the_table_tells_each_share_beside_the_plane_and_the_largest_residual() -> None:
    shares = [linear(*count) for count in COUNTS]
    shares[-1] = Share(5, 200, 0.16, 0.15, 0.98, 0.25)
    both = plane_through(shares)
    lines, most = table(shares), "largest residual"
    assert lines[0].split() == ["robots", "Hz", "streams", "daemon", "both", "plane", "ticks", "waited"]
    measured = ["5", "200", "16.0%", "15.0%", "31.0%"]
    assert lines[9].split() == [*measured, f"{100 * both.fitted[-1]:.1f}%", "98.0%", "25.0%"]
    assert [line.split("; ") for line in lines[10:13]] == [
        ["streams  -0.8 % + robots · (-0.79 % + 200 µs · rate)", f"{most} -1.6 % (2 at 200 Hz), R² 0.9746"],
        ["daemon   2.7 % + robots · (1.74 % + 33 µs · rate)", f"{most} -0.5 % (2 at 200 Hz), R² 0.9961"],
        ["both     2.0 % + robots · (0.94 % + 233 µs · rate)", f"{most} -2.2 % (2 at 200 Hz), R² 0.9854"],
    ]
    assert lines[13:] == [
        "the rate is how often streams wake: 100 times a second at least, between rows too",
        "linear: R² of both 0.9854 (goal: at least 0.99)",
    ]


def test_the_picture_is_the_same_for_the_same_figures(tmp_path: Path) -> None:
    shares = [linear(*count) for count in COUNTS]
    files = [tmp_path / name for name in ("first.svg", "again.svg", "picture.png")]
    for file in files:
        draw(shares, file)
    first, again, png = (file.read_bytes() for file in files)
    assert first.startswith(b"<?xml")
    assert first == again
    assert png.startswith(b"\x89PNG")


def test_the_picture_of_the_page_is_there() -> None:
    (name,) = re.findall(r"\]\((images/fleet-processor\.\w+)\)", PAGE.read_text(encoding="utf-8"))
    assert (PAGE.parent / name).read_bytes()


def test_fleet_stands_for_all_that_measure_a_fleet() -> None:
    assert chosen(["stop", "fleet"]) == ["stop", "fleet_starts", "stream_start", "fleet_processor"]
    assert chosen([]) == list(NAMES)
    assert set(NAMES) >= TIMED
    assert {one for names in TOGETHER.values() for one in names} <= set(NAMES)
