from __future__ import annotations

import asyncio
import time
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import (
    VERBS,
    Dispatcher,
    GroupDispatcher,
    HolderRequest,
    Lease,
    RawRequest,
    RequestError,
    parse,
)
from motiond.daemon.api.dispatcher import MOST_RUNNING
from motiond.daemon.api.request_log import RequestLog
from motiond.daemon.api.transactions import (
    MOST_REMEMBERED,
    MOST_REMEMBERED_BYTES,
    REMEMBERED_S,
    Transactions,
)
from tests.daemon import answers
from tests.daemon.answers import whole
from tests.daemon.conftest import NoGroups, Robots

if TYPE_CHECKING:
    from motiond.daemon.api import Request


@pytest.fixture
def dispatcher(robots: Robots) -> Dispatcher:
    return Dispatcher(robots)


def play(**keys: Any) -> RawRequest:
    return RawRequest("arm", "play", orjson.dumps({"motion": "wave", **keys}))


def refused(code: str, error: str, transaction: str | None = None, **data: Any) -> dict[str, Any]:
    return {"status": "error", "code": code, "error": error, "data": data, "transaction": transaction}


async def answer(dispatcher: Dispatcher, call: RawRequest) -> Any:
    return whole(orjson.loads(await dispatcher.answer(call)))


async def test_what_the_commands_refuse_is_passed_on(dispatcher: Dispatcher) -> None:
    said = await answer(dispatcher, play(motion="unknown", transaction="t"))
    assert said == refused("UNKNOWN_MOTION", "arm: no motion 'unknown'", "t", known=["wave"])


async def test_who_asks_is_passed_on_as_the_log_has_it(
    dispatcher: Dispatcher, robots: Robots, arms_lease: Lease
) -> None:
    secret = arms_lease.acquire("night shift")["lease"]
    await answer(dispatcher, replace(play(lease=secret), caller="10.0.0.7 over HTTP"))
    assert robots.asked_by == "night shift, 10.0.0.7 over HTTP"
    await answer(dispatcher, replace(play(), robot="hand", caller=""))
    assert robots.asked_by == "a client"


async def test_an_unforeseen_failure_is_answered_and_logged(
    dispatcher: Dispatcher, robots: Robots, caplog: pytest.LogCaptureFixture
) -> None:
    said = await answer(dispatcher, play(motion="crash", transaction="t"))
    reason = "ZeroDivisionError('division by zero')"
    message = f"arm/play: failed inside motiond; {reason}; the daemon's log says more"
    assert said == refused("INTERNAL", message, "t")
    assert "arm/play failed" in caplog.text
    assert (await answer(dispatcher, play()))["status"] == "ok"
    assert robots.verbs() == ["play", "play"]


async def test_acting_is_bounded_in_time(robots: Robots) -> None:
    robots.gate.clear()
    said = await answer(Dispatcher(robots, handle_timeout_s=0.01), play())
    reason = "the robot is idle"
    assert said == refused("TIMEOUT", f"arm/play: not done in 0.01 s; {reason}; it was given up")


@pytest.mark.parametrize(
    ("expired_s", "lifetime_s"),
    [(1.25, None), (0.001, 60), (None, 0)],
    ids=["expires_at", "barely", "MQTT 5"],
)
async def test_an_expired_request_is_refused(
    dispatcher: Dispatcher, robots: Robots, expired_s: float | None, lifetime_s: int | None
) -> None:
    keys = {} if expired_s is None else {"expires_at": time.time() - expired_s}
    deadline_s, late_s = None if lifetime_s is None else time.time() + lifetime_s, expired_s or 0.0
    reason = "it was not to be served any more; send it again, or with more time"
    message = f"arm/play: expired {late_s:.3f} s ago; {reason}"
    late = replace(play(**keys), deadline_s=deadline_s)
    assert await answer(dispatcher, late) == refused("EXPIRED", message, late_s=late_s)
    assert robots.handled == []
    assert (await answer(dispatcher, play(expires_at=time.time() + 0.001)))["status"] == "ok"


