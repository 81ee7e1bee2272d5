"""Subscribes, and returns which subscriptions the broker refuses."""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import TYPE_CHECKING

from paho.mqtt.subscribeoptions import SubscribeOptions

from .reasons import ConnectionUseless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .connection import MqttConnection

REFUSED = 0x80
AT_LEAST_ONCE = 1
AT_ONCE = 50  # topics in a packet


async def subscribe(client: MqttConnection, topics: Sequence[str], qos: int = 1) -> None:
    """Subscribe to topics that the daemon cannot do without."""
    if refused := await try_to_subscribe(client, topics, qos):
        what = f"the broker refuses the subscription to '{refused[0]}'"
        raise ConnectionUseless(
            f"{what}; the daemon cannot do without it; permit it in the broker's access list"
        )


async def granted_qos(client: MqttConnection, topic: str, qos: int) -> int:
    """Subscribe to a topic, and return the QoS that is granted; where it is refused, that which was asked.

    What is refused but granted by QoS 0 is not forbidden: a cluster that keeps messages of QoS 1 in a log is
    just electing a leader for that, so that this is the highest QoS it takes.
    """
    (code,) = await _ask(client, [topic], qos)
    if code < REFUSED:
        return code
    (code,) = await _ask(client, [topic], 0)
    return AT_LEAST_ONCE if code < REFUSED else qos


async def try_to_subscribe(client: MqttConnection, topics: Sequence[str], qos: int = 1) -> list[str]:
    """Subscribe, and return the topics that the broker refuses.

    On MQTT 5 what was sent with the retain flag can then be distinguished.
    """
    codes = await _ask(client, topics, qos)
    return [topic for topic, code in zip(topics, codes, strict=True) if code >= REFUSED]


async def _ask(client: MqttConnection, topics: Sequence[str], qos: int) -> list[int]:
    """Subscribe, and return for each topic the QoS that is granted, or why it is refused.

    One packet does not wait for the answer to another: on a busy machine each takes its time.
    """
    option = SubscribeOptions(qos=qos, retainAsPublished=True) if client.version_5 else qos
    packets = [
        client.subscribe([(topic, option) for topic in topics[first : first + AT_ONCE]])
        for first in range(0, len(topics), AT_ONCE)
    ]
    return list(chain.from_iterable(await asyncio.gather(*packets)))
