"""A robot that is reserved for a start of its group, with its real stream process on simulated actuators."""

from __future__ import annotations

import asyncio
import time
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import VERBS, CommitRequest, Dispatcher, RawRequest, RequestError
from motiond.daemon.robots.group_start.reservation import GUARD_S, TELLING_S
from motiond.daemon.robots.group_start.reservation_reporter import UNTOLD
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import Rig
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry

pytestmark = pytest.mark.slow

NOBODYS = "a token of nobody's"
EXPIRES = "reserved for start 's1'; it expires in 8.2 s"
START = "'start' is 'a/b'; it must be of printable characters other than /, + and #"
TOO_SHORT = "ready_in_s is 0.1; the robot has said that it needs {needs:g} s"
INTERFERING: dict[str, dict[str, Any]] = {
    "play": {"motion": "short"},
    "goto": {"joints": {"elbow": 0.1}},
    "enable": {},
    "disable": {},
    "torque": {"on": False},
    "resume": {},
    "speed": {"speed": 0.5},
    "seek": {"frame": 1},
    "reset": {},
    "servo/reboot": {"servos": ["elbow"]},
}


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["groups"] = ["choir"]
    return rig


async def ask(registry: RobotRegistry, verb: str, **body: Any) -> dict[str, Any]:
    """Ask as every transport does."""
    async with asyncio.timeout(PATIENCE_S):
        answer = await Dispatcher(registry).answer(RawRequest("arm", verb, orjson.dumps(body)))
    told: dict[str, Any] = orjson.loads(answer)
    return told


async def ok(registry: RobotRegistry, verb: str, **body: Any) -> dict[str, Any]:
    told = await ask(registry, verb, **body)
    assert told["status"] == "ok", told
    data: dict[str, Any] = told["data"]
    return data


async def prepared(rig: Rig, registry: RobotRegistry, **more: Any) -> dict[str, Any]:
    await rig.until_state("idle")
    return await ok(
        registry, "fleet/prepare", **({"motion": "short", "start": "s1", "expires_s": 60.0} | more)
    )


def commit_of(answer: dict[str, Any], in_s: float = 60.0, **more: Any) -> CommitRequest:
    keys = {"start": answer["start"], "robots": ["arm"], "ready_in_s": answer["ready_in_s"]}
    keys["tokens"] = {"arm": answer.get("token", NOBODYS)}
    return CommitRequest(**(keys | {"start_at": time.time() + in_s} | more))


def is_still(rig: Rig) -> bool:
    """Whether nothing was moved: every setpoint was the first one."""
    positions = read_trace(rig.folder / "trace.npy")["position"]
    return len(positions) > 0 and bool((positions == positions[0]).all())


def reservations(rig: Rig) -> list[dict[str, Any]]:
    return [report.data for report in rig.reports if report.subject == "reservation"]


async def until_phase(rig: Rig, phase: str | None, since: int = 0) -> dict[str, Any]:
    return await rig.until("reservation", lambda data: data["phase"] == phase, since)


# -- prepare ------------------------------------------------------------------------------------------------


async def test_a_robot_is_planned_for_and_reserved_and_does_not_move(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry, speed=0.5, loop=3, seam="approach")
        told = await until_phase(rig, "reserved")
        assert told == UNTOLD | {"start": "s1", "phase": "reserved", "expires_at": answer["expires_at"]}
        assert reservations(rig) == [UNTOLD, told]
        assert answer["start"] == "s1"
        assert answer["duration_s"] == pytest.approx(3 * 0.5 / 0.5)
        assert answer["ready_in_s"] > TELLING_S + GUARD_S
        assert 0.0 < answer["expires_at"] - time.time() <= 60.001  # it is rounded
        assert (await ok(registry, "status"))["torque"]
    assert is_still(rig)


