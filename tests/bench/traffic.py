"""What a robot sends by MQTT, from recorded messages: `python -m tests.bench.traffic` prints tables of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from motiond.daemon.api.reports import LASTING, SUBJECTS
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.heartbeat import beat_s
from motiond.daemon.mqtt.reports_out import qos_of

RECORDED = Path(__file__).with_name("traffic.json")
"""The last message on each topic while the demonstration's arm of six axes plays `wave`."""
GOALS_HZ = 0.1
"""A motion of ten seconds after the other."""
CHANGES = 4
"""Of the state in each: approaching, playing, idle, and one more."""
COUNTS = (10, 1_000, 100_000)
Table = Callable[[], list[str]]


@dataclass(frozen=True, slots=True)
class Message:
    """What is said on a topic, and how often in a second."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    hz: float

    @property
    def wire_bytes(self) -> int:
        """Length of its PUBLISH packet (MQTT 3.1.1)."""
        body = 2 + len(self.topic) + (2 if self.qos else 0) + len(self.payload)
        return 1 + (1 if body < 128 else 2 if body < 16_384 else 3) + body


def recorded() -> dict[str, Any]:
    """Return the payloads that were recorded, by topic."""
    payloads: dict[str, Any] = orjson.loads(RECORDED.read_bytes())
    return payloads


def messages(*, moves: bool, settings: MqttSettings | None = None) -> list[Message]:
    """Return what one robot and its daemon say and are asked, but for what is told once when they start."""
    settings = settings or MqttSettings()
    telemetry_hz = settings.telemetry_hz
    if not moves and settings.idle_telemetry_hz is not None:
        telemetry_hz = settings.idle_telemetry_hz
    goals_hz = GOALS_HZ if moves else 0.0
    often = {
        "heartbeat": 1.0 / beat_s(settings.stop_when_lost_s),
        "telemetry": telemetry_hz,
        "diagnostics": 1.0,
        "state": 1.0 + CHANGES * goals_hz if moves else 0.0,
        "event": goals_hz,
        "result": goals_hz,
        "play": goals_hz,
    }
    told = []
    for topic, payload in recorded().items():
        subject = topic.rpartition("/")[2]
        if often.get(subject):
            qos = qos_of(subject) if subject in SUBJECTS else 0 if subject == "heartbeat" else 1
            lasts = subject in LASTING
            told.append(Message(topic, orjson.dumps(payload), qos, lasts, often[subject]))
    return sorted(told, key=lambda one: -one.hz * one.wire_bytes)


def thin() -> MqttSettings:
    """Return settings of a robot among very many."""
    return MqttSettings(telemetry_hz=1.0, idle_telemetry_hz=0.0, stop_when_lost_s=5.0)


def by_topic() -> list[str]:
    """Return the table of one robot."""
    columns = [
        {one.topic: one for one in told}
        for told in (
            messages(moves=True),
            messages(moves=False),
            messages(moves=True, settings=thin()),
            messages(moves=False, settings=thin()),
        )
    ]
    rows = [
        "| topic | bytes | in motion | at rest | thin, in motion | thin, at rest |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for topic, message in columns[0].items():
        often = " | ".join(f"{column[topic].hz:.3g}" if topic in column else "" for column in columns)
        rows.append(f"| `{topic}` | {message.wire_bytes} | {often} |")
    sums = [(sum(one.hz for one in told.values()), _bytes_s(told.values())) for told in columns]
    rows.append("| messages a second | | " + " | ".join(f"{hz:.1f}" for hz, _ in sums) + " |")
    rows.append("| kB a second | | " + " | ".join(f"{rate / 1e3:.2f}" for _, rate in sums) + " |")
    return rows


def by_count() -> list[str]:
    """Return the table of many robots."""
    rows = [
        "| robots | all in motion | all at rest | thin, all in motion | thin, a tenth in motion |",
        "| --- | --- | --- | --- | --- |",
    ]
    whole, rest = messages(moves=True), messages(moves=False)
    few, least = messages(moves=True, settings=thin()), messages(moves=False, settings=thin())
    for count in COUNTS:
        cells = [_load(count, [(1.0, whole)]), _load(count, [(1.0, rest)]), _load(count, [(1.0, few)])]
        cells.append(_load(count, [(0.1, few), (0.9, least)]))
        rows.append(f"| {count:,} | " + " | ".join(cells) + " |")
    return rows


def _load(count: int, parts: list[tuple[float, list[Message]]]) -> str:
    hz = sum(share * sum(one.hz for one in told) for share, told in parts)
    rate = sum(share * _bytes_s(told) for share, told in parts)
    return f"{_rounded(count * hz)}/s, {_rounded(count * rate / 1e3)} kB/s"


def _rounded(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}" if number >= 10 else f"{number:.2g}"


def _bytes_s(told: Any) -> float:
    return float(sum(one.hz * one.wire_bytes for one in told))


if __name__ == "__main__":
    print("\n".join([*by_topic(), "", *by_count()]))
