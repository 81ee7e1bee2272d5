"""Clears what a broker keeps of a robot that no daemon has any more: what `motiond forget` does.

Exception
└── NotForgotten     there is nothing, a daemon has the robot, or the broker does not permit it
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

import orjson

from motiond.client import NoAnswer
from motiond.text import listed, nearest

from .bridge import discovery_topic
from .client import at_broker
from .topics import ANY_ROBOT, DaemonTopic, ReportTopic, Topics

if TYPE_CHECKING:
    import aiomqtt

    from ..config.mqtt import MqttSettings
    from .client import MqttConnection

FIRST_S, MORE_S = 3.0, 0.3
CLEARED_S = 5.0


class NotForgotten(Exception):
    """Nothing was cleared."""

    exit_code: ClassVar[int] = 1


async def forget(settings: MqttSettings, robot: str) -> list[str]:
    """Clear what is retained of a robot whose daemon is gone, at every broker, and return the topics.

    Raises
    ------
    NotForgotten
        If nothing is kept of it, its daemon is online, or the broker does not let it be cleared; where there
        are several brokers, if that is so at all of them.
    NoAnswer
        If there is no broker.
    """
    topics: set[str] = set()
    failures: list[NotForgotten | NoAnswer] = []
    for broker in settings.each():
        try:
            topics.update(await _forget_at(broker, robot))
        except (NotForgotten, NoAnswer) as error:
            failures.append(error)
    if not topics:
        raise next((one for one in failures if isinstance(one, NotForgotten)), failures[0])
    return sorted(topics)


async def _forget_at(settings: MqttSettings, robot: str) -> list[str]:
    async with at_broker(settings) as client:
        kept = await _Kept(Topics(settings.base), robot).heard(client)
        kept.refuse_if_alive()
        topics = sorted({*kept.topics, *kept.discovery})
        for topic in topics:
            await client.publish(topic, b"", qos=1, retain=True)
        if silent := await kept.until_cleared(client):
            what = f"{robot}: {silent} is not cleared; the broker does not let this client publish there"
            raise NotForgotten(f"{what}; permit it in the broker's access list")
        return topics


class _Kept:
    """What a broker keeps of a robot, and which robots and daemons it knows."""

    def __init__(self, topics: Topics, robot: str) -> None:
        self.topics: set[str] = set()
        self.discovery: set[str] = set()
        self._names = topics
        self._robot = robot
        self._lasting = frozenset(topics.lasting(robot))
        self._bridges: dict[str, str] = {}
        self._online: set[str] = set()

    async def heard(self, client: MqttConnection) -> _Kept:
        """Listen until the broker falls silent."""
        others = self._names.report(ANY_ROBOT, "availability")
        for topic in (*sorted(self._lasting), others, self._names.daemon()):
            await client.subscribe(topic, qos=1)
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_S) as limit:
                async for message in client.messages:
                    self._hear(message)
                    limit.reschedule(loop.time() + MORE_S)
        return self

    def refuse_if_alive(self) -> None:
        """Refuse a robot that is not known, or that a daemon would tell of again."""
        if not self.topics:
            known = (
                f"the robots here are {listed(sorted(self._bridges), longest=None)}"
                if self._bridges
                else "it knows no robot"
            )
            hint = nearest(self._robot, self._bridges)
            raise NotForgotten(
                "; ".join(filter(None, (f"{self._robot}: the broker keeps nothing of it; {known}", hint)))
            )
        bridge = self._bridges.get(self._robot)
        if bridge in self._online:
            problem = f"{self._robot}: daemon '{bridge}' is online and tells of it"
            hint = "take it out of that daemon's configuration and start it again; it clears it then itself"
            raise NotForgotten(f"{problem}; {hint}")

    async def until_cleared(self, client: MqttConnection) -> str:
        """Wait until the broker tells that all is cleared; return a topic that is not, or ''."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLEARED_S):
                while self.topics:
                    self._hear(await anext(client.messages))
        return min(self.topics, default="")

    def _hear(self, message: aiomqtt.Message) -> None:
        topic, payload = message.topic.value, message.payload
        if topic in self._lasting:
            (self.topics.add if payload else self.topics.discard)(topic)
        data = _decode(payload)
        match self._names.meaning(topic):
            case DaemonTopic(daemon_id) if data.get("state") == "online":
                self._online.add(daemon_id)
            case ReportTopic(robot, "availability") if data:
                self._bridges[robot] = str(data.get("bridge"))
                told = discovery_topic(self._names, robot, data)
                if robot == self._robot and told is not None:
                    self.discovery.add(told)


def _decode(payload: object) -> dict[str, Any]:
    """Read what is kept on a topic; anything but a JSON object is as good as none."""
    try:
        data = orjson.loads(payload) if isinstance(payload, bytes) else {}
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}
