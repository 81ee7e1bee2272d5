"""What a topic means, and where an answer may be sent."""

from __future__ import annotations

import pytest

from motiond.daemon.mqtt.topics import DaemonTopic, ReportTopic, RequestTopic, ResponseTopic, Topics

TOPICS = Topics("plant/motiond")


@pytest.mark.parametrize(
    ("topic", "meaning"),
    [
        (TOPICS.daemon("d1"), DaemonTopic("d1")),
        (TOPICS.report("arm", "state"), ReportTopic("arm", "state")),
        (TOPICS.request("arm", "queue/clear"), RequestTopic("arm", "queue/clear")),
        (TOPICS.response("arm", "play"), ResponseTopic("arm", "play")),
        ("plant/motiond/arm/somewhere/else", None),
        (f"plant/motiond/{'a' * 100}/state", ReportTopic("a" * 100, "state")),
        (f"plant/motiond/{'a' * 101}/state", None),
        (f"plant/motiond/{'a' * 101}/request/play", None),
        (f"plant/motiond/bridge/{'a' * 101}/availability", None),
        ("plant/motiond/a b/availability", None),
    ],
)
def test_a_topic_means_what_it_was_made_for(topic: str, meaning: object) -> None:
    assert TOPICS.meaning(topic) == meaning


@pytest.mark.parametrize(
    "topic",
    [
        "answers/me",
        "plant",
        "plant/motiond2/x",
        "plant/motiond/arm/response/mine",
        "plant/motiond/arm/response/a/b",
    ],
)
def test_an_answer_may_go_to_a_clients_own_topic(topic: str) -> None:
    assert TOPICS.takes_response(topic)


@pytest.mark.parametrize(
    "topic",
    [
        "",
        "$SYS/x",
        "a/+",
        "a/#",
        "a\0b",
        "plant/motiond",
        "plant/motiond/arm/state",
        "plant/motiond/arm/request/play",
        "plant/motiond/bridge/d1/availability",
    ],
)
def test_no_answer_goes_where_it_could_be_taken_for_something_else(topic: str) -> None:
    assert not TOPICS.takes_response(topic)
