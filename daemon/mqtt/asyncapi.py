"""The MQTT interface as an AsyncAPI 3.0 document, made of the verbs, the subjects and the models of messages.

Operations are the daemon's own: it sends reports, and receives requests, each with a reply.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic.json_schema import models_json_schema

from ..api.answers import DATA_MODELS, FLEET_DATA_MODELS, Answer, Refusal
from ..api.lasting_models import Availability, Told
from ..api.names import FLEET
from ..api.report_models import REPORT_MODELS
from ..api.reports import LASTING, SUBJECTS
from ..api.requests import FLEET_SCHEMAS, MOST_BYTES, VERBS
from ..config.described import DescribedSchema
from .bridge import qos_of
from .topics import Topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import BaseModel

    from ..api.reports import Subject

TOPICS = Topics("{base}")
ROBOT, DAEMON = "{robot}", "{daemon}"
PARAMETERS = {
    "base": {"default": "motiond", "description": "First part of every topic, as `mqtt.base` says."},
    "robot": {"description": "A robot's name, as in the configuration."},
    "daemon": {"description": "The `id` of a daemon; by default, its machine's name."},
}
BINDING = {"bindingVersion": "0.2.0"}


class OwnedAvailability(Availability):
    """Whether a robot takes requests; it does so only while its daemon is online, too."""

    bridge: str | None
    """The daemon's id; null once the daemon has let the robot's name go."""
    discovery: str = ""
    """On which topic Home Assistant is told of the robot, where it is."""


class DaemonAvailability(Told):
    """Whether a daemon is there; `broken` is its last will."""

    state: Literal["online", "offline", "broken"]
    host: str
    """Its machine's name."""
    instance: str
    """Differs from run to run."""
    requests_qos: Literal[0, 1] = 1
    """By which quality of service requests get to it soonest; told while it is online."""


class Heartbeat(Told):
    """Nothing: that it comes back is all."""


class RequestHeartbeat(Told):
    """Nothing: that it comes back, on each connection, is how the daemon knows that requests come to it."""


class Pulse(Told):
    """How far a daemon's robots are with a start; several times a second, and at once where that changes."""

    start: str | None
    """The start's id; null in the will of the connection for starts (MQTT 3.1.1), which tells no more."""
    robots: dict[str, Literal["committed", "ready", "playing", "ended", "released"]]
    """Its own robots that take part; `ended`: played to its end."""
    agrees: bool
    """Whether the daemon knows of all robots of the start that they are ready."""
    reasons: dict[str, str]
    """Why robots were released."""


MODELS: dict[str, type[Told]] = {**REPORT_MODELS, "availability": OwnedAvailability}


@cache
def asyncapi() -> dict[str, Any]:
    """Return the document."""
    operations = dict([*_daemon(), *_reports(), *_requests(), *_fleet_requests()])
    channels = {name: channel for one in operations.values() for name, channel in one.pop("channels").items()}
    messages = {name: message for one in channels.values() for name, message in one.pop("said").items()}
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": "motiond",
            "version": "1",
            "description": "Plays motion files on real actuators. docs/mqtt.md tells more of all this.",
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
            "description": "Yours, as `mqtt.broker` says; `mqtts` by TLS, and 3.1.1 by `mqtt.protocol`.",
            "variables": {"host": {"default": "localhost"}, "port": {"default": "1883"}},
            "security": [password, certificate],
            "bindings": bindings,
        },
    }


def _daemon() -> Iterator[tuple[str, dict[str, Any]]]:
    address, beat, pulse = TOPICS.daemon(DAEMON), TOPICS.heartbeat(DAEMON), TOPICS.pulse(DAEMON)
    request_beat = TOPICS.request_heartbeat(ROBOT)
    yield "send_daemon_availability", _sent("daemon_availability", address, DaemonAvailability, 1, lasts=True)
    yield "send_heartbeat", _sent("heartbeat", beat, Heartbeat, 0, lasts=False)
    yield "send_request_heartbeat", _sent("request_heartbeat", request_beat, RequestHeartbeat, 0, lasts=False)
    yield "send_pulse", _sent("pulse", pulse, Pulse, 0, lasts=False)


def _reports() -> Iterator[tuple[str, dict[str, Any]]]:
    subjects: list[Subject] = sorted(SUBJECTS)
    for subject in subjects:
        address, lasts = TOPICS.report(ROBOT, subject), subject in LASTING
        sent = _sent(subject, address, MODELS.get(subject), qos_of(subject), lasts=lasts)
        yield f"send_{subject}", sent


