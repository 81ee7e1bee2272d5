"""A robot that is reserved for a start of its group, with its real stream process on simulated actuators."""

from __future__ import annotations

import time
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.api import VERBS, Dispatcher, RawRequest
from motiond.daemon.robots.reservation import NOTHING, PREPARATION_S
from motiond.drivers.sim.command_log import read_trace
from tests.daemon.robots.stage import ok, reply_to

if TYPE_CHECKING:
    from motiond.daemon.robots.registry import RobotRegistry
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow

NOBODYS = "a token of nobody's"
EXPIRES = "reserved for start 's1'; it expires in 8.2 s"
START = "'start' is 'a/b'; it must be of printable characters other than /, + and #"
INTERFERING: dict[str, dict[str, Any]] = {
    "play": {"motion": "short"},
    "sequence": {"steps": [{"motion": "short"}]},
    "follow/start": {},
    "goto": {"joints": {"elbow": 0.1}},
    "enable": {},
    "disable": {},
    "torque": {"on": False},
    "resume": {},
    "speed": {"speed": 0.5},
    "seek": {"frame": 1},
    "reset": {},
    "servo/reboot": {"servos": ["elbow"]},
    "servo/clear": {"servos": ["elbow"]},
    "teach/start": {},
}


@pytest.fixture
def rig(rig: Rig) -> Rig:
    rig.robot["groups"] = ["choir"]
    return rig


async def prepared(rig: Rig, registry: RobotRegistry, **more: Any) -> dict[str, Any]:
    await rig.until_state("idle")
    return await ok(
        registry, "fleet/prepare", **({"motion": "short", "start": "s1", "expires_s": 60.0} | more)
    )


async def refusal(registry: RobotRegistry, verb: str, **body: Any) -> tuple[str, str]:
    reply = await reply_to(registry, verb, **body)
    return reply["code"], reply["error"]


async def commit(
    registry: RobotRegistry, answer: dict[str, Any], in_s: float = 60.0, **more: Any
) -> dict[str, Any]:
    """Ask for the commit of what was prepared."""
    keys = {"start": answer["start"], "token": answer["token"] or NOBODYS, "robots": ["arm", "left"]}
    return await reply_to(registry, "fleet/commit", **(keys | {"start_at": time.time() + in_s} | more))


async def committed(registry: RobotRegistry, answer: dict[str, Any], in_s: float = 60.0) -> float:
    """Commit what was prepared; return the time of its first row."""
    reply = await commit(registry, answer, in_s)
    assert reply["status"] == "ok", reply
    start_at: float = reply["data"]["start_at"]
    return start_at


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
        reply = await until_phase(rig, "reserved")
        assert reply == NOTHING | {"start": "s1", "phase": "reserved", "expires_at": answer["expires_at"]}
        assert reservations(rig) == [NOTHING, reply]
        assert answer["start"] == "s1"
        assert answer["duration_s"] == pytest.approx(3 * 0.5 / 0.5)
        assert answer["ready_in_s"] > PREPARATION_S
        assert 0.0 < answer["expires_at"] - time.time() <= 60.001  # it is rounded
        assert (await ok(registry, "status"))["torque"]
    assert is_still(rig)