async def test_what_would_interfere_is_refused_and_names_the_start(rig: Rig) -> None:
    assert {verb for verb, about in VERBS.items() if about.interferes} == set(INTERFERING)
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        registry.reservations["arm"]._now = lambda: registry.reservations["arm"]._held.ends_s - 8.2  # type: ignore[union-attr]
        for verb, body in INTERFERING.items():
            told = await ask(registry, verb, **body)
            assert (told["code"], told["error"]) == (
                "RESERVED",
                f"arm/{verb}: {EXPIRES}; wait, or let it go by fleet/release or stop",
            )
            assert told["data"] == {"start": "s1", "expires_at": answer["expires_at"]}
        told = await ask(registry, "fleet/prepare", motion="short", start="s2")
        assert (told["code"], told["data"]["start"]) == ("RESERVED", "s1")
        assert (await ask(registry, "pause"))["code"] == "NOT_PLAYING"
        assert (await ok(registry, "queue"))["queue"] == []


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            {"motion": "shrt"},
            "UNKNOWN_MOTION",
            "arm: no motion 'shrt'; there are long, short; did you mean 'short'?",
        ),
        ({"motion": "short", "speed": 10.0}, "INVALID_MOTION", None),
        (
            {"motion": "short", "start": "a/b"},
            "INVALID_REQUEST",
            f"arm/fleet/prepare: {START}; correct it",
        ),
        (
            {"motion": "short", "expires_s": 61},
            "INVALID_REQUEST",
            "arm/fleet/prepare: 'expires_s' is 61; it must be less than or equal to 60; correct it",
        ),
        (
            {"motion": "short", "path_tolerance": {"elbw": 0.1}},
            "INVALID_REQUEST",
            None,
        ),
    ],
    ids=["motion", "speed", "start", "expiry", "tolerance"],
)
async def test_what_cannot_be_played_is_refused_as_of_play_and_reserves_nothing(
    rig: Rig, body: dict[str, Any], code: str, message: str | None
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        told = await ask(registry, "fleet/prepare", **({"start": "s1"} | body))
        assert told["code"] == code
        if message is None:
            message = (await ask(registry, "play", **body))["error"]
        else:
            assert (await ok(registry, "goto", joints={"elbow": 0.2}))["goal_id"]
        assert told["error"] == message
        assert reservations(rig) == [UNTOLD]


async def test_a_robot_of_no_group_cannot_be_reserved(rig: Rig) -> None:
    del rig.robot["groups"]
    async with rig.running() as registry:
        await rig.until_state("idle")
        told = await ask(registry, "fleet/prepare", motion="short", start="s1")
        assert (told["code"], told["error"]) == (
            "NOT_ALLOWED",
            "arm: it is in no group; name its groups in the configuration",
        )


async def test_a_robot_that_plays_or_has_something_waiting_is_busy(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        plays = await ok(registry, "play", motion="long")
        told = await ask(registry, "fleet/prepare", motion="short", start="s1")
        assert (told["code"], told["error"], told["data"]) == (
            "BUSY",
            "arm: busy with long; one motion plays at a time; stop it first",
            {"goal_id": plays["goal_id"]},
        )


async def test_a_robot_that_is_halted_or_on_another_clock_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ok(registry, "estop")
        told = await ask(registry, "fleet/prepare", motion="short", start="s1")
        assert (told["code"], told["error"]) == (
            "ESTOPPED",
            "arm: short cannot be prepared; the emergency stop is latched; send reset when it is safe",
        )


async def test_a_robot_on_virtual_time_is_refused(rig: Rig) -> None:
    rig.robot["clock"] = "virtual"
    async with rig.running() as registry:
        await rig.until_state("idle")
        told = await ask(registry, "fleet/prepare", motion="short", start="s1")
        assert (told["code"], told["error"]) == (
            "INVALID_REQUEST",
            "arm: a group starts at a time of the real clock; the robot's clock is virtual; play it alone",
        )


async def test_the_same_start_again_is_planned_anew_and_another_motion_takes_its_place(rig: Rig) -> None:
    async with rig.running() as registry:
        first = await prepared(rig, registry, expires_s=20.0)
        second = await prepared(rig, registry, motion="long", token=first["token"])
        assert len({first["token"], second["token"]}) == 2
        assert second["expires_at"] > first["expires_at"] + 30.0
        assert second["duration_s"] == pytest.approx(20.0)


async def test_a_start_that_is_prepared_anew_and_refused_is_let_go(rig: Rig) -> None:
    async with rig.running() as registry:
        token = (await prepared(rig, registry))["token"]
        told = await ask(registry, "fleet/prepare", motion="no", start="s1", token=token)
        assert told["code"] == "UNKNOWN_MOTION"
        told = await until_phase(rig, "released")
        assert told["reason"] == (
            "it was prepared anew and refused; arm: no motion 'no'; there are long, short"
        )
        assert (await ok(registry, "play", motion="short"))["goal_id"]


# -- letting go ---------------------------------------------------------------------------------------------


async def test_a_reservation_expires_by_itself(rig: Rig) -> None:
    async with rig.running() as registry:
        await prepared(rig, registry, expires_s=1.0)
        told = await until_phase(rig, "released")
        reason = "nothing was committed in 1 s"
        assert told == UNTOLD | {"start": "s1", "phase": "released", "reason": reason}
        event = await rig.until("event", lambda data: data["kind"] == "start_released")
        assert event == {"kind": "start_released", "message": f"s1: {reason}", "start": "s1"}
        assert (await ok(registry, "play", motion="short"))["goal_id"]


async def test_a_reservation_whose_time_is_over_refuses_nothing_and_is_not_committed(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        reservation = registry.reservations["arm"]
        reservation._now = lambda: time.monotonic() + 60.0
        with pytest.raises(RequestError) as caught:
            reservation.commit(commit_of(answer))
        assert (caught.value.code, str(caught.value)) == (
            "NOT_RESERVED",
            "arm: not reserved for start 's1'; it has expired, was released or never was; prepare it first",
        )
        assert (await ok(registry, "enable"))["torque"]


@pytest.mark.parametrize("committed", [False, True], ids=["reserved", "committed"])
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("stop", "a stop came before the first row"),
        ("estop", "the emergency stop is latched"),
        ("release", "released on request"),
        ("lost", "the robot is offline; "),
    ],
)
async def test_a_stop_a_release_and_a_lost_robot_let_it_go(
    rig: Rig, how: str, reason: str, *, committed: bool
) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        if committed:
            registry.reservations["arm"].commit(commit_of(answer))
        match how:
            case "release":
                told = await ok(registry, "fleet/release", start="s1", token=answer["token"])
                assert told == {"start": "s1"}
            case "lost":
                registry.members["arm"].listener.on_exit("the process ended")
            case _:
                await ok(registry, how)
        told = await until_phase(rig, "released")
        assert told["reason"].startswith(reason)
        registry.reservations["arm"].begin("s1")
        assert registry.reservations["arm"].phase_of("s1") is None
        assert rig.results() == []
    assert is_still(rig)


async def test_what_is_not_reserved_cannot_be_released(rig: Rig) -> None:
    async with rig.running() as registry:
        await prepared(rig, registry)
        told = await ask(registry, "fleet/release", start="s2", token=NOBODYS)
        assert (told["code"], told["error"]) == (
            "NOT_RESERVED",
            "arm: not reserved for start 's2'; it is for 's1'; prepare it first",
        )
        assert registry.reservations["arm"].phase_of("s1") == "reserved"


async def test_a_daemon_that_ends_lets_it_go(rig: Rig) -> None:
    async with rig.running() as registry:
        await prepared(rig, registry)
    assert (await until_phase(rig, "released"))["reason"] == "the daemon shuts down"


# -- commit -------------------------------------------------------------------------------------------------


async def test_a_commit_without_a_reservation_is_refused_and_told(rig: Rig) -> None:
    async with rig.running() as registry:
        await prepared(rig, registry)
        other = commit_of({"start": "s2", "ready_in_s": 1.0})
        with pytest.raises(RequestError) as caught:
            registry.reservations["arm"].commit(other)
        assert caught.value.code == "NOT_RESERVED"
        told = await until_phase(rig, "released")
        assert told == {
            "start": "s2",
            "phase": "released",
            "start_at": other.start_at,
            "reason": "arm: not reserved for start 's2'; it is for 's1'; prepare it first",
            "expires_at": None,
        }
        assert (await until_phase(rig, "reserved", rig.place_of(told)))["start"] == "s1"


@pytest.mark.parametrize(
    ("in_s", "change", "code", "message"),
    [
        (-5.0, {}, "TOO_LATE", "the robots need {needs:g} s to the first row; set it later"),
        (0.5, {}, "TOO_LATE", "the robots need {needs:g} s to the first row; set it later"),
        (
            60.0,
            {"ready_in_s": 0.1},
            "TOO_LATE",
            f"arm: {TOO_SHORT}; send the longest of all answers",
        ),
        (
            90_000.0,
            {},
            "INVALID_REQUEST",
            "arm: start_at is 90000 s ahead; a robot waits no longer than 86400 s; send the request later",
        ),
    ],
    ids=["past", "too near", "too short", "far"],
)
async def test_a_commit_that_cannot_be_kept_is_refused_and_lets_go(
    rig: Rig, in_s: float, change: dict[str, Any], code: str, message: str
) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        commit = commit_of(answer, in_s, **change)
        reservation = registry.reservations["arm"]
        reservation._unix_now = lambda: commit.start_at - in_s
        with pytest.raises(RequestError) as caught:
            reservation.commit(commit)
        assert caught.value.code == code
        assert str(caught.value).endswith(message.format(needs=answer["ready_in_s"]))
        assert (await until_phase(rig, "released"))["reason"] == str(caught.value)
    assert is_still(rig)


async def test_the_same_commit_again_changes_nothing_and_another_one_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        commit = commit_of(await prepared(rig, registry))
        reservation = registry.reservations["arm"]
        answer = {"start": "s1", "start_at": commit.start_at}
        assert reservation.commit(commit) == answer
        assert reservation.commit(commit.model_copy(update={"transaction": "again"})) == answer
        with pytest.raises(RequestError) as caught:
            reservation.commit(commit.model_copy(update={"start_at": commit.start_at + 1.0}))
        already = f"start 's1' is committed already, to start_at {commit.start_at:.3f}"
        assert (caught.value.code, str(caught.value)) == (
            "BUSY",
            f"arm: {already}; it is committed once; send another start",
        )
        told = await ask(registry, "play", motion="short")
        assert told["error"] == (
            f"arm/play: reserved for start 's1'; it is committed to start_at {commit.start_at:.3f}; "
            "wait, or let it go by fleet/release or stop"
        )
        assert (await ask(registry, "fleet/prepare", motion="short", start="s1"))["code"] == "BUSY"
        await until_phase(rig, "committed")
        assert [told["phase"] for told in reservations(rig)] == [None, "reserved", "committed"]
        await ok(registry, "stop")
        since = len(reservations(rig))
        with pytest.raises(RequestError) as caught:
            reservation.commit(commit)
        assert (caught.value.code, str(caught.value)) == (
            "NOT_RESERVED",
            "arm: start 's1' is over; it is committed once; send another start",
        )
        assert reservations(rig)[since:] == []


OWNED = "start 's1' belongs to who prepared it; send the token of that"


@pytest.mark.parametrize("committed", [False, True], ids=["reserved", "committed"])
@pytest.mark.parametrize("token", [None, "guessed" * 3, "é" * 16], ids=["none", "guessed", "not ASCII"])
async def test_who_has_not_prepared_a_start_changes_nothing_of_it(
    rig: Rig, token: str | None, *, committed: bool
) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        reservation = registry.reservations["arm"]
        phases = [None, "reserved", "committed"][: 2 + committed]
        given = {} if token is None else {"token": token}
        if committed:
            reservation.commit(commit_of(answer))
        else:
            for motion in ("long", "no"):
                told = await ask(registry, "fleet/prepare", motion=motion, start="s1", **given)
                assert told["code"] == "NOT_ALLOWED"
            for tokens in ({"left": answer["token"]}, {"arm": token} if token else {"arm": "other"}):
                with pytest.raises(RequestError) as caught:
                    reservation.commit(commit_of(answer, tokens=tokens))
                assert caught.value.code == "NOT_ALLOWED"
                what = "wrong" if "arm" in tokens else "missing"
                assert str(caught.value) == f"arm/fleet/commit: the token is {what}; {OWNED}"
        told = await ask(registry, "fleet/release", start="s1", **given)
        assert told["code"] == ("NOT_ALLOWED" if token else "INVALID_REQUEST")
        await until_phase(rig, phases[-1])
        assert reservation.phase_of("s1") == phases[-1]
        assert [data["phase"] for data in reservations(rig)] == phases
        assert answer["token"] not in repr([report.data for report in rig.reports])
        assert await ok(registry, "fleet/release", start="s1", token=answer["token"]) == {"start": "s1"}


async def test_a_secret_that_nobody_has_heard_commits_a_start(rig: Rig) -> None:
    secret = "known to one"  # noqa: S105 - of this test
    digest = sha256(secret.encode()).hexdigest()
    async with rig.running() as registry:
        answer = await prepared(rig, registry, token_sha256=digest)
        assert answer["token"] is None
        assert secret not in repr([report.data for report in rig.reports])
        reservation = registry.reservations["arm"]
        with pytest.raises(RequestError) as caught:
            reservation.commit(commit_of(answer, tokens={"arm": digest}))
        assert caught.value.code == "NOT_ALLOWED"
        # The digest is what all may know: to prepare the start again takes the secret itself.
        told = await ask(registry, "fleet/prepare", motion="long", start="s1", token_sha256=digest)
        assert told["code"] == "NOT_ALLOWED"
        reservation.commit(commit_of(answer, tokens={"arm": secret}))
        assert reservation.phase_of("s1") == "committed"


async def test_each_start_has_a_token_of_its_own(rig: Rig) -> None:
    async with rig.running() as registry:
        tokens = set()
        for start in ("s1", "s2"):
            token = (await prepared(rig, registry, start=start))["token"]
            await ok(registry, "fleet/release", start=start, token=token)
            tokens.add(token)
    assert [len(token) for token in tokens] == [22, 22]


@pytest.mark.parametrize("on_loss", ["stop", "play_on"])
@pytest.mark.parametrize("how", ["release", "take", "expiry"])
async def test_who_loses_control_loses_what_was_prepared(rig: Rig, how: str, on_loss: str) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 30.0, "on_loss": on_loss}
    async with rig.running() as registry:
        await rig.until_state("idle")
        lease = (await ok(registry, "lease/acquire", holder="ana"))["lease"]
        answer = await prepared(rig, registry, lease=lease)
        match how:
            case "release":
                await ok(registry, "lease/release", lease=lease)
            case "take":
                await ok(registry, "lease/take", holder="bob")
            case "expiry":
                held = registry.members["arm"].control.lease
                assert held is not None
                held._now = lambda: time.monotonic() + 30.0
        told = await until_phase(rig, "released")
        lost = "control of the robot has changed"
        stopped = "a stop came before the first row"
        assert told["reason"] == (stopped if on_loss == "stop" and how != "release" else lost)
        with pytest.raises(RequestError) as caught:
            registry.reservations["arm"].commit(commit_of(answer))
        assert caught.value.code == "NOT_RESERVED"
    assert is_still(rig)


