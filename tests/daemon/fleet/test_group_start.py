"""Robots of several daemons start together or not at all, by what they hear of each other at a mosquitto."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.fleet.member.group_start import SILENCE_S, GroupStart
from tests.daemon.conftest import listening
from tests.daemon.fleet.choir import FIRST_ROW, Choir, MemberRig, choir, member, until
from tests.daemon.link import Link
from tests.daemon.rig import RATE_HZ
from tests.virtual import START_S, UNIX_AT_START_S

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.mqtt.stand_in import StandIn

pytestmark = pytest.mark.slow

TICK_S = 1.0 / RATE_HZ
ALL = [None, "reserved", "committed", "ready", "playing", None]


def none_moved(it: Choir) -> bool:
    """Whether no setpoint was other than where the robots stood; the daemons have to have ended."""
    return all(one.rig.highest == 0.0 for one in it.members.values())


async def test_two_daemons_start_together(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        commit = await it.prepare()
        await it.send("commit", commit)
        for name, one in it.members.items():
            answer = await it.answer(name)
            assert answer == {
                "status": "ok",
                "data": {"start": "s1", "start_at": commit["start_at"]},
                "transaction": None,
            }
            result = await one.result()
            assert (result["code"], result["details"]["start"]) == ("SUCCESSFUL", "s1")
        for one in it.members.values():
            await until("all is told", lambda one=one: one.phases() == ALL)  # type: ignore[misc]
            assert one.rig.results() == ["SUCCESSFUL"]
            await until("it is over", lambda one=one: not one.listener._starts)  # type: ignore[misc]
    start_s = commit["start_at"] - UNIX_AT_START_S + START_S
    for one in it.members.values():
        assert one.rig.leaves_first_row_s == pytest.approx(start_s, abs=TICK_S)


async def test_one_that_ends_well_before_the_others_stops_nobody(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        await it.send("commit", await it.prepare(right={"loop": 4}))
        assert (await it.members["left"].result())["code"] == "SUCCESSFUL"
        assert (await it.members["right"].result())["code"] == "SUCCESSFUL"


async def test_one_that_is_not_reserved_lets_nobody_move(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        commit = await it.prepare()
        release = {"start": "s1", "token": commit["tokens"]["right"]}
        assert (await it.ask("right", "fleet/release", release))["status"] == "ok"
        await it.send("commit", commit)
        assert (await it.answer("left"))["status"] == "ok"
        refused = await it.answer("right")
        reason = (
            "right: not reserved for start 's1'; it has expired, was released or never was; prepare it first"
        )
        assert (refused["code"], refused["error"]) == ("NOT_RESERVED", reason)
        assert (await it.members["left"].phase("released"))["reason"] in {
            f"right: {reason}",
            "right: released on request",  # what was kept of it came before
        }
        assert [one.rig.results() for one in it.members.values()] == [[], []]
    assert none_moved(it)


async def test_one_that_does_not_hear_the_commit_lets_nobody_move(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings, deaf=("right",)) as it:
        commit = await it.prepare()
        await it.send("commit", commit | {"start_at": time.time() + commit["ready_in_s"] + 3.0})
        told = await it.members["left"].phase("released")
        assert told["reason"] == "not heard to be committed in time: right"
        event = await it.members["left"].rig.until("event", lambda data: data["kind"] == "start_released")
        assert event["message"] == "s1: not heard to be committed in time: right"
        assert it.members["left"].rig.results() == []
    assert none_moved(it)


async def test_one_that_is_stopped_before_the_first_row_lets_nobody_play_it(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        await it.send("commit", await it.prepare())
        for one in it.members.values():
            await one.phase("ready")
        await it.ask("right", "stop")
        result = await it.members["left"].result()
        assert (result["code"], result["played_s"]) == ("CANCELED", 0.0)
        assert {key: result["details"][key] for key in ("start", "member")} == {
            "start": "s1",
            "member": "right",
        }
        assert "playing" not in it.members["left"].phases() + it.members["right"].phases()
    assert all(one.rig.highest == pytest.approx(FIRST_ROW) for one in it.members.values())


@pytest.mark.parametrize("then", ["stop", "continue"])
async def test_one_that_fails_in_mid_motion_stops_the_others_or_not(
    tmp_path: Path, mosquitto: StandIn, then: str
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        left, right = it.members.values()
        left_plays = {"loop": 8} if then == "continue" else {"motion": "long"}
        commit = await it.prepare(left=left_plays, right={"motion": "long"})
        await it.send("commit", commit | {"on_member_failure": then})
        for one in (left, right):
            await one.phase("playing")
        await it.ask("right", "stop")
        result = await left.result()
        if then == "continue":
            assert (result["code"], result["details"]["start"]) == ("SUCCESSFUL", "s1")
            await until("all is told", lambda: left.phases()[-2:] == ["playing", None])
            return
        assert result["code"] == "CANCELED"
        assert result["details"]["member"] == "right"
        assert result["message"] in {
            "right: long ended with CANCELED",
            "right: long ended with CANCELED; stopped on request, softly, on the path",
        }
        assert (await left.phase("released"))["reason"] == result["message"]


async def test_a_daemon_that_is_cut_off_before_the_first_row_keeps_the_others_from_playing(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    link = Link(mosquitto.port)
    await link.hint()
    linked = mosquitto.settings.model_copy(update={"broker": f"mqtt://127.0.0.1:{link.port}"})
    async with (
        member(MemberRig(tmp_path / "left", "left"), mosquitto.settings) as left,
        member(MemberRig(tmp_path / "right", "right"), linked) as right,
        listening(mosquitto.settings) as ear,
    ):
        it = Choir(ear, {"left": left, "right": right})
        await it.send("commit", await it.prepare())
        for one in it.members.values():
            await one.phase("ready")
        await link.cut()
        result = await left.result()
        assert (result["code"], result["message"], result["played_s"]) == (
            "CANCELED",
            "right: its daemon is broken",
            0.0,
        )
        await right.result()
    assert left.rig.highest == pytest.approx(FIRST_ROW)
    assert right.rig.highest == pytest.approx(FIRST_ROW)


async def test_whose_connection_is_lost_and_back_before_the_first_row_plays_with_the_others(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        left, right = it.members.values()
        await it.send("commit", await it.prepare())
        for one in (left, right):
            await one.phase("ready")
        await right.break_connection()
        for one in (left, right):
            assert (await one.result())["code"] == "SUCCESSFUL"


async def test_whose_connection_stays_lost_before_the_first_row_does_not_play_nor_do_the_others(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        left, right = it.members.values()
        commit = await it.prepare()
        await it.send("commit", commit | {"start_at": commit["start_at"] + 2 * SILENCE_S})
        for one in (left, right):
            await until("all agree", lambda one=one: one.agree("s1"))  # type: ignore[misc]
        right.lose_connection_for_good()
        lost = "the daemon's connection was lost, by which it hears the others"
        assert (await right.result())["message"] == lost
        result = await left.result()
        assert result["message"] in {"nothing was heard for 2 s of: right", f"right: {lost}"}
        assert result["played_s"] == 0.0


async def test_whose_connection_is_lost_after_the_first_row_plays_on_and_hears_the_others_again(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        left, right = it.members.values()
        await it.send("commit", await it.prepare(left={"motion": "long"}, right={"motion": "long"}))
        for one in (left, right):
            await one.phase("playing")
        await right.break_connection()
        await until("it listens again", lambda: right.listener._client is not None)
        assert right.rig.results() == []
        await it.ask("left", "stop")
        result = await right.result()
        assert (result["code"], result["details"]["member"]) == ("CANCELED", "left")
        assert result["played_s"] > 0.0


async def test_the_same_commit_twice_acts_once(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        commit = await it.prepare()
        await it.send("commit", commit)
        await it.send("commit", commit)
        for name, one in it.members.items():
            assert await it.answer(name) == await it.answer(name)
            await one.phase("playing")
        await it.send("commit", commit)
        for name, one in it.members.items():
            assert (await it.answer(name))["status"] == "ok"
            assert (await one.result())["code"] == "SUCCESSFUL"
            await until("all is told", lambda one=one: one.phases() == ALL)  # type: ignore[misc]
        await it.send("commit", commit)
        for name, one in it.members.items():
            assert (await it.answer(name))["error"] == (
                f"{name}: start 's1' is over; it is committed once; send another start"
            )
            assert (one.rig.results(), one.phases()) == (["SUCCESSFUL"], ALL)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"robots": ["left", "right", "left"]}, "it must name each robot once; left stands twice"),
        (
            {"robots": ["left", "right", *(f"r{number}" for number in range(199))]},
            "it must have at most 200 items",
        ),
        ({"robots": ["left", "ri/ght"]}, "it must match pattern"),
        ({"on_member_failure": "shrug"}, "it must be 'stop' or 'continue'"),
    ],
    ids=["twice", "many", "name", "failure"],
)
async def test_what_is_no_commit_is_refused_and_changes_nothing(
    tmp_path: Path, mosquitto: StandIn, change: dict[str, Any], problem: str
) -> None:
    async with choir(tmp_path, mosquitto.settings, names=("left",)) as it:
        commit = await it.prepare()
        await it.send("commit", commit | change)
        refused = await it.answer("left")
        assert refused["code"] == "INVALID_REQUEST"
        assert refused["error"].startswith("fleet/commit: '")
        assert problem in refused["error"]
        assert it.members["left"].phases() == [None, "reserved"]
        await it.send("commit", commit)
        assert (await it.answer("left"))["status"] == "ok"
        assert (await it.members["left"].result())["code"] == "SUCCESSFUL"


@pytest.mark.parametrize("in_s", [-10.0, 0.2], ids=["past", "too near"])
async def test_a_commit_that_comes_too_late_lets_all_go_and_nobody_moves(
    tmp_path: Path, mosquitto: StandIn, in_s: float
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        commit = await it.prepare()
        await it.send("commit", commit | {"start_at": time.time() + in_s})
        for name, one in it.members.items():
            refused = await it.answer(name)
            assert refused["code"] == "TOO_LATE"
            assert (await one.phase("released"))["reason"] == refused["error"]
    assert none_moved(it)


async def test_a_commit_that_the_broker_keeps_is_refused(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings, names=("left",)) as it:
        commit = await it.prepare()
        await it.send("commit", commit, retain=True)
        refused = await it.answer("left")
        assert (refused["code"], refused["error"]) == (
            "RETAINED",
            (
                "fleet/commit: retained; it would act at every reconnect; "
                "clear it with an empty retained message and send it without the flag"
            ),
        )
        await it.ear.client.publish("motiond/fleet/request/commit", b"", qos=1, retain=True)
        assert it.members["left"].phases() == [None, "reserved"]


async def test_one_release_lets_all_of_a_start_go(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        commit = await it.prepare()
        await it.send("commit", commit)
        for one in it.members.values():
            await one.phase("ready")
        await it.send("release", {"start": "s1", "tokens": commit["tokens"]})
        for name, one in it.members.items():
            answer = await it.answer(name, "release")
            # Whoever hears of the other first has let go already.
            assert answer["status"] == "ok"
            assert (await one.result())["played_s"] == 0.0


async def test_who_has_let_go_already_answers_a_release_all_the_same(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        commit = await it.prepare()
        await it.send("commit", commit)
        for _ in range(2):
            await it.send("release", {"start": "s1", "tokens": commit["tokens"]})
            for name in it.members:
                assert (await it.answer(name, "release"))["data"] == {"start": "s1"}


async def test_what_fails_inside_lets_the_start_go_and_the_next_one_is_served(
    tmp_path: Path, mosquitto: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise ZeroDivisionError

    async with choir(tmp_path, mosquitto.settings, names=("left",)) as it:
        with monkeypatch.context() as patched:
            patched.setattr(GroupStart, "_run", fail)
            await it.send("commit", await it.prepare())
            told = await it.members["left"].phase("released")
        assert told["reason"] == "it failed inside motiond; the daemon's log says more"
        await it.send("commit", await it.prepare("s2"))
        assert (await it.members["left"].result())["code"] == "SUCCESSFUL"