async def test_a_repeated_transaction_gets_its_first_answer_whatever_it_was(
    dispatcher: Dispatcher, robots: Robots
) -> None:
    for motion in ("wave", "unknown", "crash"):
        first = await dispatcher.answer(play(motion=motion, transaction=motion))
        again = await dispatcher.answer(play(motion=motion, transaction=motion, expires_at=time.time() - 9.0))
        assert again == first
    assert len(robots.handled) == 3


async def test_a_transaction_that_was_used_for_another_request_is_refused(
    dispatcher: Dispatcher, robots: Robots
) -> None:
    first = await dispatcher.answer(play(transaction="t"))
    assert await answer(dispatcher, play(transaction="t", loop=2)) == refused(
        "INVALID_REQUEST",
        "arm/play: transaction 't' was used for another request; its answer is not the answer to this one; "
        "give each request a transaction of its own",
        "t",
    )
    assert (
        await dispatcher.answer(play(transaction="t", lease="renewed", expires_at=time.time() + 9.0)) == first
    )
    assert robots.verbs() == ["play"]


async def test_a_transaction_belongs_to_its_robot_and_verb(dispatcher: Dispatcher, robots: Robots) -> None:
    for robot, verb in (("arm", "stop"), ("hand", "stop"), ("arm", "reset")):
        await dispatcher.answer(RawRequest(robot, verb, b'{"transaction":"t"}'))
    assert len(robots.handled) == 3


@pytest.mark.parametrize("verb", ["stop", "estop"])
async def test_a_stop_acts_each_time_also_with_a_transaction_that_was_served(
    dispatcher: Dispatcher, robots: Robots, verb: str
) -> None:
    for _ in range(2):
        said = await answer(dispatcher, RawRequest("arm", verb, b'{"transaction":"t"}'))
        assert (said["status"], said["transaction"]) == ("ok", "t")
    assert robots.verbs() == [verb, verb]


@pytest.mark.parametrize(
    ("payload", "transaction", "ignored"),
    [
        (
            b"ON",
            None,
            "not JSON at line 1 column 1; a request is a JSON object in UTF-8, without NaN; correct it",
        ),
        (
            b'{"soft":1,"transaction":"t"}',
            "t",
            "unknown key 'soft'; stop knows goal_id, transaction, expires_at, lease",
        ),
        (b'{"transaction":5}', None, "'transaction' is 5; it must be a valid string; correct it"),
        (b"x" * 65_537, None, "65537 bytes; a request has at most 16384; send less"),
        (b'{"lease":"a","lease":"b"}', None, "'lease' stands twice; one key has one value; leave one out"),
    ],
)
async def test_a_stop_acts_whatever_it_carries_and_says_what_it_ignored(
    dispatcher: Dispatcher, robots: Robots, payload: bytes, transaction: str | None, ignored: str
) -> None:
    said = await answer(dispatcher, RawRequest("arm", "stop", payload))
    data = answers.ANSWERS["stop"] | {"ignored": f"arm/stop: {ignored}"}
    assert said == {"status": "ok", "data": data, "transaction": transaction}
    assert robots.verbs() == ["stop"]


@pytest.mark.parametrize("payload", [b"ON", b'{"expires_at":1}'], ids=["text", "expired"])
async def test_a_stop_that_is_not_meant_now_does_not_act(
    dispatcher: Dispatcher, robots: Robots, payload: bytes
) -> None:
    kept = RequestError("RETAINED", "arm/stop", "retained") if payload == b"ON" else None
    said = await answer(dispatcher, RawRequest("arm", "stop", payload, refusal=kept))
    assert said["status"] == "error"
    assert robots.handled == []


