"""What is kept at the broker, what others make of it, and what an access list swallows."""

from __future__ import annotations

import pytest

from motiond.daemon.mqtt.bridge.retained import Echoes, RetainedTopics

WILL = b"broken"


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def topics(clock: list[float]) -> RetainedTopics:
    topics = RetainedTopics(lambda: clock[0], WILL)
    topics.say("a", b"1")
    topics.say("b", b"2")
    topics.hear("a", b"1")
    topics.hear("b", b"2")
    return topics


@pytest.mark.parametrize(("heard", "what"), [(b"", "cleared"), (b"else", "overwritten")])
def test_what_others_change_is_logged_once_a_minute(
    topics: RetainedTopics, clock: list[float], heard: bytes, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock[0] += 2.0
    assert list(topics.overwritten()) == []
    for _ in range(3):
        topics.hear("a", heard)
        assert list(topics.overwritten()) == [("a", b"1")]
        clock[0] += 2.0
    line = f"a: {what} by another client; it is published again; see who may publish there"
    assert caplog.messages == [line]
    clock[0] += 60.0
    list(topics.overwritten())
    assert caplog.messages == [line, line]


def test_a_will_that_the_broker_published_is_replaced_and_not_logged(
    topics: RetainedTopics, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    clock[0] += 2.0
    topics.hear("a", WILL)
    assert list(topics.overwritten()) == [("a", b"1")]
    assert caplog.messages == []


def test_what_is_on_its_way_is_not_taken_for_overwritten(topics: RetainedTopics, clock: list[float]) -> None:
    clock[0] += 2.0
    topics.say("a", b"new")
    assert list(topics.overwritten()) == []
    clock[0] += 60.0  # as a long list of motions may take, and whatever is queued behind it
    assert list(topics.overwritten()) == []
    topics.hear("a", b"new")
    clock[0] += 2.0
    assert list(topics.overwritten()) == []


def test_late_echoes_are_not_logged(
    topics: RetainedTopics, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    for said in (b"2", b"3", b"2", b"4"):
        topics.say("a", said)
    clock[0] += 60.0
    for heard in (b"2", b"3", b"2"):
        topics.hear("a", heard)
        assert list(topics.overwritten()) == []
    topics.hear("a", b"4")
    clock[0] += 60.0
    assert list(topics.overwritten()) == []
    assert caplog.messages == []


def test_a_session_may_bring_late_echoes_on_the_next_connection(
    topics: RetainedTopics, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    topics.say("a", b"2")
    topics.forget()
    topics.say("a", b"3")
    clock[0] += 60.0
    topics.hear("a", b"2")
    assert list(topics.overwritten()) == []
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("published", "received"), [([b"2"], [b"2", b"1"]), ([b"2", b"3"], [b"2", b"a lie"])]
)
def test_what_is_received_after_its_echo_or_between_late_echoes_is_of_another_client(
    topics: RetainedTopics,
    clock: list[float],
    published: list[bytes],
    received: list[bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    for payload in published:
        topics.say("a", payload)
    clock[0] += 2.0
    for payload in received:
        topics.hear("a", payload)
    assert list(topics.overwritten()) == [("a", published[-1])]
    assert caplog.messages == [
        "a: overwritten by another client; it is published again; see who may publish there"
    ]


def test_what_was_not_said_is_not_looked_after(topics: RetainedTopics, clock: list[float]) -> None:
    topics.hear("c", b"3")
    topics.forget()
    topics.hear("a", b"else")
    clock[0] += 2.0
    assert list(topics.overwritten()) == []


# -- what does not come back --------------------------------------------------------------------------------


@pytest.fixture
def echoes(clock: list[float]) -> Echoes:
    echoes = Echoes(lambda: clock[0])
    echoes.say("a")
    echoes.hear("a")
    return echoes


SWALLOWED = (
    "c: what is published there does not come back{others}; "
    "permit the daemon to publish and subscribe there in the broker's access list"
)


@pytest.mark.parametrize(
    ("swallowed", "others"),
    [("c", ""), ("cd", ", nor on another topic"), ("cde", ", nor on 2 others")],
)
def test_all_that_does_not_come_back_is_counted_also_what_is_said_again_and_again(
    echoes: Echoes,
    clock: list[float],
    swallowed: str,
    others: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(8):  # s; the last of them begins a little later
        for name in swallowed:
            echoes.say(name)
            clock[0] += 0.1
        clock[0] += 1.0
        echoes.log_silence(())
    assert caplog.messages == [SWALLOWED.format(others=others)]


def test_what_comes_back_late_and_what_is_known_is_not_logged(
    echoes: Echoes, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    echoes.say("late")
    echoes.say("known")
    clock[0] += 4.5
    echoes.log_silence({"known"})
    echoes.hear("late")
    clock[0] += 9.0
    echoes.log_silence({"known"})
    assert caplog.messages == []
