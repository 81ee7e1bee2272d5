"""The tables of docs/fleet.md are those of the recorded messages, and these are what the models say."""

from pathlib import Path

import orjson
import pytest

from motiond.daemon.api.reports import SUBJECTS
from tests.bench import traffic
from tests.bench.traffic import messages, recorded
from tests.daemon.mqtt import contract

PAGE = Path(__file__).parents[3] / "docs" / "fleet.md"


@pytest.mark.parametrize("table", [traffic.by_topic, traffic.by_count])
def test_each_table_of_the_page_is_what_the_messages_give(table: traffic.Table) -> None:
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("message", messages(moves=True), ids=lambda message: message.topic)
def test_each_message_is_as_the_document_says(message: traffic.Message) -> None:
    contract.check(message.topic, message.payload, qos=min(message.qos, 1), retain=message.retain)


def test_what_is_told_in_motion_is_counted_whole() -> None:
    rarely = {"availability", "description", "motions", "lease"}
    counted = {one.topic.rpartition("/")[2] for one in messages(moves=True)}
    assert counted >= SUBJECTS - rarely - {"reservation"}
    assert {topic.rpartition("/")[2] for topic in recorded()} - counted == rarely


def test_a_packet_is_as_long_as_mqtt_says() -> None:
    (heartbeat,) = [one for one in messages(moves=True) if one.topic.endswith("heartbeat")]
    assert orjson.loads(heartbeat.payload) == {}
    assert heartbeat.wire_bytes == 2 + 2 + len("motiond/bridge/arm-pc/heartbeat") + 2
