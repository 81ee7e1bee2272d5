"""Finds the broker at which a robot's daemon is, where the configuration names several."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiomqtt
import orjson

from ..mqtt.connection import make_client
from ..mqtt.heartbeat import beat_s
from ..mqtt.topics import ANY_ROBOT, HeartbeatTopic, ReportTopic, Topics

if TYPE_CHECKING:
    from ..config.mqtt import MqttSettings

BEATS, MORE_S = 2, 0.5


async def broker_of(settings: MqttSettings, robot: str = ANY_ROBOT) -> MqttSettings:
    """Return the settings with one broker: where the heart of the robot's daemon beats.

    What is retained does not tell: a broker that was killed may say `online` of a daemon that has moved on.
    Where no heart is heard, it is the first broker that can be reached, or the first of all.

    Parameters
    ----------
    settings : MqttSettings
    robot : str
        `+` for any.
    """
    reached: list[MqttSettings] = []
    several = settings.each()
    for one in several if len(several) > 1 else ():
        try:
            async with make_client(one) as client:
                reached.append(one)
                if await _is_heard(client, one, robot):
                    return one
        except (aiomqtt.MqttError, OSError):
            continue  # whoever uses it is told why
    return (*reached, *several)[0]


async def _is_heard(client: aiomqtt.Client, settings: MqttSettings, robot: str) -> bool:
    """Whether the daemon that tells of a robot is at this broker, and not only what it has said here."""
    topics = Topics(settings.base)
    await client.subscribe(topics.heartbeat("+"))
    await client.subscribe(topics.report(robot, "availability"), qos=1)
    hearts, daemon = set[str](), None
    try:
        async with asyncio.timeout(BEATS * beat_s(settings.stop_when_lost_s) + MORE_S):
            async for message in client.messages:
                match topics.meaning(message.topic.value):
                    case HeartbeatTopic(daemon_id):
                        hearts.add(daemon_id)
                    case ReportTopic(_, "availability"):
                        daemon = _bridge_in(message.payload)
                if hearts and (robot == ANY_ROBOT or daemon in hearts):
                    return True
    except TimeoutError:
        pass
    return False


def _bridge_in(payload: object) -> str | None:
    """Return which daemon an availability names."""
    try:
        data = orjson.loads(payload) if isinstance(payload, bytes) else None
    except orjson.JSONDecodeError:
        return None
    return str(data.get("bridge")) if isinstance(data, dict) else None