async def test_what_would_interfere_is_refused_and_names_the_start(rig: Rig) -> None:
    assert {verb for verb, about in VERBS.items() if about.interferes} == set(INTERFERING)
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        registry.reservations["arm"]._now = lambda: registry.reservations["arm"]._held.ends_s - 8.2  # type: ignore[union-attr]
        for verb, body in INTERFERING.items():
            assert await refusal(registry, verb, **body) == (
                "RESERVED",
                f"arm/{verb}: {EXPIRES}; wait, or release it by fleet/release or stop",
            )
        reply = await reply_to(registry, "fleet/prepare", motion="short", start="s2")
        data = {"start": "s1", "expires_at": answer["expires_at"]}
        assert (reply["code"], reply["data"]) == ("RESERVED", data)
        assert await refusal(registry, "fleet/release", start="s2", token=NOBODYS) == (
            "NOT_RESERVED",
            "arm: not reserved for start 's2'; it is for 's1'; prepare it first",
        )
        assert (await reply_to(registry, "pause"))["code"] == "NOT_PLAYING"
        assert (await ok(registry, "queue"))["queue"] == []


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (
            {"motion": "shrt"},
            "UNKNOWN_MOTION",
            "arm: no motion 'shrt'; there are long, short; did you mean 'short'?",
        ),
        (
            {"motion": "short", "speed": 10.0},
            "INVALID_MOTION",
            "short: speed 10 is too fast; joint 'elbow' allows 1.19; lower the speed",
        ),
        (
            {"motion": "short", "start": "a/b"},
            "INVALID_REQUEST",
            f"arm/fleet/prepare: {START}; correct it",
        ),
        (
            {"motion": "short", "path_tolerance": {"elbw": 0.1}},
            "INVALID_REQUEST",
            "arm: path_tolerance of an unknown joint 'elbw'; it has shoulder, elbow; did you mean 'elbow'?",
        ),
    ],
    ids=["motion", "speed", "start", "tolerance"],
)
async def test_what_cannot_be_played_is_refused_and_reserves_nothing(
    rig: Rig, body: dict[str, Any], code: str, message: str
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        assert await refusal(registry, "fleet/prepare", **({"start": "s1"} | body)) == (code, message)
        assert (await ok(registry, "goto", joints={"elbow": 0.2}))["goal_id"]
        assert reservations(rig) == [NOTHING]


@pytest.mark.parametrize(
    ("changed", "before", "code", "message"),
    [
        (
            {"groups": []},
            None,
            "NOT_ALLOWED",
            "arm: it is in no group; name its groups in the configuration",
        ),
        (
            {"clock": "virtual"},
            None,
            "INVALID_REQUEST",
            "arm: a group starts at a time of the real clock; the robot's clock is virtual; play it alone",
        ),
        (
            {},
            "play",
            "BUSY",
            "arm: busy with long; one motion plays at a time; stop it first",
        ),
        (
            {},
            "estop",
            "ESTOPPED",
            "arm: short cannot be prepared; the emergency stop is latched; reset it when it is safe",
        ),
    ],
    ids=["no group", "virtual", "playing", "halted"],
)
async def test_a_robot_that_cannot_start_with_a_group_is_not_reserved(
    rig: Rig, changed: dict[str, Any], before: str | None, code: str, message: str
) -> None:
    rig.robot |= changed
    async with rig.running() as registry:
        await rig.until_state("idle")
        if before is not None:
            await ok(registry, before, **({"motion": "long"} if before == "play" else {}))
        assert await refusal(registry, "fleet/prepare", motion="short", start="s1") == (code, message)


async def test_the_same_start_again_is_planned_again_and_released_where_it_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        first = await prepared(rig, registry, expires_s=20.0)
        second = await prepared(rig, registry, motion="long", token=first["token"])
        assert len({first["token"], second["token"]}) == 2
        assert second["expires_at"] > first["expires_at"] + 30.0
        assert second["duration_s"] == pytest.approx(20.0)
        again = {"motion": "no", "start": "s1", "token": second["token"]}
        assert (await refusal(registry, "fleet/prepare", **again))[0] == "UNKNOWN_MOTION"
        why = "it was prepared again and refused; arm: no motion 'no'; there are long, short"
        assert (await until_phase(rig, "released"))["reason"] == why
        assert (await ok(registry, "play", motion="short"))["goal_id"]


# -- release -------------------------------------------------------------------------------------------------


async def test_a_reservation_expires_by_itself(rig: Rig) -> None:
    async with rig.running() as registry:
        await prepared(rig, registry, expires_s=1.0)
        reply = await until_phase(rig, "released")
        reason = "nothing was committed in 1 s"
        assert reply == NOTHING | {"start": "s1", "phase": "released", "reason": reason}
        event = await rig.until("event", lambda data: data["kind"] == "start_released")
        assert event == {"kind": "start_released", "message": f"s1: {reason}", "start": "s1"}
        assert (await ok(registry, "play", motion="short"))["goal_id"]


async def test_a_reservation_whose_time_is_over_refuses_nothing_and_is_not_committed(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        reservation = registry.reservations["arm"]
        reservation._now = lambda: time.monotonic() + 60.0
        reply = await commit(registry, answer)
        assert (reply["code"], reply["error"]) == (
            "NOT_RESERVED",
            "arm: not reserved for start 's1'; it has expired, was released or never was; prepare it first",
        )
        assert (await ok(registry, "enable"))["torque"]


@pytest.mark.parametrize("phase", ["reserved", "committed"])
@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("stop", "a stop came before the first row"),
        ("estop", "the emergency stop is latched"),
        ("release", "released on request"),
        ("lost", "the robot is offline; "),
        ("shutdown", "the daemon shuts down"),
    ],
)
async def test_a_stop_a_release_and_a_lost_robot_end_it(rig: Rig, how: str, reason: str, phase: str) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        if phase == "committed":
            await committed(registry, answer)
        match how:
            case "release":
                reply = await ok(registry, "fleet/release", start="s1", token=answer["token"])
                assert reply == {"start": "s1"}
            case "lost":
                registry.members["arm"].robot.on_exit("the process ended")
            case "shutdown":
                registry.leave()
            case _:
                await ok(registry, how)
        reply = await until_phase(rig, "released")
        assert reply["reason"].startswith(reason)
        assert registry.reservations["arm"].phase_of("s1") is None
        assert rig.results() == []
    assert is_still(rig)