async def test_a_refused_key_does_not_use_up_the_transaction(dispatcher: Dispatcher, robots: Robots) -> None:
    said = await answer(dispatcher, play(sped=1, transaction="t"))
    assert (said["code"], said["transaction"]) == ("INVALID_REQUEST", "t")
    assert (await answer(dispatcher, play(transaction="t")))["status"] == "ok"
    assert robots.verbs() == ["play"]


async def test_a_flood_is_refused_but_never_a_stop(dispatcher: Dispatcher, robots: Robots) -> None:
    robots.gate.clear()
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(dispatcher.answer(play())) for _ in range(MOST_RUNNING)]
        await asyncio.sleep(0)
        message = "arm/play: 32 requests are being served; a robot takes no more at once; "
        assert await answer(dispatcher, play()) == refused("BUSY", message + "wait for their answers")
        for call in (
            RawRequest("arm", "stop", b""),
            RawRequest("arm", "estop", b""),
            RawRequest("hand", "status", b""),
        ):
            assert (await answer(dispatcher, call))["status"] == "ok"
        robots.gate.set()
    assert all(orjson.loads(task.result())["status"] == "ok" for task in waiting)
    assert (await answer(dispatcher, play()))["status"] == "ok"


@pytest.mark.parametrize(
    ("verb", "body"),
    [("status", {}), ("play", {"motion": "wave", "transaction": "t"}), ("stop", {"unknown": "key"})],
    ids=str,
)
async def test_nothing_is_kept_of_a_robot_that_somebody_has_made_up(
    dispatcher: Dispatcher, robots: Robots, verb: str, body: dict[str, Any]
) -> None:
    async def ask(number: int) -> None:
        name = f"{number}" + "x" * 50_000
        said = await answer(dispatcher, RawRequest(name, verb, orjson.dumps(body)))
        error = f"no robot '{name[:59]}…'; there are arm, hand"
        assert said == refused("UNKNOWN_ROBOT", error, body.get("transaction"))

    await ask(0)
    tracemalloc.start()
    try:
        for number in range(200):
            await ask(number)
        kept_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept_bytes < 200_000
    assert robots.handled == []


async def test_data_that_is_not_json_is_an_internal_error(dispatcher: Dispatcher, robots: Robots) -> None:
    robots.answers["status"] = {"of": object()}
    assert (await answer(dispatcher, RawRequest("arm", "status", b"")))["code"] == "INTERNAL"


async def answered(transactions: Transactions, transaction: object, answer: bytes = b"x") -> None:
    async def act() -> bytes:
        return answer

    await transactions.answered_by(act, str(transaction))


