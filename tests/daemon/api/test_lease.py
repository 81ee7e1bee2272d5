"""Who commands a robot, on a clock that only the test moves."""

from __future__ import annotations

from typing import Any

import pytest

from motiond.daemon.api import Lease, Loss, RequestError

UNIX_S = 1_700_000_000
TTL_S = 5.0


class Watched(Lease):
    """A lease on a clock of its own, that notes whom it tells what."""

    def __init__(self, *, takeover: bool = True, unix_s: float = UNIX_S) -> None:
        self.now_s, self.unix_s = 100.0, unix_s
        self.losses: list[Loss] = []
        self.changes: list[tuple[str | None, bool]] = []
        super().__init__(
            "arm",
            ttl_s=TTL_S,
            takeover=takeover,
            on_loss=self.losses.append,
            on_change=self._note,
            now=lambda: self.now_s,
            unix_now=lambda: self.unix_s,
        )

    def _note(self, *, renewed: bool = False) -> None:
        self.changes.append((self.payload()["holder"], renewed))

    def wait(self, duration_s: float) -> None:
        self.now_s += duration_s
        self.unix_s += duration_s


@pytest.fixture
def lease() -> Watched:
    return Watched()


def refused(act: Any, *arguments: Any) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(RequestError) as caught:
        act(*arguments)
    return caught.value.code, str(caught.value), caught.value.data


def of_ana(expires_in_s: float = TTL_S) -> dict[str, Any]:
    return {"holder": "ana", "epoch": UNIX_S + 1, "expires_at": UNIX_S + expires_in_s}


NOBODYS = {"holder": None, "epoch": UNIX_S, "expires_at": None}
ANA_HAS_IT = "not in control; ana has it; ask them to release it, or take control"
NOBODY_HAS_IT = "not in control; nobody has control; acquire it by lease/acquire"


def test_who_comes_first_gets_control_and_a_secret_that_is_told_to_nobody_else(lease: Watched) -> None:
    given = lease.acquire("ana")
    secret = given.pop("lease")
    assert given == {**of_ana(), "ttl_s": TTL_S}
    lease.admit("arm/play", secret)
    assert lease.payload() == of_ana()
    assert secret not in str(lease.renew(secret))
    assert lease.changes == [("ana", False)]
    assert lease.losses == []


def test_a_secret_cannot_be_guessed(lease: Watched) -> None:
    secrets = set()
    for _ in range(3):
        secrets.add(secret := lease.acquire("ana")["lease"])
        lease.release(secret)
    assert len(secrets) == 3
    assert min(map(len, secrets)) >= 22  # of 128 bits


@pytest.mark.parametrize("shown", [None, "", "ana", str(UNIX_S + 1), "ä", "\udc80"])
def test_others_are_refused_and_told_who_has_control(lease: Watched, shown: str | None) -> None:
    lease.acquire("ana")
    assert refused(lease.admit, "arm/play", shown) == ("NOT_IN_CONTROL", f"arm/play: {ANA_HAS_IT}", of_ana())
    for act in (lease.renew, lease.release):
        assert refused(act, shown)[1] == f"arm/lease/{act.__name__}: {ANA_HAS_IT}"


def test_the_second_of_two_who_want_control_is_told_who_has_it_whatever_its_name(lease: Watched) -> None:
    secret = lease.acquire("ana")["lease"]
    for name in ("bob", "ana"):
        message = f"arm/lease/acquire: {ANA_HAS_IT}"
        assert refused(lease.acquire, name) == ("NOT_IN_CONTROL", message, of_ana())
    lease.admit("arm/play", secret)


def test_the_holder_who_acquires_again_renews(lease: Watched) -> None:
    secret = lease.acquire("ana")["lease"]
    lease.wait(4.0)
    assert lease.acquire("ana", secret) == {**of_ana(9.0), "ttl_s": TTL_S, "lease": secret}
    assert lease.take("ana", secret) == {**of_ana(9.0), "ttl_s": TTL_S, "lease": secret}
    assert lease.losses == []


@pytest.mark.parametrize("shown", [None, "", "x"])
def test_without_anybody_in_control_nobody_commands(lease: Watched, shown: str | None) -> None:
    told = ("NOT_IN_CONTROL", f"arm/play: {NOBODY_HAS_IT}", NOBODYS)
    assert refused(lease.admit, "arm/play", shown) == told


