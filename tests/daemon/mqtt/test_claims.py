"""Who has a robot's name, where two daemons on one broker have a robot of that name."""

import tracemalloc
from typing import Any

import pytest

from motiond.daemon.mqtt.bridge.claims import LONGEST_HOST, MOST_DAEMONS, Claims

ONLINE = {"state": "online", "host": "bench"}
OFFLINE = {"state": "offline", "host": "bench"}


def claim(daemon_id: str) -> dict[str, str]:
    return {"state": "online", "bridge": daemon_id}


@pytest.fixture
def claims() -> Claims:
    return Claims("ours", ("arm", "hand"))


def test_a_robot_is_another_s_while_its_daemon_is_online(
    claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    claims.take_robot("arm", claim("theirs"))
    assert claims.holder("arm") is None  # left by a daemon that has gone
    claims.take_daemon("theirs", ONLINE)
    assert claims.holder("arm") == "theirs"
    assert claims.holder("hand") is None
    claims.take_daemon("theirs", OFFLINE)
    assert claims.holder("arm") is None
    assert caplog.messages == [
        (
            "arm: daemon 'theirs' on bench has a robot of this name on this broker; "
            "ours publishes nothing and takes nothing but stops; rename one of the two"
        ),
        "arm: daemon 'theirs' has released the name; it is ours now",
    ]


OURS, THEIRS = claim("ours"), claim("theirs")


@pytest.mark.parametrize(
    ("reports", "holder"),
    [
        ([], None),
        ([OURS, THEIRS], None),
        ([THEIRS, OURS], "theirs"),
        ([OURS, "new connection", THEIRS], "theirs"),
        ([{}, {"bridge": 3}, {"state": "online"}], None),
        ([claim("x" * 50_000 + "!")], None),
    ],
)
def test_the_first_claim_by_a_daemon_that_is_online_holds_until_the_next_connection(
    claims: Claims, reports: list[Any], holder: str | None
) -> None:
    for daemon in ("theirs", "x" * 50_000 + "!"):
        claims.take_daemon(daemon, ONLINE)
    claims.take_robot("stranger", THEIRS)
    for report in reports:
        if report == "new connection":
            claims.forget()
            claims.take_daemon("theirs", ONLINE)
        else:
            claims.take_robot("arm", report)
    assert (claims.holder("arm"), claims.holder("stranger")) == (holder, None)


def test_two_daemons_that_claim_at_once_agree() -> None:
    ours, theirs = Claims("ours", ("arm",)), Claims("theirs", ("arm",))
    for each in (ours, theirs):
        each.take_daemon("ours", ONLINE)
        each.take_daemon("theirs", ONLINE)
        each.take_robot("arm", claim("theirs"))
        each.take_robot("arm", claim("ours"))
    assert ours.holder("arm") == "theirs"
    assert theirs.holder("arm") is None


@pytest.mark.parametrize(
    ("daemon", "report", "lines"),
    [
        (ONLINE, THEIRS, []),
        (OFFLINE, OURS, ["arm: daemon 'theirs' has released the name; it is ours now"]),
    ],
)
def test_on_a_new_connection_a_name_changes_its_holder_only_once_everything_has_arrived(
    claims: Claims,
    caplog: pytest.LogCaptureFixture,
    daemon: dict[str, str],
    report: dict[str, str],
    lines: list[str],
) -> None:
    claims.take_daemon("theirs", ONLINE)
    claims.take_robot("arm", THEIRS)
    caplog.clear()
    claims.forget()
    assert claims.holder("arm") == "theirs"
    claims.take_daemon("theirs", daemon)
    claims.take_robot("arm", report)
    claims.settle()
    assert claims.holder("arm") == (None if lines else "theirs")
    assert caplog.messages == lines


def test_a_robot_that_its_daemon_releases_is_ours_though_that_daemon_stays(
    claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    claims.take_daemon("theirs", ONLINE)
    claims.take_robot("arm", claim("theirs"))
    caplog.clear()
    claims.take_robot("arm", {})  # cleared by anybody; its daemon reports it again
    assert claims.holder("arm") == "theirs"
    claims.take_robot("arm", {"state": "offline", "bridge": None})
    assert claims.holder("arm") is None
    assert caplog.messages == ["arm: daemon 'theirs' has released the name; it is ours now"]


def test_strangers_cannot_fill_the_memory_with_daemons(claims: Claims) -> None:
    tracemalloc.start()
    try:
        for number in range(2 * MOST_DAEMONS):
            claims.take_daemon(f"made-up-{number}", {"state": "online", "host": "h" * 60_000})
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < MOST_DAEMONS * (2 * LONGEST_HOST + 500)
