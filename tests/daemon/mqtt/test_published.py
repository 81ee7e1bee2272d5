"""What was published: whether it comes back, what others overwrite, and what an access list drops."""

from __future__ import annotations

import pytest

from motiond.daemon.mqtt.bridge.published import PublishedTopics

WILL = b"broken"


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def topics(clock: list[float]) -> PublishedTopics:
    topics = PublishedTopics(lambda: clock[0], WILL)
    for topic, payload in (("a", b"1"), ("b", b"2")):
        topics.publish(topic, payload)
        topics.receive(topic, payload)
    return topics


def overwritten(topics: PublishedTopics) -> list[tuple[str, bytes]]:
    return list(topics.overwritten())


@pytest.mark.parametrize(("received", "what"), [(b"", "cleared"), (b"else", "overwritten")])
def test_what_others_change_is_logged_once_a_minute(
    topics: PublishedTopics,
    clock: list[float],
    received: bytes,
    what: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock[0] += 2.0
    assert overwritten(topics) == []
    for _ in range(3):
        topics.receive("a", received)
        assert overwritten(topics) == [("a", b"1")]
        clock[0] += 2.0
    line = f"a: {what} by another client; it is published again; see who may publish there"
    assert caplog.messages == [line]
    clock[0] += 60.0
    overwritten(topics)
    assert caplog.messages == [line, line]


LATE_S = 60.0
"""As long as a list of motions may take, and whatever is queued behind it."""


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        pytest.param([2.0, WILL], b"1", id="a will that the broker published is replaced"),
        pytest.param([("new",), LATE_S], None, id="what is on its way"),
        pytest.param([("new",), LATE_S, b"new", 2.0], None, id="what comes back late"),
        pytest.param([("2", "3", "2", "4"), LATE_S, b"2", b"3", b"2"], None, id="late echoes of several"),
        pytest.param([("2",), "new connection", ("3",), LATE_S, b"2"], None, id="an echo of a session"),
        pytest.param(["new connection", b"else", 2.0], None, id="what was not published since"),
    ],
)
def test_what_comes_late_and_a_will_are_not_logged(
    topics: PublishedTopics,
    clock: list[float],
    steps: list[object],
    found: bytes | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topics.receive("c", b"of nobody here")
    for step in steps:
        match step:
            case float():
                clock[0] += step
            case bytes():
                topics.receive("a", step)
            case tuple():
                for payload in step:
                    topics.publish("a", payload.encode())
            case _:
                topics.begin()
        assert step == WILL or overwritten(topics) == []
    assert overwritten(topics) == ([] if found is None else [("a", found)])
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("published", "received"), [([b"2"], [b"2", b"1"]), ([b"2", b"3"], [b"2", b"a lie"])]
)
def test_what_is_received_after_its_echo_or_between_late_echoes_is_of_another_client(
    topics: PublishedTopics,
    clock: list[float],
    published: list[bytes],
    received: list[bytes],
    caplog: pytest.LogCaptureFixture,
) -> None:
    for payload in published:
        topics.publish("a", payload)
    clock[0] += 2.0
    for payload in received:
        topics.receive("a", payload)
    assert overwritten(topics) == [("a", published[-1])]
    assert caplog.messages == [
        "a: overwritten by another client; it is published again; see who may publish there"
    ]


def test_nothing_is_kept_of_what_is_not_retained_so_that_nobody_overwrites_it(
    topics: PublishedTopics, clock: list[float]
) -> None:
    topics.publish("result", b"1", retained=False)
    topics.receive("result", b"of another daemon")
    clock[0] += 2.0
    assert overwritten(topics) == []


# -- what does not come back --------------------------------------------------------------------------------

DROPPED = (
    "c: what is published there does not come back{others}; "
    "permit the daemon to publish and subscribe there in the broker's access list"
)


@pytest.mark.parametrize(
    ("dropped", "others"),
    [("c", ""), ("cd", ", nor on another topic"), ("cde", ", nor on 2 others")],
)
def test_all_that_does_not_come_back_is_counted_also_what_is_published_again_and_again(
    topics: PublishedTopics,
    clock: list[float],
    dropped: str,
    others: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(8):  # s; the last of them begins a little later
        for name in dropped:
            topics.publish(name, b"", retained=False)
            clock[0] += 0.1
        clock[0] += 1.0
        topics.log_silence(())
    assert caplog.messages == [DROPPED.format(others=others)]


def test_what_comes_back_late_and_what_is_known_is_not_logged(
    topics: PublishedTopics, clock: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    topics.publish("late", b"")
    topics.publish("known", b"")
    clock[0] += 4.5
    topics.log_silence({"known"})
    topics.receive("late", b"")
    clock[0] += 9.0
    topics.log_silence({"known"})
    assert caplog.messages == []
