"""Checks what is received over MQTT against the AsyncAPI document."""

from __future__ import annotations

import re
from copy import deepcopy
from functools import cache
from typing import Any

import orjson
from jsonschema import Draft7Validator

from motiond.daemon.mqtt.asyncapi import asyncapi

ANSWERS = re.compile(r"[^/]+/response/.*")


@cache
def closed() -> dict[str, Any]:
    """Return the document with objects that hold nothing but the keys that it names."""
    document = deepcopy(asyncapi())
    _close(document["components"]["messages"])
    _close(document["components"]["schemas"])
    return document


def _close(part: Any) -> None:
    if isinstance(part, dict):
        if part.get("type") == "object" and isinstance(part.get("properties"), dict):
            part.setdefault("additionalProperties", False)
        for child in part.values():
            _close(child)
    elif isinstance(part, list):
        for child in part:
            _close(child)


@cache
def patterns(base: str) -> list[tuple[re.Pattern[str], str]]:
    """Return what each channel's topic matches, the plainest first."""
    channels = sorted(closed()["channels"].items(), key=lambda item: item[1]["address"].count("{"))
    return [
        (re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(one["address"].replace("{base}", base)))), name)
        for name, one in channels
    ]


def channel_of(topic: str, base: str = "motiond") -> str | None:
    """Return the channel that a topic belongs to."""
    return next((name for pattern, name in patterns(base) if pattern.fullmatch(topic)), None)


def check(topic: str, payload: bytes, *, qos: int, retain: bool, base: str = "motiond") -> None:
    """Hold a message of the daemon's, or a client's request, to the document.

    `qos` is that by which a subscription of QoS 1 brings it.
    """
    name = channel_of(topic, base)
    if name is None:  # an answer to what is no verb, or one to where its client wanted it
        assert ANSWERS.fullmatch(topic.removeprefix(f"{base}/")), f"{topic}: no channel of the document"
        assert orjson.loads(payload)["status"] in {"ok", "error"}
        return
    if name.endswith("_request"):
        check_request(topic, payload, base)
        return
    sent = closed()["operations"].get(f"send_{name}")
    if sent is None:
        assert (qos, retain) == (1, False), topic
        messages = [f"{name.removesuffix('_response')}_answer", "refusal"]
        data = orjson.loads(payload)
        message = messages[data["status"] != "ok"]
    else:
        binding = sent["bindings"]["mqtt"]
        assert qos == min(binding["qos"], 1), topic
        assert binding["retain"] or not retain, topic
        if not payload and binding["retain"]:  # what the broker keeps is cleared
            return
        message, data = name, orjson.loads(payload)
    validator(message).validate(data)


def check_request(topic: str, payload: bytes, base: str = "motiond") -> None:
    """Hold a request to the document."""
    name = channel_of(topic, base)
    assert name is not None, f"{topic}: no channel of the document"
    validator(name).validate(orjson.loads(payload or b"{}"))


@cache
def validator(message: str) -> Draft7Validator:
    schema = {"$ref": f"#/components/messages/{message}/payload"}
    return Draft7Validator({**schema, "components": closed()["components"]})
