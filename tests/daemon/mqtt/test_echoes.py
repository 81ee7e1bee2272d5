"""What an access list swallows without a word."""

import pytest

from motiond.daemon.mqtt.bridge.retained import Echoes


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


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
