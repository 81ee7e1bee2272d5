"""Clears what a broker keeps of a robot that no daemon has any more: what `motiond forget` does.

Exception
└── NotForgotten     there is nothing, a daemon has the robot, or the broker does not permit it
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from motiond.client import NoAnswer
from motiond.text import listed, nearest

from .bridge import decode, discovery_topic
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
        raise next((failure for failure in failures if isinstance(failure, NotForgotten)), failures[0])
    return sorted(topics)


async def _forget_at(settings: MqttSettings, robot: str) -> set[str]:
    async with at_broker(settings) as client:
        kept = _Retained(Topics(settings.base), robot)
        await kept.receive(client)
        kept.refuse_if_alive()
        topics = kept.topics | kept.discovery
        for topic in sorted(topics):
            await client.publish(topic, b"", qos=1, retain=True)
        await kept.cleared(client)
        return topics


class _Retained:
    """What a broker keeps of a robot, and which robots and daemons it knows."""

    def __init__(self, names: Topics, robot: str) -> None:
        self.topics: set[str] = set()
        self.discovery: set[str] = set()
        self._names = names
        self._robot = robot
        self._retained = names.retained(robot)
        self._bridges: dict[str, str] = {}
        self._online: set[str] = set()

    async def receive(self, client: MqttConnection) -> None:
        """Receive until the broker sends nothing more."""
        for topic in (*self._retained, self._names.report(ANY_ROBOT, "availability"), self._names.daemon()):
            await client.subscribe(topic, qos=1)
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_S) as limit:
                async for message in client.messages:
                    self._take(message)
                    limit.reschedule(loop.time() + MORE_S)

    def refuse_if_alive(self) -> None:
        """Refuse a robot that is not known, or that a daemon would publish again."""
        if not self.topics:
            robots = f"the robots here are {listed(sorted(self._bridges), longest=None)}"
            known = robots if self._bridges else "it knows no robot"
            parts = (
                f"{self._robot}: the broker keeps nothing of it",
                known,
                nearest(self._robot, self._bridges),
            )
            raise NotForgotten("; ".join(filter(None, parts)))
        bridge = self._bridges.get(self._robot)
        if bridge in self._online:
            problem = f"{self._robot}: daemon '{bridge}' is online and publishes it"
            hint = "remove it from that daemon's configuration, and start that daemon again, which clears it"
            raise NotForgotten(f"{problem}; {hint}")

    async def cleared(self, client: MqttConnection) -> None:
        """Wait until the broker confirms that all is cleared."""
        with suppress(TimeoutError):
            async with asyncio.timeout(CLEARED_S):
                while self.topics:
                    self._take(await anext(client.messages))
        if self.topics:
            what = f"{self._robot}: {min(self.topics)} is not cleared"
            reason = "the broker does not let this client publish there"
            raise NotForgotten(f"{what}; {reason}; permit it in the broker's access list")

    def _take(self, message: aiomqtt.Message) -> None:
        topic, payload = message.topic.value, message.payload
        if topic in self._retained:
            (self.topics.add if payload else self.topics.discard)(topic)
        data = decode(payload)
        match self._names.meaning(topic):
            case DaemonTopic(daemon_id) if data.get("state") == "online":
                self._online.add(daemon_id)
            case ReportTopic(robot, "availability") if data:
                self._bridges[robot] = str(data.get("bridge"))
                discovery = discovery_topic(self._names, robot, data)
                if robot == self._robot and discovery is not None:
                    self.discovery.add(discovery)
