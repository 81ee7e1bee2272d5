"""The AsyncAPI document is that of the code, valid, and holds all topics."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from motiond.daemon.api import SUBJECTS, VERBS
from motiond.daemon.mqtt.asyncapi import asyncapi
from motiond.daemon.mqtt.topics import Topics

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
RUN = "run scripts/make_asyncapi.py"


@cache
def document() -> Any:
    """Return it as its readers have it; made when it is first asked for, which takes a while."""
    return json.loads(json.dumps(asyncapi()))


def test_the_document_is_that_of_the_code() -> None:
    stored = json.loads((ROOT / "docs" / "asyncapi.json").read_text(encoding="utf-8"))
    assert stored == document(), RUN


def test_it_is_valid_by_the_published_schema() -> None:
    schema = json.loads((ROOT / "tests" / "files" / "asyncapi" / "3.0.0.json").read_text(encoding="utf-8"))
    validator = Draft7Validator(schema)
    assert [error.message for error in validator.iter_errors(document())] == []
    broken = document() | {"operations": {"play": {"action": "shout"}}}
    assert not validator.is_valid(broken)


def test_every_schema_is_one_and_every_reference_leads_somewhere() -> None:
    for schema in document()["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
        Draft7Validator.check_schema(schema)
    references = set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(document())))
    assert len(references) > 100
    for reference in references:
        found = document()
        for key in reference.split("/"):
            found = found[key]


def test_every_topic_has_its_channel_and_every_channel_its_operation() -> None:
    topics = Topics("{base}")
    reports = {topics.report("{robot}", subject) for subject in SUBJECTS}
    requests = {topics.request("{robot}", verb) for verb in VERBS}
    responses = {topics.response("{robot}", verb) for verb in VERBS}
    daemons = {topics.daemon("{daemon}"), topics.heartbeat("{daemon}")}
    daemons.add(topics.request_heartbeat("{robot}"))
    addresses = [channel["address"] for channel in document()["channels"].values()]
    assert sorted(addresses) == sorted(reports | requests | responses | daemons)
    used = set()
    for operation in document()["operations"].values():
        used.add(operation["channel"]["$ref"])
        if operation["action"] == "receive":
            used.add(operation["reply"]["channel"]["$ref"])
    assert used == {f"#/channels/{name}" for name in document()["channels"]}


def test_the_kinds_of_events_are_those_of_the_page() -> None:
    page = (
        (ROOT / "docs" / "mqtt.md").read_text(encoding="utf-8").split("**Events** have")[1].split("\n## ")[0]
    )
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    named = {kind for row in rows for kind in re.findall(r"`(\w+)`", row.split(" | ")[0])}
    kinds = document()["components"]["schemas"]["EventReport"]["properties"]["kind"]["enum"]
    assert named == set(kinds)