# -- commit -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("in_s", "code", "message"),
    [
        (-5.0, "TOO_LATE", "the robot needs {needs:.3f} s to the first row; set it later"),
        (0.5, "TOO_LATE", "the robot needs {needs:.3f} s to the first row; set it later"),
        (
            90_000.0,
            "INVALID_REQUEST",
            "arm: start_at is 90000 s ahead; a robot waits no longer than 86400 s; send the request later",
        ),
    ],
    ids=["past", "too near", "far"],
)
async def test_a_commit_that_cannot_be_kept_is_refused_and_releases(
    rig: Rig, in_s: float, code: str, message: str
) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        start_at = time.time() + in_s
        registry.reservations["arm"]._unix_now = lambda: start_at - in_s
        reply = await commit(registry, answer, start_at=start_at)
        assert reply["code"] == code
        assert reply["error"].endswith(message.format(needs=answer["ready_in_s"]))
        assert (await until_phase(rig, "released"))["reason"] == reply["error"]
    assert is_still(rig)


async def test_a_commit_of_others_is_refused_the_same_again_changes_nothing_and_another_is_refused(
    rig: Rig,
) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        reply = await commit(registry, answer, robots=["left"])
        names_all = "'robots' does not name this robot; it names all that take part; add it"
        assert (reply["code"], reply["error"]) == ("INVALID_REQUEST", f"arm/fleet/commit: {names_all}")
        start_at = await committed(registry, answer)
        reply = await commit(registry, answer, start_at=start_at, transaction="again")
        assert reply["data"] == {"start": "s1", "start_at": start_at}
        reply = await commit(registry, answer, start_at=start_at + 1.0)
        already = f"start 's1' is committed already, to start_at {start_at:.3f}"
        assert (reply["code"], reply["error"]) == (
            "BUSY",
            f"arm: {already}; it is committed once; send another start",
        )
        reply = await reply_to(registry, "play", motion="short")
        assert reply["error"] == (
            f"arm/play: reserved for start 's1'; it is committed to start_at {start_at:.3f}; "
            "wait, or release it by fleet/release or stop"
        )
        assert (await reply_to(registry, "fleet/prepare", motion="short", start="s1"))["code"] == "BUSY"
        await until_phase(rig, "committed")
        assert [reply["phase"] for reply in reservations(rig)] == [None, "reserved", "committed"]
        await ok(registry, "stop")
        assert (await commit(registry, answer, start_at=start_at))["code"] == "NOT_RESERVED"


