"""The MQTT interface as an AsyncAPI 3.0 document, made of the verbs, the subjects and the models of messages.

Operations are the daemon's own: it sends reports, and receives requests, each with a reply.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, NotRequired

from typing_extensions import TypedDict

from ..api import (
    MOST_BYTES,
    REPORTS,
    RETAINED,
    SUBJECTS,
    VERBS,
    Answer,
    AvailabilityReport,
    Refusal,
    first_line,
    schemas_of,
)
from .bridge import qos_of
from .topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ..api import Subject, Verb

TOPICS = Topics("{base}")
ROBOT, DAEMON = "{robot}", "{daemon}"
PARAMETERS = {
    "base": {"default": "motiond", "description": "First part of every topic, `mqtt.base`."},
    "robot": {"description": "A robot's name, as in the configuration."},
    "daemon": {"description": "The `id` of a daemon; by default, its machine's name."},
}
BINDING = {"bindingVersion": "0.2.0"}


class OwnedAvailabilityReport(AvailabilityReport):
    """Whether a robot takes requests; it does so only while its daemon is online, too."""

    bridge: str | None
    """The daemon's id; null once the daemon has released the robot's name."""
    discovery: NotRequired[str]
    """On which topic Home Assistant is notified of the robot, where it is."""


class DaemonAvailability(TypedDict):
    """Whether a daemon is there; `broken` is its last will."""

    state: Literal["online", "offline", "broken"]
    host: str
    """Its machine's name."""
    instance: str
    """Differs from run to run."""
    requests_qos: NotRequired[Literal[0, 1]]
    """By which quality of service requests get to it soonest; reported while it is online."""


class Heartbeat(TypedDict):
    """Nothing: that it comes back is all."""


class RequestHeartbeat(TypedDict):
    """Nothing: that it comes back, on each connection, is how the daemon knows that requests come to it."""


MODELS: Mapping[Subject, type] = {**REPORTS, "availability": OwnedAvailabilityReport}


def asyncapi() -> dict[str, Any]:
    """Return the document."""
    operations = dict([*_daemon(), *_reports(), *_requests()])
    channels = {name: channel for one in operations.values() for name, channel in one.pop("channels").items()}
    messages = {name: message for one in channels.values() for name, message in one.pop("sent").items()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "motiond",
            "version": "1",
            "description": "Plays motion files on real actuators. docs/mqtt.md has more of all this.",
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": _servers(),
        "channels": channels,
        "operations": operations,
        "components": {
            "messages": messages,
            "parameters": PARAMETERS,
            "schemas": _schemas(),
            "securitySchemes": {
                "password": {"type": "userPassword", "description": "`mqtt.username` and its password."},
                "certificate": {"type": "X509", "description": "`mqtt.cert_file` and `mqtt.key_file`."},
            },
        },
    }


def _servers() -> dict[str, Any]:
    will = TOPICS.daemon(DAEMON)
    bindings = {"mqtt": {"lastWill": {"topic": will, "qos": 1, "retain": True}, **BINDING}}
    password, certificate = (
        {"$ref": f"#/components/securitySchemes/{name}"} for name in ("password", "certificate")
    )
    return {
        "embedded": {
            "host": "127.0.0.1:1883",
            "protocol": "mqtt",
            "protocolVersion": "3.1.1",
            "description": "The daemon's own, at `mqtt.listen`; it asks for the password if there is one.",
            "security": [password],
        },
        "broker": {
            "host": "{host}:{port}",
            "protocol": "mqtt",
            "protocolVersion": "5",
            "description": "Yours, `mqtt.broker`; `mqtts` by TLS, and 3.1.1 by `mqtt.protocol`.",
            "variables": {"host": {"default": "localhost"}, "port": {"default": "1883"}},
            "security": [password, certificate],
            "bindings": bindings,
        },
    }


def _daemon() -> Iterator[tuple[str, dict[str, Any]]]:
    address, beat = TOPICS.daemon(DAEMON), TOPICS.heartbeat(DAEMON)
    request_beat = TOPICS.request_heartbeat(ROBOT)
    yield "send_daemon_availability", _sent("daemon_availability", address, DaemonAvailability, 1, lasts=True)
    yield "send_heartbeat", _sent("heartbeat", beat, Heartbeat, 0, lasts=False)
    yield "send_request_heartbeat", _sent("request_heartbeat", request_beat, RequestHeartbeat, 0, lasts=False)


