"""What a robot sends by MQTT, from recorded messages: `python -m bench.traffic` prints tables of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import orjson

from motiond.daemon.api import RETAINED, SUBJECTS
from motiond.daemon.config.mqtt import MqttSettings
from motiond.daemon.mqtt.bridge import beat_s, qos_of

RECORDED = Path(__file__).with_name("traffic.json")
"""The last message on each topic while the demonstration's arm of six axes plays `wave`: `record_traffic`."""
GOALS_HZ = 0.1
"""A motion of ten seconds after the other."""
CHANGES = 4
"""Of the state in each: approaching, playing, idle, and one more."""
COUNTS = (10, 1_000, 100_000)
Doing = Literal["in motion", "at rest"]
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


def messages(doing: Doing, settings: MqttSettings | None = None) -> list[Message]:
    """Return what one robot and its daemon say and are asked, but for what is told once when they start.

    Parameters
    ----------
    doing : {'in motion', 'at rest'}
        Whether it plays one motion after the other, or holds.
    """
    settings = settings or MqttSettings()
    often = {
        "heartbeat": 1.0 / beat_s(settings.stop_when_lost_s),
        "telemetry": settings.telemetry_hz,
        "diagnostics": 1.0,
    }
    if doing == "in motion":
        often |= dict.fromkeys(("event", "result", "play"), GOALS_HZ)
        often["state"] = 1.0 + CHANGES * GOALS_HZ
    elif settings.idle_telemetry_hz is not None:
        often["telemetry"] = settings.idle_telemetry_hz
    told = []
    for topic, payload in recorded().items():
        subject = topic.rpartition("/")[2]
        if often.get(subject):
            qos = qos_of(subject) if subject in SUBJECTS else int(subject != "heartbeat")
            lasts = subject in RETAINED
            told.append(Message(topic, orjson.dumps(payload), qos, lasts, often[subject]))
    return sorted(told, key=_weight)


def _weight(message: Message) -> float:
    return -message.hz * message.wire_bytes


def thin() -> MqttSettings:
    """Return settings of a robot among very many."""
    return MqttSettings(telemetry_hz=1.0, idle_telemetry_hz=0.0, stop_when_lost_s=5.0)


def by_topic() -> list[str]:
    """Return the table of one robot."""
    columns = {
        name + doing: {one.topic: one for one in messages(doing, settings)}
        for name, settings in (("", None), ("thin, ", thin()))
        for doing in get_args(Doing)
    }
    rows = [f"| topic | bytes | {' | '.join(columns)} |", f"| --- | --- |{' --- |' * len(columns)}"]
    each = {topic: one for told in reversed(columns.values()) for topic, one in told.items()}
    for message in sorted(each.values(), key=_weight):
        told_hz = (
            f"{told[message.topic].hz:.3g}" if message.topic in told else "" for told in columns.values()
        )
        rows.append(f"| `{message.topic}` | {message.wire_bytes} | {' | '.join(told_hz)} |")
    sums = [(sum(one.hz for one in told.values()), _bytes_s(told.values())) for told in columns.values()]
    rows.append("| messages a second | | " + " | ".join(f"{hz:.1f}" for hz, _ in sums) + " |")
    rows.append("| kB a second | | " + " | ".join(f"{rate / 1e3:.2f}" for _, rate in sums) + " |")
    return rows


def by_count() -> list[str]:
    """Return the table of many robots."""
    few = messages("in motion", thin())
    columns = {
        "all in motion": [(1.0, messages("in motion"))],
        "all at rest": [(1.0, messages("at rest"))],
        "thin, all in motion": [(1.0, few)],
        "thin, a tenth in motion": [(0.1, few), (0.9, messages("at rest", thin()))],
    }
    rows = [f"| robots | {' | '.join(columns)} |", f"| --- |{' --- |' * len(columns)}"]
    for count in COUNTS:
        cells = (_load(count, parts) for parts in columns.values())
        rows.append(f"| {count:,} | {' | '.join(cells)} |")
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