OWNED = "start 's1' belongs to who prepared it; send the token of that"


@pytest.mark.parametrize("phase", ["reserved", "committed"])
@pytest.mark.parametrize("token", [None, "guessed" * 3, "é" * 16], ids=["none", "guessed", "not ASCII"])
async def test_who_has_not_prepared_a_start_changes_nothing_of_it(
    rig: Rig, token: str | None, phase: str
) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        sent = {} if token is None else {"token": token}
        if phase == "committed":
            await committed(registry, answer)
        else:
            for motion in ("long", "no"):
                reply = await reply_to(registry, "fleet/prepare", motion=motion, start="s1", **sent)
                assert reply["code"] == "NOT_ALLOWED"
        if token is not None:
            reply = await commit(registry, answer, token=token)
            assert (reply["code"], reply["error"]) == (
                "NOT_ALLOWED",
                f"arm/fleet/commit: the token is wrong; {OWNED}",
            )
        reply = await reply_to(registry, "fleet/release", start="s1", **sent)
        assert reply["code"] == ("NOT_ALLOWED" if token else "INVALID_REQUEST")
        await until_phase(rig, phase)
        assert registry.reservations["arm"].phase_of("s1") == phase
        assert answer["token"] not in repr([report.data for report in rig.reports])
        assert await ok(registry, "fleet/release", start="s1", token=answer["token"]) == {"start": "s1"}


async def test_a_secret_that_only_the_client_knows_commits_a_start(rig: Rig) -> None:
    secret = "known to one"  # noqa: S105 - of this test
    digest = sha256(secret.encode()).hexdigest()
    async with rig.running() as registry:
        answer = await prepared(rig, registry, token_sha256=digest)
        assert answer["token"] is None
        assert secret not in repr([report.data for report in rig.reports])
        assert (await commit(registry, answer, token=digest))["code"] == "NOT_ALLOWED"
        # The digest is what all may know: to prepare the start again takes the secret itself.
        reply = await reply_to(registry, "fleet/prepare", motion="long", start="s1", token_sha256=digest)
        assert reply["code"] == "NOT_ALLOWED"
        assert (await commit(registry, answer, token=secret))["status"] == "ok"


@pytest.mark.parametrize("on_loss", ["stop", "play_on"])
@pytest.mark.parametrize("how", ["release", "take", "expiry"])
async def test_who_loses_control_loses_what_was_prepared(rig: Rig, how: str, on_loss: str) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 30.0, "on_loss": on_loss}
    async with rig.running() as registry:
        await rig.until_state("idle")
        lease = (await ok(registry, "lease/acquire", holder="ana"))["lease"]
        await prepared(rig, registry, lease=lease)
        match how:
            case "release":
                await ok(registry, "lease/release", lease=lease)
            case "take":
                await ok(registry, "lease/take", holder="bob")
            case "expiry":
                held = registry.members["arm"].control.lease
                assert held is not None
                held._now = lambda: time.monotonic() + 30.0
        reply = await until_phase(rig, "released")
        lost = "control of the robot has changed"
        stopped = "a stop came before the first row"
        assert reply["reason"] == (stopped if on_loss == "stop" and how != "release" else lost)
        assert registry.reservations["arm"].phase_of("s1") is None
    assert is_still(rig)


