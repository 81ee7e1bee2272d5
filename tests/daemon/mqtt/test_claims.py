"""Who has a robot's name, where two daemons on one broker have a robot of that name."""

import tracemalloc

import pytest

from motiond.daemon.mqtt.bridge.claims import LONGEST_HOST, MOST_DAEMONS, Claims

ONLINE = {"state": "online", "host": "bench"}
OFFLINE = {"state": "offline", "host": "bench"}


def claim(daemon_id: str) -> dict[str, str]:
    return {"state": "online", "bridge": daemon_id}


@pytest.fixture
def claims() -> Claims:
    return Claims("ours", ("arm", "hand"))


def test_a_robot_that_nobody_claims_is_ours(claims: Claims) -> None:
    assert claims.holder("arm") is None


def test_a_robot_is_another_s_while_its_daemon_is_online(
    claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    claims.hear_robot("arm", claim("theirs"))
    assert claims.holder("arm") is None  # left by a daemon that has gone
    claims.hear_daemon("theirs", ONLINE)
    assert claims.holder("arm") == "theirs"
    assert claims.holder("hand") is None
    claims.hear_daemon("theirs", OFFLINE)
    assert claims.holder("arm") is None
    assert caplog.messages == [
        (
            "arm: daemon 'theirs' on bench has a robot of this name on this broker; "
            "ours publishes nothing and takes nothing but stops; rename one of the two"
        ),
        "arm: daemon 'theirs' has released the name; it is ours now",
    ]


def test_the_first_claim_that_comes_by_holds(claims: Claims) -> None:
    claims.hear_daemon("theirs", ONLINE)
    claims.hear_robot("arm", claim("ours"))
    claims.hear_robot("arm", claim("theirs"))
    assert claims.holder("arm") is None


def test_a_claim_of_ours_that_comes_second_does_not_hold(claims: Claims) -> None:
    claims.hear_daemon("theirs", ONLINE)
    claims.hear_robot("arm", claim("theirs"))
    claims.hear_robot("arm", claim("ours"))
    assert claims.holder("arm") == "theirs"


def test_two_daemons_that_claim_at_once_agree() -> None:
    ours, theirs = Claims("ours", ("arm",)), Claims("theirs", ("arm",))
    for each in (ours, theirs):
        each.hear_daemon("ours", ONLINE)
        each.hear_daemon("theirs", ONLINE)
        each.hear_robot("arm", claim("theirs"))
        each.hear_robot("arm", claim("ours"))
    assert ours.holder("arm") == "theirs"
    assert theirs.holder("arm") is None


def test_what_is_no_claim_changes_nothing(claims: Claims) -> None:
    claims.hear_daemon("theirs", ONLINE)
    for data in ({}, {"bridge": 3}, {"state": "online"}):
        claims.hear_robot("arm", data)
    claims.hear_robot("stranger", claim("theirs"))
    assert claims.holder("arm") is None
    assert claims.holder("stranger") is None


def test_on_a_new_connection_the_names_are_claimed_anew(claims: Claims) -> None:
    claims.hear_daemon("theirs", ONLINE)
    claims.hear_robot("arm", claim("ours"))
    claims.forget()
    claims.hear_daemon("theirs", ONLINE)
    claims.hear_robot("arm", claim("theirs"))
    assert claims.holder("arm") == "theirs"


def test_on_a_new_connection_the_name_stays_another_s_and_nothing_is_told_until_all_has_come(
    claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    claims.hear_daemon("theirs", ONLINE)
    claims.hear_robot("arm", claim("theirs"))
    caplog.clear()
    claims.forget()
    assert claims.holder("arm") == "theirs"
    claims.hear_daemon("theirs", ONLINE)
    assert claims.holder("arm") == "theirs"
    claims.hear_robot("arm", claim("theirs"))
    claims.settle()
    assert claims.holder("arm") == "theirs"
    assert caplog.messages == []


def test_a_name_that_was_let_go_while_the_connection_was_away_is_told_once_all_has_come(
    claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    claims.hear_daemon("theirs", ONLINE)
    claims.hear_robot("arm", claim("theirs"))
    caplog.clear()
    claims.forget()
    claims.hear_daemon("theirs", OFFLINE)
    claims.hear_robot("arm", claim("ours"))
    claims.settle()
    assert claims.holder("arm") is None
    assert caplog.messages == ["arm: daemon 'theirs' has released the name; it is ours now"]


def test_a_robot_that_its_daemon_lets_go_is_ours_though_that_daemon_stays(
    claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    claims.hear_daemon("theirs", ONLINE)
    claims.hear_robot("arm", claim("theirs"))
    caplog.clear()
    claims.hear_robot("arm", {})  # cleared by whomever; its daemon tells of it again
    assert claims.holder("arm") == "theirs"
    claims.hear_robot("arm", {"state": "offline", "bridge": None})
    assert claims.holder("arm") is None
    assert caplog.messages == ["arm: daemon 'theirs' has released the name; it is ours now"]


def test_strangers_cannot_fill_the_memory_with_daemons(claims: Claims) -> None:
    tracemalloc.start()
    try:
        for number in range(2 * MOST_DAEMONS):
            claims.hear_daemon(f"made-up-{number}", {"state": "online", "host": "h" * 60_000})
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < MOST_DAEMONS * (2 * LONGEST_HOST + 500)


def test_a_claim_by_what_can_be_no_daemon_is_none(claims: Claims) -> None:
    claims.hear_robot("arm", claim("x" * 50_000 + "!"))
    claims.hear_daemon("x" * 50_000 + "!", ONLINE)
    assert claims.holder("arm") is None