async def test_a_token_is_told_again_only_to_who_proves_control(rig: Rig) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 30.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        lease = (await ok(registry, "lease/acquire", holder="ana"))["lease"]
        dispatcher = Dispatcher(registry)

        async def prepare(**more: Any) -> dict[str, Any]:
            body = {"motion": "short", "start": "s1", "transaction": "t1"} | more
            answer = await dispatcher.answer(RawRequest("arm", "fleet/prepare", orjson.dumps(body)))
            told: dict[str, Any] = orjson.loads(answer)
            return told

        token = (await prepare(lease=lease))["data"]["token"]
        assert (await prepare(lease=lease))["data"]["token"] == token
        for more in ({}, {"lease": "guessed"}):
            told = await prepare(**more)
            assert (told["status"], told["code"], told["data"]) == ("error", "INVALID_REQUEST", {})


# -- from the approach to the end ---------------------------------------------------------------------------


async def test_it_plays_when_it_is_told_that_all_are_committed_and_that_all_are_ready(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry, transaction="t1")
        reservation = registry.reservations["arm"]
        commit = commit_of(answer, answer["ready_in_s"] + 4.0)
        reservation.commit(commit)
        reservation.begin("s1")
        told = await until_phase(rig, "ready")
        assert told == {
            "start": "s1",
            "phase": "ready",
            "start_at": commit.start_at,
            "reason": None,
            "expires_at": None,
        }
        reservation.go("s1")
        await until_phase(rig, "playing")
        result = await rig.until("result", lambda data: data["transaction"] == "t1")
        assert (result["code"], result["details"]["start"]) == ("SUCCESSFUL", "s1")
        await rig.until("reservation", lambda data: data == UNTOLD, rig.place_of(result))
        assert [one["phase"] for one in reservations(rig)] == [
            None,
            "reserved",
            "committed",
            "ready",
            "playing",
            None,
        ]