async def test_a_token_is_returned_again_only_to_who_proves_control(rig: Rig) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 30.0}
    async with rig.running() as registry:
        await rig.until_state("idle")
        lease = (await ok(registry, "lease/acquire", holder="ana"))["lease"]
        dispatcher = Dispatcher(registry)
        replies = []
        for more in ({"lease": lease}, {"lease": lease}, {}, {"lease": "guessed"}):
            body = {"motion": "short", "start": "s1", "transaction": "t1"} | more
            raw = RawRequest("arm", "fleet/prepare", orjson.dumps(body))
            replies.append(orjson.loads(await dispatcher.answer(raw)))
    assert replies[0]["data"]["token"] == replies[1]["data"]["token"]
    assert [(reply["code"], reply["data"]) for reply in replies[2:]] == [("INVALID_REQUEST", {})] * 2


# -- from the approach to the end ---------------------------------------------------------------------------


async def test_it_plays_at_the_time_that_was_committed(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry, transaction="t1", asked_by="10.0.0.7 over HTTP")
        start_at = await committed(registry, answer, answer["ready_in_s"] + 4.0)
        reply = await until_phase(rig, "committed")
        assert reply == NOTHING | {"start": "s1", "phase": "committed", "start_at": start_at}
        await until_phase(rig, "ready")
        assert start_at - answer["ready_in_s"] <= time.time() < start_at
        result = await rig.until("result", lambda data: data["transaction"] == "t1")
        assert (result["code"], result["details"]["start"]) == ("SUCCESSFUL", "s1")
        assert result["asked_by"] == "group start s1, for 10.0.0.7 over HTTP, a client"
        await until_phase(rig, "ended")
        assert [report["phase"] for report in reservations(rig)] == [
            None,
            "reserved",
            "committed",
            "ready",
            "playing",
            "ended",
        ]
        assert (await ok(registry, "play", motion="short"))["goal_id"]


async def test_an_approach_that_would_begin_too_late_is_not_begun(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry)
        reservation = registry.reservations["arm"]
        await committed(registry, answer, answer["ready_in_s"] + 2.0)
        now_s = reservation._now
        reservation._now = lambda: now_s() - answer["ready_in_s"]  # the event loop is late by so much
        reply = await until_phase(rig, "released")
        assert "the robot needs" in reply["reason"]
        assert rig.results() == []
    assert is_still(rig)


@pytest.mark.parametrize(
    ("verb", "phase"),
    [
        ("pause", "ready"),  # on the motion it is no end
        ("the broker is away", "ready"),
        *product(("stop", "estop", "fleet/release"), ("ready", "playing")),
    ],
)
async def test_what_stops_it_acts_at_once_also_on_the_way(rig: Rig, verb: str, phase: str) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry, motion="long")
        await committed(registry, answer, answer["ready_in_s"] + 1.0)
        await until_phase(rig, phase)
        body = {"start": "s1", "token": answer["token"]} if verb == "fleet/release" else {}
        if verb == "the broker is away":
            registry.stop(verb)
        else:
            await ok(registry, verb, **body)
        result = await rig.until("result", lambda _: True)
        assert result["code"] == ("ESTOP" if verb == "estop" else "CANCELED")
        assert result["played_s"] < (answer["duration_s"] if phase == "playing" else 0.001)
        assert result["details"]["start"] == "s1"
        await until_phase(rig, "released")


async def test_what_is_broken_off_names_the_robot_that_is_why(rig: Rig) -> None:
    async with rig.running() as registry:
        answer = await prepared(rig, registry, motion="long")
        await committed(registry, answer, answer["ready_in_s"] + 1.0)
        await until_phase(rig, "playing")
        registry.reservations["arm"].break_off("s1", "left: its daemon is offline", "left")
        result = await rig.until("result", lambda _: True)
        assert (result["code"], result["message"]) == ("CANCELED", "left: its daemon is offline")
        assert {key: result["details"][key] for key in ("start", "member")} == {
            "start": "s1",
            "member": "left",
        }
        assert (await until_phase(rig, "released"))["reason"] == "left: its daemon is offline"
