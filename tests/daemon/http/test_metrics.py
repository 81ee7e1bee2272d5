"""What Prometheus is told: sums of what robots report, by labels that nothing from outside adds to."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from motiond.daemon.api import Report, ReportHub
from motiond.daemon.config.robot import JointSettings
from motiond.daemon.http.metrics.route import KIND
from motiond.daemon.ipc.ring import COLUMN, SCALARS
from motiond.daemon.ipc.states import ResultCode, State
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.telemetry.timing import Timing
from tests.daemon.clock.clocks import ADRIFT, HandedClock
from tests.daemon.http.conftest import serving

if TYPE_CHECKING:
    from motiond.daemon.config.http import HttpSettings
    from tests.daemon.conftest import Robots
    from tests.daemon.http.conftest import Site

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


async def scrape(site: Site, **options: Any) -> Samples:
    """Give every sample by its name and labels."""
    async with site.session.get(f"{site.url}/metrics", **options) as response:
        text = await response.text()
        assert (response.status, response.headers["Content-Type"]) == (200, KIND), text
    families = text_string_to_metric_families(text)
    return {
        (one.name, frozenset(one.labels.items())): one.value for family in families for one in family.samples
    }


def of(samples: Samples, name: str, **labels: str) -> float | None:
    return samples.get((name, frozenset(labels.items())))


def second(*lateness_s: float, missed: int = 0, **totals: Any) -> dict[str, Any]:
    """Give the diagnostics of ticks that were so late."""
    timing = Timing()
    records = np.zeros((len(lateness_s), len(SCALARS)))
    records[:, COLUMN["lateness_s"]] = lateness_s
    timing.add(records, missed, missed)
    return timing.payload() | {
        "missed_deadlines_total": missed,
        "driver_errors": 0,
        "temperature_c": np.array([31.5, np.nan]),
        "voltage_v": np.array([np.nan, 24.0]),
        "records_lost": 0,
    } | totals  # fmt: skip


def tell(site: Site, subject: Any, data: dict[str, Any], robot: str = "arm") -> None:
    site.hub.publish(Report(robot, subject, data))


async def counted(site: Site, name: str, value: float, **labels: str) -> Samples:
    """Scrape until a sample has come to a value."""
    async with asyncio.timeout(60.0):
        while of(samples := await scrape(site), name, **labels) != value:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    return samples


async def test_seconds_add_up_to_a_cumulative_histogram_and_totals(site: Site) -> None:
    tell(site, "diagnostics", second(8e-6, 30e-6, 0.2, missed=2))
    tell(site, "diagnostics", second(8e-6, 0.004, missed=1))
    samples = await counted(site, "motiond_stream_ticks_total", 5.0, robot="arm")
    bounds = {
        dict(labels)["le"]: value
        for (name, labels), value in samples.items()
        if name == "motiond_stream_lateness_seconds_bucket"
    }
    assert bounds == {
        "1e-05": 2.0, "2e-05": 2.0, "5e-05": 3.0, "0.0001": 3.0, "0.0002": 3.0, "0.0005": 3.0, "0.001": 3.0,
        "0.002": 3.0, "0.005": 4.0, "0.01": 4.0, "0.02": 4.0, "0.05": 4.0, "0.1": 4.0, "+Inf": 5.0,
    }  # fmt: skip
    assert of(samples, "motiond_stream_lateness_seconds_count", robot="arm") == 5.0
    assert of(samples, "motiond_stream_lateness_seconds_sum", robot="arm") == pytest.approx(
        0.204046, abs=2e-6
    )
    assert of(samples, "motiond_stream_missed_deadlines_total", robot="arm") == 3.0
    assert of(samples, "motiond_stream_skipped_rows_total", robot="arm") == 3.0


async def test_totals_go_on_where_a_new_stream_process_begins_anew(site: Site) -> None:
    tell(site, "diagnostics", second(0.0, driver_errors=4, records_lost=10))
    tell(site, "diagnostics", second(0.0, driver_errors=5, records_lost=10))
    tell(site, "diagnostics", second(0.0, driver_errors=2, records_lost=0))  # began anew unnoticed
    tell(site, "availability", {"state": "offline"})
    tell(site, "diagnostics", second(0.0, driver_errors=3, records_lost=12))
    samples = await counted(site, "motiond_stream_ticks_total", 4.0, robot="arm")
    assert of(samples, "motiond_driver_errors_total", robot="arm") == 5 + 2 + 3
    assert of(samples, "motiond_stream_records_lost_total", robot="arm") == 10 + 12


async def test_every_code_is_there_from_the_start_and_counts_its_results(site: Site) -> None:
    for code in ("SUCCESSFUL", "ESTOP", "SUCCESSFUL"):
        tell(site, "result", {"code": code})
    samples = await counted(site, "motiond_results_total", 2.0, robot="arm", code="SUCCESSFUL")
    counts = {code: of(samples, "motiond_results_total", robot="arm", code=code) for code in ResultCode}
    assert counts == dict.fromkeys(ResultCode, 0.0) | {"SUCCESSFUL": 2.0, "ESTOP": 1.0}
    assert of(samples, "motiond_results_total", robot="hand", code="SUCCESSFUL") == 0.0


async def test_nothing_that_is_reported_makes_another_series(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    before = await scrape(site)
    tell(site, "result", {"code": "HAPPY"})
    tell(site, "result", {"code": "SUCCESSFUL"}, robot="stranger")
    tell(site, "state", {"state": "asleep"}, robot="stranger")
    tell(site, "result", {"code": "SUCCESSFUL"})
    after = await counted(site, "motiond_results_total", 1.0, robot="arm", code="SUCCESSFUL")
    assert set(after) == set(before)
    assert [record.getMessage() for record in caplog.records] == ["arm: result could not be counted"]


async def test_temperatures_and_voltages_are_by_joint_and_only_where_there_are_any(
    settings: HttpSettings, robots: Robots, hub: ReportHub
) -> None:
    joints = {name: JointSettings() for name in ("shoulder", "elbow")}
    models = {"arm": (None, build_joint_map("arm", None, joints))}
    async with serving(settings, robots, hub, models) as site:
        tell(site, "diagnostics", second(0.0))
        samples = await counted(site, "motiond_stream_ticks_total", 1.0, robot="arm")
        by_joint = {key: value for key, value in samples.items() if key[0].startswith("motiond_joint_")}
        assert by_joint == {
            ("motiond_joint_temperature_celsius", frozenset({("robot", "arm"), ("joint", "shoulder")})): 31.5,
            ("motiond_joint_voltage_volts", frozenset({("robot", "arm"), ("joint", "elbow")})): 24.0,
        }
        tell(site, "availability", {"state": "offline"})
        await counted(site, "motiond_robot_online", 0.0, robot="arm")
        gone = await scrape(site)
        assert not [name for name, _ in gone if name.startswith("motiond_joint_")]


async def test_errors_of_servos_are_by_joint_and_kind_and_stay_when_the_robot_goes_off_line(
    settings: HttpSettings, robots: Robots, hub: ReportHub
) -> None:
    models = {
        "arm": (None, build_joint_map("arm", None, {"shoulder": JointSettings(), "elbow": JointSettings()}))
    }
    errors = {"missed": [3, 0], "damaged": [2, 0], "reported": [0, 0], "restarts": [0, 1]}
    async with serving(settings, robots, hub, models) as site:
        tell(site, "diagnostics", second(0.0, errors=errors))
        tell(site, "availability", {"state": "offline"})
        tell(site, "result", {"code": "SUCCESSFUL"})
        samples = await counted(site, "motiond_results_total", 1.0, robot="arm", code="SUCCESSFUL")
        found = {
            tuple(dict(labels)[name] for name in ("joint", "kind")): value
            for (name, labels), value in samples.items()
            if name == "motiond_servo_errors_total"
        }
    assert {key: value for key, value in found.items() if value} == {
        ("shoulder", "missed"): 3.0,
        ("shoulder", "damaged"): 2.0,
        ("elbow", "restarts"): 1.0,
    }
    assert len(found) == 8


async def test_it_tells_what_robots_do_whether_the_broker_is_there_and_how_many_watch(site: Site) -> None:
    tell(site, "state", {"state": "playing"})
    tell(site, "availability", {"state": "offline"}, robot="hand")
    site.broker_is_connected.clear()
    samples = await scrape(site)
    for state in State:
        assert of(samples, "motiond_robot_state", robot="arm", state=state) == float(state == "playing")
    online = [of(samples, "motiond_robot_online", robot=robot) for robot in ("arm", "hand")]
    assert online == [1.0, 0.0]
    assert of(samples, "motiond_broker_connected") == of(samples, "motiond_http_clients") == 0.0
    site.broker_is_connected.set()
    async with site.live():
        samples = await scrape(site)
    assert of(samples, "motiond_broker_connected") == of(samples, "motiond_http_clients") == 1.0


async def test_it_tells_how_good_the_clock_is_and_no_error_that_nobody_knows(
    settings: HttpSettings, robots: Robots, hub: ReportHub
) -> None:
    clock = HandedClock()
    async with serving(settings, robots, hub, clock=clock.payload) as site:
        known = await scrape(site)
        clock.kernel = ADRIFT
        unknown = await scrape(site)
    names = ("synchronised", "estimated_error_seconds", "max_error_seconds")
    assert [of(known, f"motiond_clock_{name}") for name in names] == [1.0, 0.0002, 0.004]
    assert [of(unknown, f"motiond_clock_{name}") for name in names] == [0.0, None, None]


async def test_what_is_reported_before_the_page_is_loaded_counts(
    settings: HttpSettings, robots: Robots, hub: ReportHub
) -> None:
    async def robots_come_on_line() -> None:
        await asyncio.sleep(0.5)
        hub.publish(Report("arm", "result", {"code": "SUCCESSFUL"}))

    async with serving(settings, robots, hub, until_ready=robots_come_on_line) as site:
        samples = await scrape(site)
    assert of(samples, "motiond_results_total", robot="arm", code="SUCCESSFUL") == 1.0


async def test_every_metric_has_its_row_on_the_page(site: Site) -> None:
    page = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(motiond_\w+)` \| (\w+) \|", page, re.MULTILINE))
    async with site.session.get(f"{site.url}/metrics") as response:
        families = dict(re.findall(r"^# TYPE (motiond_\w+) (\w+)$", await response.text(), re.MULTILINE))
    assert len(families) > 10
    assert told == families