async def test_first_answers_are_forgotten_by_bytes_and_the_newest_is_kept() -> None:
    transactions = Transactions()
    for number in range(10):
        await answered(transactions, number, b"x" * (MOST_REMEMBERED_BYTES // 4))
    assert [number for number in range(10) if transactions.first(str(number))] == [6, 7, 8, 9]
    await answered(transactions, "huge", b"x" * (2 * MOST_REMEMBERED_BYTES))
    assert transactions.first("9") is None
    assert transactions.first("huge") is not None
    await answered(transactions, "small")
    assert transactions.first("huge") is None
    assert transactions.first("small") is not None


async def test_first_answers_are_forgotten_by_number_and_by_age() -> None:
    transactions = Transactions()
    for number in range(MOST_REMEMBERED + 1):
        await answered(transactions, number)
    known = [number for number in (0, 1, MOST_REMEMBERED) if transactions.first(str(number))]
    assert known == [1, MOST_REMEMBERED]
    await asyncio.sleep(REMEMBERED_S + 1.0)
    assert transactions.first(str(MOST_REMEMBERED)) is None


# -- who is in control --------------------------------------------------------------------------------------


@pytest.fixture
def arms_lease(robots: Robots) -> Lease:
    robots.leases["arm"] = lease = lease_of("arm")
    return lease


def lease_of(robot: str) -> Lease:
    return Lease(robot, ttl_s=600.0, takeover=True, on_loss=lambda _: None, on_change=lambda **_: None)


NOBODY_HAS_IT = "not in control; nobody has control; acquire it by lease/acquire"
FREE = {
    *("stop", "estop", "status", "queue", "history", "record/start", "record/stop", "recordings", "gamepad"),
    *(verb for verb in VERBS if verb.startswith("lease/")),
}


@pytest.mark.parametrize("verb", sorted(VERBS.keys() - FREE))
async def test_what_commands_a_robot_needs_its_lease_where_one_is_required(
    dispatcher: Dispatcher, robots: Robots, arms_lease: Lease, verb: str
) -> None:
    body = orjson.loads(answers.BODIES.get(verb, b"{}"))
    said = await answer(dispatcher, RawRequest("arm", verb, orjson.dumps(body)))
    assert said == refused("NOT_IN_CONTROL", f"arm/{verb}: {NOBODY_HAS_IT}", **arms_lease.payload())
    assert robots.handled == []
    secret = arms_lease.acquire("ana")["lease"]
    said = await answer(dispatcher, RawRequest("arm", verb, orjson.dumps({**body, "lease": secret + "x"})))
    assert (said["code"], said["data"]["holder"]) == ("NOT_IN_CONTROL", "ana")
    assert robots.handled == []
    said = await answer(dispatcher, RawRequest("arm", verb, orjson.dumps({**body, "lease": secret})))
    assert said["status"] == "ok"
    assert robots.verbs() == [verb]


@pytest.mark.parametrize("verb", sorted(FREE))
async def test_stops_looks_and_the_way_to_a_lease_need_none(
    dispatcher: Dispatcher, robots: Robots, arms_lease: Lease, verb: str
) -> None:
    arms_lease.acquire("ana")
    said = await answer(dispatcher, RawRequest("arm", verb, answers.BODIES.get(verb, b"{}")))
    assert said["status"] == "ok"
    assert robots.verbs() == [verb]


async def test_the_lease_of_one_robot_is_nothing_to_another(
    dispatcher: Dispatcher, robots: Robots, arms_lease: Lease
) -> None:
    call = RawRequest("hand", "reset", b'{"lease":"any"}')
    assert (await answer(dispatcher, call))["status"] == "ok"
    robots.leases["hand"] = lease_of("hand")
    secret = arms_lease.acquire("ana")["lease"]
    call = RawRequest("hand", "reset", orjson.dumps({"lease": secret}))
    assert (await answer(dispatcher, call))["error"] == f"hand/reset: {NOBODY_HAS_IT}"


async def test_what_was_refused_for_want_of_control_may_be_sent_again_with_its_transaction(
    dispatcher: Dispatcher, robots: Robots, arms_lease: Lease
) -> None:
    assert (await answer(dispatcher, play(transaction="t")))["code"] == "NOT_IN_CONTROL"
    secret = arms_lease.acquire("ana")["lease"]
    first = await answer(dispatcher, play(transaction="t", lease=secret))
    assert first["status"] == "ok"
    arms_lease.release(secret)
    assert await answer(dispatcher, play(transaction="t")) == first  # which acts no more
    assert robots.verbs() == ["play"]


class Leased(Robots):
    """Robots whose leases are acted on, as the registry does."""

    async def handle(
        self, robot: str, verb: str, request: Request, asked_by: str | None = None
    ) -> dict[str, Any]:
        self.asked_by = asked_by
        name = verb.removeprefix("lease/")
        holder = (request.holder,) if isinstance(request, HolderRequest) else ()
        return {**getattr(self.leases[robot], name)(*holder, request.lease)}


@pytest.fixture
def leased() -> Dispatcher:
    robots = Leased()
    robots.leases["arm"] = lease_of("arm")
    return Dispatcher(robots)


async def asked(dispatcher: Dispatcher, verb: str, **keys: Any) -> dict[str, Any]:
    """Ask for a lease, always by the same transaction."""
    keys["transaction"] = "t"
    said: dict[str, Any] = await answer(dispatcher, RawRequest("arm", f"lease/{verb}", orjson.dumps(keys)))
    return said


async def test_a_lease_is_told_again_to_the_request_that_it_was_given_to_and_to_no_other(
    leased: Dispatcher,
) -> None:
    given = await asked(leased, "acquire", holder="olga")
    assert await asked(leased, "acquire", holder="olga") == given
    others = await asked(leased, "acquire", holder="ana")
    assert (others["code"], others["data"]["holder"]) == ("NOT_IN_CONTROL", "olga")
    assert "lease" not in others["data"]
    assert await asked(leased, "acquire", holder="olga") == given


@pytest.mark.parametrize("verb", ["acquire", "take"])
async def test_a_lease_that_was_lost_is_not_told_again(leased: Dispatcher, verb: str) -> None:
    dead = (await asked(leased, verb, holder="olga"))["data"]["lease"]
    released = await asked(leased, "release", lease=dead)
    assert released["status"] == "ok"
    assert await asked(leased, "release", lease=dead) == released
    again = await asked(leased, verb, holder="olga")
    assert again["status"] == "ok"
    assert again["data"]["lease"] != dead
    assert await asked(leased, verb, holder="olga") == again
    assert (await asked(leased, "renew", lease=again["data"]["lease"]))["status"] == "ok"


async def test_a_renewal_of_a_lease_that_was_lost_is_not_told_again(leased: Dispatcher) -> None:
    lease = (await asked(leased, "acquire", holder="olga"))["data"]["lease"]
    renewed = await asked(leased, "renew", lease=lease)
    assert await asked(leased, "renew", lease=lease) == renewed
    await asked(leased, "take", holder="ana")
    assert (await asked(leased, "renew", lease=lease))["code"] == "NOT_IN_CONTROL"


@pytest.mark.parametrize("holder", ["", "x" * 61, "a\nb", "a\x1b[2Jb", " ana", "a\u202eb", 7, None])
async def test_a_holder_has_a_name_that_can_be_shown(
    dispatcher: Dispatcher, robots: Robots, holder: Any
) -> None:
    said = await answer(dispatcher, RawRequest("arm", "lease/acquire", orjson.dumps({"holder": holder})))
    assert said["code"] == "INVALID_REQUEST"
    assert said["error"].startswith("arm/lease/acquire: 'holder' is ")
    assert robots.handled == []


# -- what the log has ----------------------------------------------------------------------------------------


async def logged(robots: Robots, caplog: pytest.LogCaptureFixture, *calls: RawRequest) -> list[str]:
    caplog.set_level("INFO", "motiond")
    caplog.clear()
    dispatcher = Dispatcher(robots)
    dispatcher._log = RequestLog(clock=lambda: 0.0)
    for call in calls:
        await dispatcher.answer(call)
    assert {record.levelname for record in caplog.records} <= {"INFO"}
    return caplog.messages


async def test_the_log_has_who_asked_for_what_and_who_was_refused(
    robots: Robots, caplog: pytest.LogCaptureFixture
) -> None:
    ana, hand = "ana over HTTP", RawRequest("hand", "enable", b"")
    reason = "a request is a JSON object in UTF-8, without NaN; correct it"
    assert await logged(
        robots,
        caplog,
        replace(play(speed=2, transaction="t"), caller=ana),
        replace(play(motion="unknown"), caller=ana),
        RawRequest("arm", "play", b"[", ana),
        RawRequest("arms", "stop", b"", ana),
        hand,
        RawRequest("arm", "status", b"", ana),
        RawRequest("arm", "lease/renew", b"{}", ana),
        RawRequest("arm", "record/start", b'{"name":"trial"}', ana),
        RawRequest("arm", "record/stop", b"", ana),
        RawRequest("arm", "recordings", b"", ana),
    ) == [
        'arm/play: asked by ana over HTTP; {"motion":"wave","speed":2.0}',
        'arm/play: asked by ana over HTTP; {"motion":"unknown"}',
        "arm/play: refused to ana over HTTP; arm: no motion 'unknown'",
        f"arm/play: refused to ana over HTTP; arm/play: not JSON at line 1 column 2; {reason}",
        "arms/stop: refused to ana over HTTP; no robot 'arms'; there are arm, hand; did you mean 'arm'?",
        "hand/enable: asked by a client",
        'arm/record/start: asked by ana over HTTP; {"name":"trial"}',
        "arm/record/stop: asked by ana over HTTP",
    ]


async def test_the_log_names_who_is_in_control_and_keeps_their_lease(
    robots: Robots, caplog: pytest.LogCaptureFixture
) -> None:
    lease = Lease("arm", ttl_s=5.0, takeover=True, on_loss=print, on_change=lambda **_: None)
    robots.leases["arm"] = lease
    secret = lease.acquire("ana@desk")["lease"]
    messages = await logged(robots, caplog, play(lease=secret), play(lease="guessed"), play())
    assert messages[0] == 'arm/play: asked by ana@desk; {"motion":"wave"}'
    assert [message.partition(";")[0] for message in messages[1:]] == ["arm/play: refused to a client"] * 2
    assert not any(secret in message for message in messages)


async def test_a_stop_that_is_sent_again_and_again_is_logged_once(
    robots: Robots, caplog: pytest.LogCaptureFixture
) -> None:
    stop, estop, reset = (RawRequest("arm", verb, b"") for verb in ("stop", "estop", "reset"))
    calls = (stop, *([estop] * 40), RawRequest("hand", "estop", b""), reset, estop, estop)
    assert await logged(robots, caplog, *calls) == [
        f"{name}: asked by a client"
        for name in ("arm/stop", "arm/estop", "hand/estop", "arm/reset", "arm/estop")
    ]


def test_keys_are_logged_under_the_names_under_which_they_are_sent(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "motiond")
    save = RawRequest("arm", "teach/save", b'{"name":"wave","from":"poses"}')
    RequestLog().asked(save, parse(save), "arm")
    assert caplog.messages == ['arm/teach/save: asked by a client; {"name":"wave","from":"poses"}']


def test_a_stop_is_logged_again_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "motiond")
    times_s = iter((0.0, 9.0, 18.0, 29.0))
    request_log, stop = RequestLog(clock=lambda: next(times_s)), RawRequest("arm", "stop", b"")
    counts = []
    for _ in range(4):
        request_log.asked(stop, parse(stop), "arm")
        counts.append(len(caplog.messages))
    assert counts == [1, 1, 1, 2]


async def test_a_flood_of_requests_to_one_robot_fills_no_log_and_hides_neither_a_stop_nor_another_robot(
    robots: Robots, caplog: pytest.LogCaptureFixture
) -> None:
    flood = [play(motion="unknown")] * 500
    messages = await logged(
        robots, caplog, *flood, RawRequest("arm", "stop", b""), RawRequest("hand", "enable", b"")
    )
    assert len(messages) == 10 + 10 + 2
    assert messages[-2:] == ["arm/stop: asked by a client", "hand/enable: asked by a client"]


async def test_the_log_has_requests_to_groups_as_well(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "motiond")
    dispatcher, ana = GroupDispatcher(NoGroups()), "ana over HTTP"
    for verb, payload in (("play", b'{"motion":"wave"}'), ("play", b"{}"), ("stop", b""), ("stop", b"")):
        await dispatcher.answer(RawRequest("choir", verb, payload, ana))
    assert caplog.messages == [
        'choir/play: asked by ana over HTTP; {"motion":"wave"}',
        "choir/play: refused to ana over HTTP; no group 'choir'",
        "choir/play: refused to ana over HTTP; choir/play: 'motion' is missing; play needs it; add it",
        "choir/stop: asked by ana over HTTP",
        "choir/stop: refused to ana over HTTP; no group 'choir'",
        "choir/stop: refused to ana over HTTP; no group 'choir'",
    ]
