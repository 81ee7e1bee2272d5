"""The flow for Node-RED: wires lead to nodes, topics are motiond's, and what it sends is taken."""

from __future__ import annotations

import re
from typing import Any

import orjson
import pytest

from motiond.daemon.api import VERBS
from motiond.daemon.mqtt.asyncapi import asyncapi
from tests.docs.blocks import CHECKOUT

FLOW: list[dict[str, Any]] = orjson.loads((CHECKOUT / "docs" / "howto" / "node-red.json").read_bytes())
NODES = {node["id"]: node for node in FLOW}
CORE = {"tab", "mqtt-broker", "mqtt in", "mqtt out", "inject", "switch", "debug"}


def of_type(kind: str) -> list[dict[str, Any]]:
    return [node for node in FLOW if node["type"] == kind]


def topics(action: str) -> list[str]:
    """Return patterns of the topics that motiond sends on, or receives."""
    document = asyncapi()
    channels = [
        document["channels"][one["channel"]["$ref"].rpartition("/")[2]]
        for one in document["operations"].values()
        if one["action"] == action
    ]
    answers = [
        document["channels"][one["reply"]["channel"]["$ref"].rpartition("/")[2]]
        for one in document["operations"].values()
        if "reply" in one and action == "send"
    ]
    names = [channel["address"] for channel in (*channels, *answers)]
    return [re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(name)) for name in names]


def is_one_of(topic: str, patterns: list[str]) -> bool:
    return any(re.fullmatch(pattern, topic) for pattern in patterns)


def test_nodes_are_node_reds_own_and_each_has_an_id_of_its_own() -> None:
    assert len(NODES) == len(FLOW)
    assert {node["type"] for node in FLOW} == CORE


def test_wires_lead_to_nodes() -> None:
    wires = [target for node in FLOW for output in node.get("wires", []) for target in output]
    assert len(wires) > 5
    assert [target for target in wires if target not in NODES] == []
    assert [node["id"] for node in FLOW if node.get("broker") in NODES] == [
        node["id"] for node in FLOW if node["type"] in {"mqtt in", "mqtt out"}
    ]


def test_it_hears_what_motiond_says() -> None:
    told = topics("send")
    assert [node["topic"] for node in of_type("mqtt in") if not is_one_of(node["topic"], told)] == []
    assert not is_one_of("motiond/arm/stat", told)


@pytest.mark.parametrize("node", of_type("mqtt out"), ids=lambda node: node["topic"])
def test_what_it_sends_is_a_request_that_is_taken(node: dict[str, Any]) -> None:
    assert (node["qos"], node["retain"]) == ("1", "false")
    base, robot, request, verb = node["topic"].split("/")
    assert (base, robot, request) == ("motiond", "arm", "request")
    assert is_one_of(node["topic"], topics("receive"))
    (button,) = (one for one in of_type("inject") if [node["id"]] in one["wires"])
    assert button["payloadType"] == "json"
    VERBS[verb].request.model_validate(orjson.loads(button["payload"]))