def test_a_lease_that_is_renewed_lasts_and_one_that_is_not_is_lost_at_its_time(lease: Watched) -> None:
    secret = lease.acquire("ana")["lease"]
    for _ in range(10):
        lease.wait(4.99)
        lease.renew(secret)
    lease.wait(4.99)
    lease.look()
    lease.admit("arm/play", secret)
    assert lease.losses == []
    lease.wait(0.011)
    lease.look()
    assert lease.losses == [Loss("ana")]
    assert lease.changes[-1] == (None, False)
    assert lease.payload() == {**NOBODYS, "epoch": UNIX_S + 1}
    lease.look()
    assert len(lease.losses) == 1


@pytest.mark.parametrize("verb", ["renew", "release"])
def test_what_has_run_out_is_neither_renewed_nor_released(lease: Watched, verb: str) -> None:
    secret = lease.acquire("ana")["lease"]
    lease.wait(TTL_S)
    code, message, _ = refused(getattr(lease, verb), secret)
    assert (code, message) == ("NOT_IN_CONTROL", f"arm/lease/{verb}: {NOBODY_HAS_IT}")
    assert lease.losses == [Loss("ana")]


def test_a_loss_is_told_before_somebody_else_gets_control_also_where_nobody_has_looked(
    lease: Watched,
) -> None:
    lease.acquire("ana")
    lease.wait(TTL_S)
    assert lease.acquire("bob")["holder"] == "bob"
    assert lease.losses == [Loss("ana")]
    assert lease.changes == [("ana", False), (None, False), ("bob", False)]


@pytest.mark.parametrize("step_s", [-3e8, -10.0, 10.0, 3e8])
def test_a_clock_that_is_set_neither_ends_nor_prolongs_a_lease(lease: Watched, step_s: float) -> None:
    secret = lease.acquire("ana")["lease"]
    lease.unix_s += step_s
    lease.wait(4.9)
    lease.admit("arm/play", secret)
    assert lease.payload()["expires_at"] == pytest.approx(lease.unix_s + 0.1)
    lease.wait(0.2)
    assert refused(lease.admit, "arm/play", secret)[0] == "NOT_IN_CONTROL"


def test_release_is_no_loss_and_lets_the_next_one_in(lease: Watched) -> None:
    secret = lease.acquire("ana")["lease"]
    assert lease.release(secret) == {**NOBODYS, "epoch": UNIX_S + 1}
    assert lease.losses == []
    assert refused(lease.admit, "arm/play", secret)[0] == "NOT_IN_CONTROL"
    assert lease.acquire("bob")["epoch"] == UNIX_S + 2


def test_control_is_taken_by_force_and_the_other_one_is_told(lease: Watched) -> None:
    before = lease.acquire("ana")["lease"]
    given = lease.take("bob")
    assert (given["holder"], given["epoch"]) == ("bob", UNIX_S + 2)
    assert lease.losses == [Loss("ana", "bob")]
    assert lease.changes == [("ana", False), ("bob", False)]
    lease.admit("arm/play", given["lease"])
    whose = "bob has it; ask them to release it, or take control"
    assert refused(lease.admit, "arm/play", before)[1] == f"arm/play: not in control; {whose}"
    assert refused(lease.renew, before)[1] == f"arm/lease/renew: not in control; {whose}"


def test_control_is_not_taken_where_that_is_forbidden() -> None:
    lease = Watched(takeover=False)
    secret = lease.acquire("ana")["lease"]
    ask = "ask them to release it, or wait until it runs out"
    message = f"arm/lease/take: control cannot be taken from ana; lease.takeover is off; {ask}"
    assert refused(lease.take, "bob") == ("NOT_ALLOWED", message, of_ana())
    assert refused(lease.admit, "arm/play", None)[1] == f"arm/play: not in control; ana has it; {ask}"
    lease.admit("arm/play", secret)
    lease.wait(TTL_S)
    assert lease.take("bob")["holder"] == "bob"
    assert lease.losses == [Loss("ana")]


def test_a_restart_makes_old_leases_worthless_and_goes_on_counting(lease: Watched) -> None:
    secret = lease.acquire("ana")["lease"]
    later = Watched(unix_s=UNIX_S + 60.0)
    assert refused(later.renew, secret)[0] == "NOT_IN_CONTROL"
    assert later.acquire("bob")["epoch"] > lease.epoch


def test_renewals_are_told_no_more_than_four_times_in_the_time_that_a_lease_lasts(lease: Watched) -> None:
    secret = lease.acquire("ana")["lease"]
    for _ in range(1000):
        lease.wait(0.01)
        lease.renew(secret)
    assert lease.changes.count(("ana", True)) in {7, 8}  # in 10 s, twice as long