async def test_without_a_word_that_all_are_ready_the_first_row_is_not_played(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        reservation = registry.reservations["arm"]
        reservation.commit(commit_of(answer, answer["ready_in_s"] + 2.5))
        reservation.begin("s1")
        result = await rig.until("result", lambda _: True)
        assert (result["code"], result["message"], result["played_s"]) == (
            "CANCELED",
            "nobody said by start_at that all robots of the group are ready; it had not begun",
            0.0,
        )
        told = await until_phase(rig, "released")
        assert told["reason"] == f"short ended with CANCELED; {result['message']}"
    assert "playing" not in [told["phase"] for told in reservations(rig)]


async def test_without_a_word_that_all_are_committed_nothing_moves(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        registry.reservations["arm"].commit(commit_of(answer, answer["ready_in_s"] + 2.5))
        told = await until_phase(rig, "released")
        assert told["reason"] == "not all robots were heard to be committed in time"
        assert rig.results() == []
    assert is_still(rig)


async def test_a_pause_before_the_first_row_lets_it_go(rig: Rig) -> None:
    async with rig.running() as registry:
        reservation = registry.reservations["arm"]
        reservation.commit(commit_of(await prepared(rig, registry)))
        reservation.begin("s1")
        await until_phase(rig, "ready")
        reservation.go("s1")
        await ask(registry, "pause")
        assert (await until_phase(rig, "released"))["reason"] == "it was paused before the first row"
        result = await rig.until("result", lambda _: True)
        assert (result["code"], result["played_s"]) == ("CANCELED", 0.0)


async def test_a_robot_that_nobody_can_stop_begins_with_its_group_once_all_agree_and_is_stopped_then(
    rig: Rig,
) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry, motion="long")
        reservation = registry.reservations["arm"]
        reservation.commit(commit_of(answer, answer["ready_in_s"] + 4.0))
        reservation.begin("s1")
        await until_phase(rig, "ready")
        reservation.go("s1")
        async with asyncio.timeout(PATIENCE_S):
            while not rig.results():
                registry.stop("the broker is away")
                await asyncio.sleep(0.01)
        result = await rig.until("result", lambda _: True)
        assert (result["code"], result["message"]) == ("CANCELED", "the broker is away")
        assert 0.0 < result["played_s"] < answer["duration_s"]
        await until_phase(rig, "playing")


async def test_a_robot_that_nobody_can_stop_is_let_go_until_all_agree(rig: Rig) -> None:
    async with rig.running() as registry:
        reservation = registry.reservations["arm"]
        reservation.commit(commit_of(await prepared(rig, registry)))
        reservation.begin("s1")
        await until_phase(rig, "ready")
        registry.stop("the broker is away")
        assert (await until_phase(rig, "released"))["start"] == "s1"
        result = await rig.until("result", lambda _: True)
        assert (result["message"], result["played_s"]) == ("the broker is away", 0.0)


async def test_what_is_broken_off_says_because_of_whom(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry, motion="long")
        reservation = registry.reservations["arm"]
        reservation.commit(commit_of(answer, answer["ready_in_s"] + 2.5))
        reservation.begin("s1")
        reservation.go("s1")
        await until_phase(rig, "playing")
        assert (await ask(registry, "fleet/release", start="s1", token=NOBODYS))["error"] == (
            "arm: not reserved for start 's1'; it plays already; prepare it first"
        )
        reservation.break_off("s1", "left: its daemon is broken", "left")
        result = await rig.until("result", lambda _: True)
        assert (result["code"], result["message"]) == ("CANCELED", "left: its daemon is broken")
        assert {key: result["details"][key] for key in ("start", "member")} == {
            "start": "s1",
            "member": "left",
        }
        assert (await until_phase(rig, "released"))["reason"] == "left: its daemon is broken"
