"""Which reports of other daemons' robots are passed on, and which robots are reported absent."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import aiomqtt
import numpy as np
import orjson
import pytest

from motiond.daemon.api import SUBJECTS, Report, ReportHub
from motiond.daemon.fleet.gateway.remote_reports import RemoteReports
from motiond.daemon.mqtt.topics import Topics
from tests.daemon import answers

NOON, STAMP = datetime(2026, 11, 22, 12, 30, tzinfo=UTC), "2026-11-22T12:30:00.000Z"
LAST_UTC = answers.state()["stamp_utc"]
SIDE = {"position": [1.0, None], "velocity": [2.0, 3.0], "effort": [None, None]}
SAMPLE = {"stamp_s": 1.5, "frame": 2.5, "reference": SIDE, "feedback": SIDE, "error": SIDE}


class Broker:
    """Delivers messages, as a broker does, to the reports under test."""

    def __init__(self, **bounds: int) -> None:
        self.hub = ReportHub()
        self.reports = RemoteReports(Topics("motiond"), self.hub, now=lambda: NOON, **bounds)

    def deliver(self, topic: str, data: Any, *, retained: bool = False) -> None:
        payload = data if isinstance(data, bytes) else orjson.dumps(data)
        message = aiomqtt.Message(f"motiond/{topic}", payload, 0, retained, 0, None)
        self.reports.take(message)

    def daemon(self, state: str, daemon: str = "d1", *, retained: bool = False) -> None:
        self.deliver(f"bridge/{daemon}/availability", {"state": state, "host": "bench"}, retained=retained)

    def robot(self, name: str, daemon: str = "d1", *, retained: bool = True) -> None:
        self.deliver(f"{name}/availability", {"state": "online", "bridge": daemon}, retained=retained)
        self.deliver(f"{name}/state", answers.state("playing", motion="wave"), retained=retained)

    def latest(self, name: str, subject: str = "availability") -> dict[str, Any] | None:
        known = (one.data for one in self.hub.latest() if (one.robot, one.subject) == (name, subject))
        return next(known, None)


@pytest.fixture
def broker() -> Broker:
    return with_left()


def with_left(**bounds: int) -> Broker:
    """Return a broker that knows of one robot."""
    broker = Broker(**bounds)
    broker.daemon("online", retained=True)
    broker.robot("left")
    return broker


def absent(absence: str, since_utc: str | None, bridge: str | None = "d1") -> dict[str, Any]:
    host = None if bridge is None else "bench"
    return {
        "state": "offline",
        "bridge": bridge,
        "host": host,
        "absence": absence,
        "since_utc": since_utc,
    }


HERE = {"state": "online", "bridge": "d1", "host": "bench", "absence": "", "since_utc": None}
CRASHED = "its daemon 'd1' has crashed, or has lost the broker"


def test_a_robot_comes_with_its_daemon_and_its_machine(broker: Broker) -> None:
    assert broker.reports.robots == ("left",)
    assert broker.latest("left") == HERE
    assert broker.latest("left", "state") == answers.state("playing", motion="wave")


def test_a_daemon_that_crashes_makes_its_robots_absent_since_then(broker: Broker) -> None:
    broker.robot("right", "d2")
    broker.daemon("online", "d2")
    broker.daemon("broken")
    assert broker.latest("left") == absent(CRASHED, STAMP)
    assert broker.latest("right") == {**HERE, "bridge": "d2"}
    broker.deliver("left/state", answers.state("offline"))
    assert broker.latest("left") == absent(CRASHED, STAMP)
    broker.daemon("online")
    assert broker.latest("left") == HERE


def test_one_that_was_absent_before_is_absent_since_its_last_state() -> None:
    broker = Broker()
    broker.deliver("left/availability", {"state": "online", "bridge": "d1"}, retained=True)
    broker.daemon("broken", retained=True)
    assert broker.latest("left") == absent(CRASHED, None)
    broker.deliver("left/state", answers.state("playing"), retained=True)
    assert broker.latest("left") == absent(CRASHED, LAST_UTC)


def test_a_robot_that_is_forgotten_is_there_no_more(broker: Broker) -> None:
    broker.deliver("left/availability", b"")
    assert (broker.reports.robots, broker.hub.latest()) == ((), [])
    for subject in ("description", "state"):
        broker.deliver(f"left/{subject}", b"")
    broker.deliver("left/diagnostics", {"ticks": 1})
    assert broker.reports.robots == ()


def test_a_robot_that_a_new_broker_does_not_know_is_absent_and_then_removed(broker: Broker) -> None:
    broker.robot("right")
    broker.reports.begin()
    assert broker.latest("left") == HERE  # it may come in a moment
    broker.daemon("online", retained=True)
    broker.robot("right")
    broker.reports.settle()
    assert broker.latest("left") == absent("no daemon reports it", LAST_UTC, bridge=None)
    assert broker.latest("right") == HERE
    broker.reports.drop_unseen()
    assert broker.reports.robots == ("right",)


def test_a_daemon_that_a_new_broker_does_not_know_is_absent(broker: Broker) -> None:
    broker.reports.begin()
    broker.robot("left")
    broker.reports.settle()
    assert broker.latest("left") == absent("its daemon 'd1' is offline", LAST_UTC) | {"host": None}
    assert broker.reports.is_deserted


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("left/state", b"{"),
        ("left/state", b"[]"),
        ("left/state", b'{"state": 3}'),
        ("left/state", b'{"state": "idle", "message": "' + b"x" * 1_000_000 + b'"}'),
        ("left/description", b'{"joints": null}'),
        ("left/motions", b'{"motions": [{"ok": true}]}'),
        ("left/unheard_of", b"{}"),
        ("left/telemetry", b'{"stamp_s": 1}'),
        ("bridge/state", b'{"state": "idle"}'),
        ("no name/state", b'{"state": "idle"}'),
        ("new/diagnostics", b"{}"),
    ],
)
def test_invalid_messages_are_ignored(broker: Broker, topic: str, payload: bytes) -> None:
    with broker.hub.subscribe(SUBJECTS | {"samples"}) as reports:
        broker.deliver(topic, payload)
        assert reports.is_empty
    assert broker.reports.robots == ("left",)


def test_strangers_cannot_fill_the_memory_with_robots(caplog: pytest.LogCaptureFixture) -> None:
    broker = with_left(most_robots=2)
    for name in ("b", "c", "d"):
        broker.robot(name)
    assert broker.reports.robots == ("b", "left")
    hint = "`motiond forget` clears those that are gone"
    assert caplog.messages == [f"c: more than 2 robots; others are not shown; {hint}"]


def test_strangers_cannot_fill_the_memory_with_reports(caplog: pytest.LogCaptureFixture) -> None:
    broker = with_left(most_bytes_in_all=3_000_000)
    large = {"state": "idle", "message": "x" * 900_000}
    for name in ("a", "b", "c", "d"):
        broker.deliver(f"{name}/state", large)
        broker.deliver(f"{name}/state", large)  # in place of the one before
    assert [name for name in ("a", "b", "c", "d") if broker.latest(name, "state")] == ["a", "b", "c"]
    hint = "`motiond forget` clears those that are gone"
    assert caplog.messages == [f"d: more than 3 MB of reports; others are not shown; {hint}"]
    broker.deliver("a/availability", b"")  # forgotten
    broker.deliver("d/state", large)
    assert broker.latest("d", "state") == large


def test_a_report_of_a_daemon_that_is_too_long_is_ignored(broker: Broker) -> None:
    broker.deliver("bridge/d2/availability", {"state": "online", "host": "h" * 20_000})
    assert set(broker.reports.roster.daemons) == {"d1"}


def test_telemetry_becomes_a_sample_where_a_client_subscribes(broker: Broker) -> None:
    broker.deliver("left/telemetry", SAMPLE)
    with broker.hub.subscribe(frozenset({"samples"})) as reports:
        broker.deliver("left/telemetry", SAMPLE)
        sample = reports.get_now()
        broker.deliver("left/telemetry", {**SAMPLE, "feedback": {**SIDE, "effort": [1.0]}})
        assert reports.get_now() is None
    assert isinstance(sample, Report)
    assert (sample.data["stamp_s"], sample.data["frame"]) == (1.5, 2.5)
    np.testing.assert_array_equal(sample.data["reference"]["position"], [1.0, np.nan])


def test_states_that_only_move_on_replace_each_other_for_a_slow_listener(broker: Broker) -> None:
    with broker.hub.subscribe() as reports:
        for progress in (0.1, 0.2, 0.3):
            broker.deliver("left/state", answers.state("playing", motion="wave", progress=progress))
        broker.deliver("left/state", answers.state("idle"))
        states = []
        while report := reports.get_now():
            states.append((report.data["state"], report.data.get("progress")))
    assert states == [("playing", 0.3), ("idle", None)]
