"""Whether brokers let the daemon in and its messages through, and how long a message takes there and back."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

import aiomqtt

from ..config.certificates import NoCertificate, of_der
from ..mqtt.client import MqttConnection, NotConnected, address_of, reason_of
from ..mqtt.topics import Topics
from .certificates import judged
from .report import Check, Verdict

if TYPE_CHECKING:
    from ..config.mqtt import MqttSettings

MESSAGES = 200
MOST_S = 2.0
"""Messages are sent for no longer than this, however few have come back; one is sent in any case."""
ECHO_S = 2.0
SLOW_S = 0.02
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class _NoEcho(Exception):
    """A message did not come back."""

    def __init__(self, topic: str, came_back: int) -> None:
        super().__init__(f"message {came_back + 1} on '{topic}' has not come back in {ECHO_S:g} s")
        self.hint = "permit it in the broker's access list (docs/security.md), or use the daemon's login"
        if came_back:
            self.hint = "look at the broker's log, and at the network"


async def check_brokers(settings: MqttSettings, daemon_id: str) -> list[Check]:
    """Try each broker, on the topics of a daemon, where access lists let it write and read."""
    return [check for one in settings.each() for check in await _check(one, daemon_id)]


async def _check(settings: MqttSettings, daemon_id: str) -> list[Check]:
    address = str(address_of(settings))
    topic = Topics(settings.base).doctor(daemon_id, uuid4().hex[:12])
    now = asyncio.get_running_loop().time
    begun_s = now()
    try:
        async with MqttConnection(settings) as client:
            connect_s = now() - begun_s
            shown = _certificate_of(client, address)
            trips_s = await _round_trips(client, topic)
    except (aiomqtt.MqttError, OSError) as error:
        return [_out_of_reach(settings, address, error)]
    except _NoEcho as error:
        silent = Check(
            check="broker",
            subject=address,
            verdict=Verdict.FAILURE,
            found=str(error),
            means="a daemon with this login takes no requests, and counts the broker as lost",
            hint=error.hint,
        )
        return [silent]
    return [_judged(address, connect_s, sorted(trips_s)), *shown]


def _certificate_of(client: MqttConnection, address: str) -> list[Check]:
    """Judge the certificate that a broker has shown, if it has."""
    if client.attempt.certificate is None:
        return []
    with suppress(NoCertificate):
        return [judged(address, of_der(client.attempt.certificate))]
    return []


async def _round_trips(client: MqttConnection, topic: str) -> list[float]:
    """Send messages, each when the one before has come back, and return how long each took in s.

    Raises
    ------
    _NoEcho
        If one does not come back.
    aiomqtt.MqttError
        If the connection breaks.
    """
    now = asyncio.get_running_loop().time
    await client.subscribe(topic)
    trips_s: list[float] = []
    until_s = now() + MOST_S
    while not trips_s or (len(trips_s) < MESSAGES and now() < until_s):
        number = str(len(trips_s)).encode()
        sent_s = now()
        await client.publish(topic, number)
        try:
            async with asyncio.timeout(ECHO_S):
                while (await anext(client.messages)).payload != number:
                    pass
        except TimeoutError:
            raise _NoEcho(topic, len(trips_s)) from None
        trips_s.append(now() - sent_s)
    return trips_s


def _out_of_reach(settings: MqttSettings, address: str, error: BaseException) -> Check:
    verdict, means = (
        Verdict.FAILURE,
        "robots play nothing that is asked for over MQTT, and nobody sees what they do",
    )
    problem, _, hint = reason_of(error).partition("; ")
    found = f"no connection: {problem}"
    if not isinstance(error, NotConnected):
        hint = "look at the broker's log, and at the network"
    elif settings.broker == "embedded" and error.absent:
        verdict, means = Verdict.NOT_APPLICABLE, "its latency can be measured while the daemon runs"
        found = "nobody listens there: the broker is inside the daemon, and no daemon runs"
        hint = "start the daemon with `motiond run`, and ask again"
    return Check(check="broker", subject=address, verdict=verdict, found=found, means=means, hint=hint)


def _judged(address: str, connect_s: float, trips_s: list[float]) -> Check:
    middle_s, most_s = (trips_s[round(share * (len(trips_s) - 1))] for share in (0.5, 0.99))
    is_slow = most_s > SLOW_S
    hint = "use a broker on this machine or a wired network"
    if urlsplit(address).hostname in LOOPBACK:
        hint = "end what is busy on this machine"
    return Check(
        check="broker",
        subject=address,
        verdict=Verdict.WARNING if is_slow else Verdict.OK,
        found=f"there and back in ms p50 {1e3 * middle_s:.3g}, p99 {1e3 * most_s:.3g}",
        means="a request, a stop too, takes half of that to the daemon",
        hint=hint if is_slow else None,
        figures={
            "connect_s": connect_s,
            "round_trip_p50_s": middle_s,
            "round_trip_p99_s": most_s,
            "messages": len(trips_s),
        },
    )
