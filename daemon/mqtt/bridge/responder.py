"""Serves requests that came by MQTT: with what MQTT adds to them, and where the answer goes."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from ...api import VERBS, RawRequest, RequestError, refused
from ...log import RateLimitedLog
from ..client import RAISE_IT
from ..topics import RequestTopic
from .fitting import fit_answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...api import Dispatcher
    from ..client import MqttConnection
    from ..topics import Topics

PUBLISH_TIMEOUT_S = 5.0
CALLER = "a client over MQTT"
"""Who asks: brokers do not name the clients of a message."""


class Responder:
    """Serves one request at a time or many, each by a task of its own."""

    def __init__(
        self, topics: Topics, dispatcher: Dispatcher, *, is_ours: Callable[[str], bool], version_5: bool
    ) -> None:
        self._topics = topics
        self._dispatcher = dispatcher
        self._is_ours = is_ours
        self._version_5 = version_5
        self._rate_limited = RateLimitedLog()

    async def serve(
        self,
        message: aiomqtt.Message,
        client: MqttConnection,
        qos: int,
        *,
        overtaken: bool = False,
        may_begin: bool = True,
    ) -> None:
        """Answer one request; where the answer cannot be sent, its transaction may be asked for again."""
        raw = self._raw_request(message)
        verb = VERBS.get(raw.verb)
        if raw.refusal is None and verb is not None and verb.begins:
            if overtaken:
                raw = replace(raw, refusal=_overtaken(raw.where))
            elif not may_begin:
                raw = replace(raw, refusal=_not_stoppable(raw.where))
        answer = await self._dispatcher.answer(raw)
        if self._is_ours(raw.robot):
            await self._send(message, raw, answer, client, qos)

    def pass_on(self, message: aiomqtt.Message) -> RequestError | None:
        """Pass a target on without an answer; return why it is refused."""
        return self._dispatcher.take(self._raw_request(message))

    async def refuse(
        self, message: aiomqtt.Message, error: RequestError, client: MqttConnection, qos: int
    ) -> None:
        """Answer what was refused."""
        await self._send(message, self._raw_request(message), refused(error), client, qos)

    async def _send(
        self, message: aiomqtt.Message, raw: RawRequest, answer: bytes, client: MqttConnection, qos: int
    ) -> None:
        topic = self._response_topic(message, raw)
        properties = _correlated(message.properties) if self._version_5 else None
        if len(answer) > (room := client.room(topic, qos, properties)):
            cut = client.room(topic, qos, properties, is_cut=True)
            fitted = fit_answer(raw.where, answer, room, cut, RAISE_IT)
            client.limit.report(topic, len(answer), fitted.remedy)
            if fitted.payload is None:
                return
            answer = fitted.payload
        try:
            await client.publish(topic, answer, qos, False, properties, timeout=PUBLISH_TIMEOUT_S)
        except (aiomqtt.MqttError, ValueError) as error:
            self._rate_limited.warning(
                "%s: the answer could not be sent to '%s'; %s", raw.where, topic, error
            )

    async def act(self, asked: RequestTopic) -> None:
        """Act on a request without keys or answer."""
        await self._dispatcher.answer(RawRequest(asked.robot, asked.verb, b"", CALLER))

    def _response_topic(self, message: aiomqtt.Message, raw: RawRequest) -> str:
        """Return where the answer goes: where the client asks for it, if it may ask for that (MQTT 5)."""
        own = self._topics.response(raw.robot, raw.verb)
        wanted: str = getattr(message.properties, "ResponseTopic", own)
        if self._topics.takes_response(wanted):
            return wanted
        what = "%s: no answer can be sent to the response topic %.60r; it goes to '%s'"
        self._rate_limited.warning(what, raw.where, wanted, own)
        return own

    def _raw_request(self, message: aiomqtt.Message) -> RawRequest:
        """Return a request with all that MQTT adds to it."""
        meaning = self._topics.meaning(message.topic.value)
        robot, verb = meaning if isinstance(meaning, RequestTopic) else ("", "")
        lifetime_s = getattr(message.properties, "MessageExpiryInterval", None)
        return RawRequest(
            robot,
            verb,
            message.payload if isinstance(message.payload, bytes) else b"",
            CALLER,
            deadline_s=None if lifetime_s is None else time.time() + lifetime_s,
            refusal=_retained(f"{robot}/{verb}") if message.retain else None,
        )


def _retained(where: str) -> RequestError:
    """Return the refusal of a request that the broker kept and may deliver again."""
    hint = "clear it with an empty retained message and send it without the flag"
    return RequestError("RETAINED", where, "retained", "it would act at every reconnect", hint)


def _overtaken(where: str) -> RequestError:
    """Return the refusal of a request that a later stop was served before."""
    reason = "a stop was served that may have been sent after it"
    return RequestError("CANCELED", where, "stopped before it began", reason, "send it again")


def _not_stoppable(where: str) -> RequestError:
    """Return the refusal of a request to begin while no stop would come through."""
    reason = "the daemon's connection for stops is not there"
    return RequestError("OFFLINE", where, "not begun", reason, "send it again once the robot is online")


def _correlated(request: Properties | None) -> Properties:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho's is untyped
    correlation: bytes | None = getattr(request, "CorrelationData", None)
    if correlation is not None:
        properties.CorrelationData = correlation
    return properties
