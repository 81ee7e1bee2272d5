"""Finds the broker at which robots are, where the configuration names several, and stops them at all.

What is retained does not show it: a broker that was killed may hold `online` of a daemon that has moved on.

Exception
└── NoneAnswered     none of several attempts was answered
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import orjson

from motiond.client import NoAnswer, Refused, connect

from ..api import RequestError
from ..config.client import brokers_of
from ..mqtt.client import address_of, at_broker
from ..mqtt.topics import ANY_ROBOT, ReportTopic, ResponseTopic, Topics
from .answers import json_object

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence

    from ..config.mqtt import MqttSettings

    Answer = TypeVar("Answer")

CONNECT_S, LOOK_S = 2.0, 3.0
ALSO_S = 0.5
"""Once a stop has been answered at one broker, it has so long to reach the others."""


class NoneAnswered(Exception):
    """None of several attempts was answered; `failures` holds the reason of each."""

    def __init__(self, failures: list[NoAnswer]) -> None:
        super().__init__(failures)
        self.failures = failures


async def first_answer(attempts: Iterable[Coroutine[Any, Any, Answer]], also_s: float = 0.0) -> Answer:
    """Return what the first of several attempts, all begun at once, has got.

    Parameters
    ----------
    attempts : iterable of coroutine
    also_s : float
        How long the others may go on then, in s.

    Raises
    ------
    RequestError
        If one was refused, and none accepted.
    NoneAnswered
        If none was answered.
    """
    tasks = [asyncio.create_task(one, name="fleet.attempt") for one in attempts]
    refusals: list[RequestError] = []
    failures: list[NoAnswer] = []
    try:
        for ended in asyncio.as_completed(tasks):
            try:
                answer = await ended
            except RequestError as error:
                refusals.append(error)
            except NoAnswer as error:
                failures.append(error)
            else:
                await asyncio.wait(tasks, timeout=also_s)
                return answer
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    raise refusals[0] if refusals else NoneAnswered(failures)


async def stop_at(
    several: Sequence[MqttSettings], robot: str, verb: str, payload: dict[str, Any], timeout_s: float
) -> dict[str, Any]:
    """Send a stop to each of several brokers at once, and return the data of the first answer.

    Raises
    ------
    RequestError
        If it was refused, and nowhere accepted.
    NoAnswer
        If nobody answers at any of them; the message says why, for each.
    """
    brokers = [broker for one in several for broker in brokers_of(one)]
    try:
        async with asyncio.timeout(CONNECT_S + timeout_s), connect(brokers) as daemon:
            return await daemon.robot(robot).request(verb, payload, timeout_s=timeout_s)
    except Refused as error:
        raise RequestError.of(error.code, error, error.data) from error  # type: ignore[arg-type] # a newer daemon may have further codes
    except TimeoutError:
        places = ", ".join(str(address_of(one)) for one in several)
        raise NoAnswer(f"{places}: the broker hangs; look at it") from None


async def broker_of(settings: MqttSettings) -> MqttSettings:
    """Return the settings with one broker: where a robot answers when it is asked for its status.

    Where none answers, it is the first broker that can be reached, or the first of all.
    """
    several = settings.each()
    if len(several) == 1:
        return several[0]
    reached: list[MqttSettings] = []
    try:
        return await first_answer([_looked_at(one, reached) for one in several])
    except NoneAnswered:
        return next((one for one in several if one in reached), several[0])


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
