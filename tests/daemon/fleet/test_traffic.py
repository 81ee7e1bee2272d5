"""The tables of docs/fleet.md are those of the recorded messages, and these are what the models say."""

from pathlib import Path

import orjson
import pytest

from bench import traffic
from bench.traffic import messages, recorded
from tests.daemon.mqtt import contract

PAGE = Path(__file__).parents[3] / "docs" / "fleet.md"


@pytest.mark.parametrize("table", [traffic.by_topic, traffic.by_count])
def test_each_table_of_the_page_is_what_the_messages_give(table: traffic.Table) -> None:
    assert "\n".join(table()) in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("topic", sorted(recorded()))
def test_each_message_is_as_the_document_says(topic: str) -> None:
    sent = {one.topic: one for one in messages("in motion")}
    if topic in sent:
        one = sent[topic]
        contract.check(one.topic, one.payload, qos=min(one.qos, 1), retain=one.retain)
    else:
        contract.check(topic, orjson.dumps(recorded()[topic]), qos=1, retain=True)


def test_every_topic_of_a_daemon_was_recorded() -> None:
    sent = {
        name.removeprefix("send_") for name in contract.closed()["operations"] if name.startswith("send_")
    }
    on_connections_alone = {"request_heartbeat"}
    assert sent - {contract.channel_of(topic) for topic in recorded()} == on_connections_alone