def _reports() -> Iterator[tuple[str, dict[str, Any]]]:
    for subject in sorted(SUBJECTS):
        address, kept = TOPICS.report(ROBOT, subject), subject in RETAINED
        yield f"send_{subject}", _sent(subject, address, MODELS[subject], qos_of(subject), lasts=kept)


def _sent(name: str, address: str, model: type, qos: int, *, lasts: bool) -> dict[str, Any]:
    """Return the operation by which the daemon reports something, with its channel."""
    message = _message(name, first_line(model), _payload(model))
    return {
        "action": "send",
        "channel": {"$ref": f"#/channels/{name}"},
        "summary": first_line(model),
        "bindings": {"mqtt": {"qos": qos, "retain": lasts, **BINDING}},
        "messages": [{"$ref": f"#/channels/{name}/messages/{name}"}],
        "channels": {name: _channel(address, message)},
    }


def _requests() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, verb in VERBS.items():
        description = (
            f"At most {MOST_BYTES} bytes; an empty payload is an empty object. It must not be retained."
        )
        if verb.stops:
            description += " It acts whatever it carries, and each time that it is sent."
        if verb.streams:
            description += " One without a transaction or a Response Topic is answered only if it is refused."
        received = _received(name, TOPICS.request(ROBOT, name), verb, _way_back(), description)
        yield f"receive_{_named(name)}", received | _answered(verb, received)


def _received(
    name: str, address: str, verb: Verb, way_back: dict[str, Any], description: str
) -> dict[str, Any]:
    """Return the operation by which the daemon takes requests, with their channel, but for the answer."""
    asked = f"{_named(name)}_request"
    request = _message(asked, verb.summary, _payload(verb.request)) | way_back
    request["correlationId"] = {"location": "$message.payload#/transaction"}
    return {
        "action": "receive",
        "channel": {"$ref": f"#/channels/{asked}"},
        "summary": verb.summary,
        "description": description,
        "bindings": {"mqtt": {"qos": 0 if verb.streams else 1, "retain": False, **BINDING}},
        "messages": [{"$ref": f"#/channels/{asked}/messages/{asked}"}],
        "channels": {asked: _channel(address, request)},
    }


def _answered(verb: Verb, received: dict[str, Any]) -> dict[str, Any]:
    """Return an operation's answer, and its channels with that of the answer."""
    name = _named(verb.name)
    answered = f"{name}_response"
    answer = _message(f"{name}_answer", f"The answer to `{verb.name}`.", _answer(verb.answer))
    messages = [{"$ref": f"#/channels/{answered}/messages/{one}"} for one in (f"{name}_answer", "refusal")]
    channel = _channel(TOPICS.response(ROBOT, verb.name), answer, _refusal())
    return {
        "reply": {"channel": {"$ref": f"#/channels/{answered}"}, "messages": messages},
        "channels": received["channels"] | {answered: channel},
    }


def _named(verb: str) -> str:
    return re.sub(r"\W", "_", verb)


def _way_back() -> dict[str, Any]:
    """Return how a client of MQTT 5 names where the answer is to go."""
    topic = "MQTT 5: where to send the answer instead; none of the daemon's own topics but a response."
    correlation = "MQTT 5: comes back with the answer."
    binding = {
        "responseTopic": {"type": "string", "description": topic},
        "correlationData": {"type": "string", "description": correlation},
    }
    return {"bindings": {"mqtt": binding | BINDING}}


def _refusal() -> dict[str, Any]:
    return _message("refusal", "The request was refused, with the reason.", _payload(Refusal))


def _channel(address: str, *messages: dict[str, Any]) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", address)
    return {
        "address": address,
        "parameters": {name: {"$ref": f"#/components/parameters/{name}"} for name in names},
        "messages": {one["name"]: {"$ref": f"#/components/messages/{one['name']}"} for one in messages},
        "sent": {one["name"]: one for one in messages},
    }


def _message(name: str, summary: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "summary": summary, "contentType": "application/json", "payload": payload}


def _payload(kind: type) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}


def _answer(kind: type) -> dict[str, Any]:
    """Return the schema of an answer with some data."""
    answer = schemas_of([Answer])["Answer"]
    answer["properties"] |= {"data": _payload(kind)}
    return {key: value for key, value in answer.items() if key not in {"title", "description"}}


def _schemas() -> dict[str, Any]:
    of_verbs = [kind for verb in VERBS.values() for kind in (verb.request, verb.answer)]
    of_daemon = (DaemonAvailability, Heartbeat, RequestHeartbeat, Refusal)
    return schemas_of([*of_daemon, *MODELS.values(), *of_verbs])
