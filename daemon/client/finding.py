"""Finds the broker at which a robot's daemon is, where the configuration names several, by who answers there.

What is retained does not tell: a broker that was killed may say `online` of a daemon that has moved on.

Exception
└── NobodyHeard      none of several attempts was answered
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import orjson

from motiond.client import NoAnswer
from motiond.text import listed

from ..api import RequestError
from ..mqtt.client import address_of
from ..mqtt.topics import ANY_ROBOT, ReportTopic, ResponseTopic, Topics
from .connection import ANSWER_TIMEOUT_S, Connection, at_broker, expiry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence

    import aiomqtt

    from ..config.mqtt import MqttSettings
    from ..mqtt.client import MqttConnection

    Heard = TypeVar("Heard")

CONNECT_S, LOOK_S = 2.0, 3.0
ALSO_S = 0.5
"""Once a stop has been answered at one broker, it has so long to reach the others."""


class NobodyHeard(Exception):
    """None of several attempts was answered.

    Attributes
    ----------
    failures : list of NoAnswer
        Why, for each of them.
    """

    def __init__(self, failures: list[NoAnswer]) -> None:
        super().__init__(failures)
        self.failures = failures


@asynccontextmanager
async def reaching(settings: MqttSettings, robot: str = ANY_ROBOT) -> AsyncIterator[MqttConnection]:
    """Connect to the broker for as long as the context lasts; of several to the one where the robot is.

    Raises
    ------
    NoAnswer
        If it cannot be reached, or goes away.
    """
    async with at_broker(await broker_of(settings, robot)) as client:
        yield client


@asynccontextmanager
async def conversing_with(settings: MqttSettings, robot: str) -> AsyncIterator[Connection]:
    """Begin a conversation with a robot; of several brokers at the one where it answers.

    Raises
    ------
    NoAnswer
        If the broker cannot be reached, or goes away; of several if the robot answers at none.
    """
    several = settings.each()
    broker = several[0]
    if len(several) > 1:
        broker = await _heard_at_any(robot, [_answering(one, robot) for one in several], several)
    async with at_broker(broker) as client:
        yield Connection(client, broker, robot, is_one_of_several=len(several) > 1)


async def ask_everywhere(
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
    asking = [_ask_at(one, robot, verb, payload, timeout_s) for one in several]
    return await _heard_at_any(robot, asking, several, ALSO_S)


async def broker_of(settings: MqttSettings, robot: str = ANY_ROBOT) -> MqttSettings:
    """Return the settings with one broker: where a robot answers when it is asked for its status.

    Where none answers, it is the first broker that can be reached, or the first of all.

    Parameters
    ----------
    settings : MqttSettings
    robot : str
        `+` for any.
    """
    several = settings.each()
    if len(several) == 1:
        return several[0]
    reached: list[MqttSettings] = []
    try:
        return await first_heard([_looked_at(one, robot, reached) for one in several])
    except NobodyHeard:
        return next((one for one in several if one in reached), several[0])


async def first_heard(attempts: Iterable[Coroutine[Any, Any, Heard]], also_s: float = 0.0) -> Heard:
    """Return what the first of several attempts, all begun at once, has heard.

    Parameters
    ----------
    attempts : iterable of coroutine
    also_s : float
        How long the others may go on then.

    Raises
    ------
    RequestError
        If one was refused, and none accepted.
    NobodyHeard
        If none was answered.
    """
    tasks = [asyncio.create_task(one, name="client.attempt") for one in attempts]
    refusals: list[RequestError] = []
    failures: list[NoAnswer] = []
    try:
        for ended in asyncio.as_completed(tasks):
            try:
                heard = await ended
            except RequestError as error:
                refusals.append(error)
            except NoAnswer as error:
                failures.append(error)
            else:
                await asyncio.wait(tasks, timeout=also_s)
                return heard
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    raise refusals[0] if refusals else NobodyHeard(failures)


async def _heard_at_any(
    robot: str,
    attempts: Iterable[Coroutine[Any, Any, Heard]],
    several: Sequence[MqttSettings],
    also_s: float = 0.0,
) -> Heard:
    try:
        return await first_heard(attempts, also_s)
    except NobodyHeard as error:
        places = listed([str(address_of(one)) for one in several])
        head = f"{robot}: no answer at any of the brokers {places}; look at what stands below"
        raise NoAnswer("\n".join((head, *sorted(map(str, error.failures))))) from None


async def _ask_at(
    broker: MqttSettings, robot: str, verb: str, payload: dict[str, Any], timeout_s: float
) -> dict[str, Any]:
    try:
        async with asyncio.timeout(CONNECT_S + timeout_s), at_broker(broker) as client:
            connection = Connection(client, broker, robot, is_one_of_several=True)
            return await connection.ask(verb, payload, timeout_s)
    except TimeoutError:
        raise NoAnswer(f"{address_of(broker)}: the broker hangs; look at it") from None


async def _answering(broker: MqttSettings, robot: str) -> MqttSettings:
    """Return the broker once the robot has answered there, whatever it says."""
    with suppress(RequestError):
        await _ask_at(broker, robot, "status", {}, ANSWER_TIMEOUT_S)
    return broker


async def _looked_at(broker: MqttSettings, robot: str, reached: list[MqttSettings]) -> MqttSettings:
    """Return the broker once one robot of any daemon has answered there, or the one that is named.

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
            await client.subscribe([(topics.response(robot, "status"), 0)])
            await client.subscribe([(topics.report(robot, "availability"), 0)])
            async for message in client.messages:
                data = _decode(message)
                match topics.meaning(message.topic.value):
                    case ResponseTopic() if data.get("transaction") == transaction:
                        return broker
                    case ReportTopic(name, _) if str(data.get("bridge")) not in asked:
                        if data.get("state") == "online":
                            asked.add(str(data.get("bridge")))
                            payload = orjson.dumps({"transaction": transaction})
                            until = expiry(broker, LOOK_S)
                            await client.publish(
                                topics.request(name, "status"), payload, qos=0, properties=until
                            )
    raise NoAnswer(f"{address_of(broker)}: no robot answers there; start its daemon with `motiond run`")


def _decode(message: aiomqtt.Message) -> dict[str, Any]:
    """Read a message; anything but a JSON object is as good as none."""
    try:
        data = orjson.loads(message.payload) if isinstance(message.payload, bytes) else None
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}
