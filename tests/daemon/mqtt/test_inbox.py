"""The bounded queue of requests."""

import aiomqtt
import pytest

from motiond.daemon.mqtt.bridge.requests_session import LOG_PERIOD_S, MOST_BYTES, MOST_WAITING, Inbox


def message(payload: bytes) -> aiomqtt.Message:
    return aiomqtt.Message("motiond/arm/request/play", payload, 0, False, 1, None)


async def test_requests_come_in_their_order_with_their_places() -> None:
    inbox = Inbox()
    for number in range(3):
        inbox.put(message(b"%d" % number), number)
    assert [((await inbox.get())[0].payload, number) for number in range(3)] == [
        (b"0", 0),
        (b"1", 1),
        (b"2", 2),
    ]


async def test_what_does_not_fit_is_dropped_counted_and_logged_now_and_then(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = Inbox()
    for _ in range(MOST_WAITING + 500):
        inbox.put(message(b"{}"), 0)
    assert inbox.refused == 500
    line = "requests: 1 dropped, 1 since the start; 256 wait already, or 4 MB; send fewer"
    assert caplog.messages == [line]
    monkeypatch.setattr("motiond.daemon.mqtt.bridge.requests_session.LOG_PERIOD_S", 0.0)
    inbox.put(message(b"{}"), 0)
    line = "requests: 500 dropped, 501 since the start; 256 wait already, or 4 MB; send fewer"
    assert caplog.messages[1:] == [line]
    assert LOG_PERIOD_S == 10.0


async def test_it_is_bounded_in_bytes_too_and_takes_more_once_there_is_room() -> None:
    inbox = Inbox()
    large = message(b"x" * (MOST_BYTES // 2 - 100))  # the topic counts as well
    for _ in range(3):
        inbox.put(large, 0)
    assert inbox.refused == 1
    await inbox.get()
    inbox.put(large, 0)
    assert inbox.refused == 1