def _sent(name: str, address: str, model: type[Told] | None, qos: int, *, lasts: bool) -> dict[str, Any]:
    """Return the operation by which the daemon tells something, with its channel."""
    message = _message(name, _first_line(model), _payload(model))
    return {
        "action": "send",
        "channel": {"$ref": f"#/channels/{name}"},
        "summary": _first_line(model),
        "bindings": {"mqtt": {"qos": qos, "retain": lasts, **BINDING}},
        "messages": [{"$ref": f"#/channels/{name}/messages/{name}"}],
        "channels": {name: _channel(address, message)},
    }


def _requests() -> Iterator[tuple[str, dict[str, Any]]]:
    for verb, about in VERBS.items():
        told = _told_of_requests(stops=about.stops)
        received = _received(verb, TOPICS.request(ROBOT, verb), about.schema, _way_back(), told)
        yield f"receive_{_named(verb)}", received | _answered(verb, received)


def _fleet_requests() -> Iterator[tuple[str, dict[str, Any]]]:
    told = "One message for all robots that it names; each answers for itself. At most 65536 bytes."
    for verb, schema in FLEET_SCHEMAS.items():
        received = _received(f"group/{verb}", TOPICS.request(FLEET, verb), schema, {}, told)
        yield f"receive_group_{verb}", received | _answered(f"{FLEET}/{verb}", received)


def _received(
    verb: str, address: str, schema: type[BaseModel], way_back: dict[str, Any], told: str
) -> dict[str, Any]:
    """Return the operation by which the daemon takes requests, with their channel, but for the answer."""
    asked = f"{_named(verb)}_request"
    request = _message(asked, _first_line(schema), _payload(schema)) | way_back
    request["correlationId"] = {"location": "$message.payload#/transaction"}
    return {
        "action": "receive",
        "channel": {"$ref": f"#/channels/{asked}"},
        "summary": _first_line(schema),
        "description": told,
        "bindings": {"mqtt": {"qos": 1, "retain": False, **BINDING}},
        "messages": [{"$ref": f"#/channels/{asked}/messages/{asked}"}],
        "channels": {asked: _channel(address, request)},
    }


def _answered(verb: str, received: dict[str, Any]) -> dict[str, Any]:
    """Return what an operation says of its answer, and its channels with that of the answer."""
    name = _named(verb)
    answered = f"{name}_response"
    answer = _message(f"{name}_answer", f"The answer to `{verb}`.", _answer(verb))
    messages = [{"$ref": f"#/channels/{answered}/messages/{one}"} for one in (f"{name}_answer", "refusal")]
    channel = _channel(TOPICS.response(ROBOT, verb), answer, _refusal())
    return {
        "reply": {"channel": {"$ref": f"#/channels/{answered}"}, "messages": messages},
        "channels": received["channels"] | {answered: channel},
    }


def _named(verb: str) -> str:
    return re.sub(r"\W", "_", verb)


def _told_of_requests(*, stops: bool) -> str:
    told = f"At most {MOST_BYTES} bytes; an empty payload is an empty object. It must not be retained."
    acts = " It acts whatever it carries, and each time that it is sent." if stops else ""
    return told + acts


def _way_back() -> dict[str, Any]:
    """Return what MQTT 5 lets a client say of where the answer is to go."""
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
        "said": {one["name"]: one for one in messages},
    }


def _message(name: str, summary: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "summary": summary, "contentType": "application/json", "payload": payload}


def _payload(model: type[BaseModel] | None) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{model.__name__}"} if model else {"type": "object"}


def _answer(verb: str) -> dict[str, Any]:
    """Return the schema of an answer with what this verb's tells."""
    schema = Answer.model_json_schema(
        ref_template="#/components/schemas/{model}", schema_generator=DescribedSchema
    )
    schema["properties"] = schema["properties"] | {
        "data": _payload((DATA_MODELS | FLEET_DATA_MODELS).get(verb))
    }
    return {key: value for key, value in schema.items() if key not in {"title", "description"}}


def _first_line(model: type[BaseModel] | None) -> str:
    return (model.__doc__ or "").splitlines()[0] if model else "An object."


def _schemas() -> dict[str, Any]:
    requests: list[type[BaseModel]] = [*(verb.schema for verb in VERBS.values()), *FLEET_SCHEMAS.values()]
    of_daemon: list[type[BaseModel]] = [
        DaemonAvailability,
        Heartbeat,
        RequestHeartbeat,
        Pulse,
        Refusal,
    ]
    answers = [*DATA_MODELS.values(), *FLEET_DATA_MODELS.values()]
    models = [*of_daemon, *MODELS.values(), *answers, *requests]
    _, told = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(models)],
        ref_template="#/components/schemas/{model}",
        schema_generator=DescribedSchema,
    )
    schemas: dict[str, Any] = told["$defs"]
    return dict(sorted(schemas.items()))
