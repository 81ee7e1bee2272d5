"""Finds the broker at which robots are, where the configuration names several.

What is retained does not show it: a broker that was killed may hold `online` of a daemon that has moved on.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

import orjson

from motiond.client import NoAnswer

from ..mqtt.client import address_of, at_broker
from ..mqtt.topics import ANY_ROBOT, ReportTopic, ResponseTopic, Topics
from .answers import json_object

if TYPE_CHECKING:
    from ..config.mqtt import MqttSettings

LOOK_S = 3.0


async def broker_of(settings: MqttSettings) -> MqttSettings:
    """Return the settings with one broker: where a robot answers when it is asked for its status.

    Where none answers, it is the first broker that can be reached, or the first of all.
    """
    several = settings.each()
    if len(several) == 1:
        return several[0]
    reached: list[MqttSettings] = []
    looking = [asyncio.create_task(_looked_at(one, reached), name="fleet.look") for one in several]
    try:
        for ended in asyncio.as_completed(looking):
            with suppress(NoAnswer):
                return await ended
        return next((one for one in several if one in reached), several[0])
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)


async def _looked_at(broker: MqttSettings, reached: list[MqttSettings]) -> MqttSettings:
    """Return the broker once one robot of any daemon has answered there.

    Raises
    ------
    NoAnswer
        If none does soon.
    """
    topics, transaction, asked = Topics(broker.base), uuid4().hex, set[str]()
    with suppress(TimeoutError):
        async with asyncio.timeout(LOOK_S), at_broker(broker) as client:
            reached.append(broker)
            # By QoS 0 all of it: for more, a cluster elects a leader for each, and logs before it delivers.
            await client.subscribe([(topics.response(ANY_ROBOT, "status"), 0)])
            await client.subscribe([(topics.report(ANY_ROBOT, "availability"), 0)])
            async for message in client.messages:
                data = json_object(message.payload) or {}
                match topics.meaning(message.topic.value):
                    case ResponseTopic() if data.get("transaction") == transaction:
                        return broker
                    case ReportTopic(name, _) if str(data.get("bridge")) not in asked:
                        if data.get("state") == "online":
                            asked.add(str(data.get("bridge")))
                            payload = orjson.dumps({"transaction": transaction})
                            client.hand_over(topics.request(name, "status"), payload, 0, expires_s=LOOK_S)
    raise NoAnswer(f"{address_of(broker)}: no robot answers there; start its daemon with `motiond run`")
