"""Robots of several daemons start together or not at all, and watch each other through a mosquitto."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from motiond.daemon.fleet.member import SEEN_WITHIN_S
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
ALL = [None, "reserved", "committed", "ready", "playing", "ended"]


async def test_two_daemons_start_together(tmp_path: Path, mosquitto: StandIn) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        start_at = await it.start()
        for one in it.members.values():
            result = await one.result()
            assert (result["code"], result["details"]["start"]) == ("SUCCESSFUL", "s1")
        for one in it.members.values():
            await until("all is reported", lambda one=one: one.phases() == ALL)  # type: ignore[misc]
            await until("the watch ends", lambda one=one: not one.group._starts)  # type: ignore[misc]
            assert one.rig.results() == ["SUCCESSFUL"]
    start_s = start_at - UNIX_AT_START_S + START_S
    for one in it.members.values():
        assert one.rig.leaves_first_row_s == pytest.approx(start_s, abs=TICK_S)


async def test_one_that_ends_well_before_the_others_stops_no_other(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        await it.start(right={"loop": 4})
        assert (await it.members["left"].result())["code"] == "SUCCESSFUL"
        assert (await it.members["right"].result())["code"] == "SUCCESSFUL"


@pytest.mark.parametrize("verb", ["stop", "estop"])
async def test_one_that_is_stopped_before_the_first_row_keeps_all_from_it(
    tmp_path: Path, mosquitto: StandIn, verb: str
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        await it.start()
        for one in it.members.values():
            await one.phase("ready")
        await it.ask("right", verb)
        result = await it.members["left"].result()
        assert (result["code"], result["played_s"]) == ("CANCELED", 0.0)
        assert {key: result["details"][key] for key in ("start", "member")} == {
            "start": "s1",
            "member": "right",
        }
        assert "playing" not in it.members["left"].phases() + it.members["right"].phases()
    assert all(one.rig.highest == pytest.approx(FIRST_ROW) for one in it.members.values())


async def test_one_that_is_never_committed_is_missed_2_s_after_the_first_row(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    """As it is where the coordinator dies between two commits."""
    async with choir(tmp_path, mosquitto.settings) as it:
        commits = await it.prepare(left={"motion": "long"})
        del commits["right"]
        await it.commit(commits)
        result = await it.members["left"].result()
        reason = (
            "not seen playing 2 s after the first row: right; right: it reported last that it is reserved"
        )
        assert (result["code"], result["message"]) == ("CANCELED", reason)
        assert result["details"]["member"] == "right"
        assert 0.0 < result["played_s"] < SEEN_WITHIN_S + 1.0
        event = await it.members["left"].rig.until("event", lambda data: data["kind"] == "start_released")
        assert event["message"] == f"s1: {reason}"


@pytest.mark.parametrize("then", ["stop", "continue"])
async def test_one_that_fails_in_mid_motion_stops_the_others_or_not(
    tmp_path: Path, mosquitto: StandIn, then: str
) -> None:
    async with choir(tmp_path, mosquitto.settings) as it:
        left, right = it.members.values()
        left_plays = {"loop": 8} if then == "continue" else {"motion": "long"}
        await it.start(then=then, left=left_plays, right={"motion": "long"})
        for one in (left, right):
            await one.phase("playing")
        await until("right is seen", lambda: left.group._starts["s1"]._seen["right"] == "playing")
        await it.ask("right", "stop")
        result = await left.result()
        if then == "continue":
            assert (result["code"], result["details"]["start"]) == ("SUCCESSFUL", "s1")
            return
        reason = "right: long ended with CANCELED; stopped on request, softly, on the path"
        assert (result["code"], result["message"]) == ("CANCELED", reason)
        assert result["details"]["member"] == "right"
        assert (await left.phase("released"))["reason"] == reason


async def test_a_daemon_that_is_cut_off_before_the_first_row_keeps_the_others_from_playing(
    tmp_path: Path, mosquitto: StandIn
) -> None:
    link = Link(mosquitto.port)
    await link.repair()
    linked = mosquitto.settings.model_copy(update={"broker": f"mqtt://127.0.0.1:{link.port}"})
    async with (
        member(MemberRig(tmp_path / "left", "left"), mosquitto.settings) as left,
        member(MemberRig(tmp_path / "right", "right"), linked) as right,
        listening(mosquitto.settings) as observer,
    ):
        await Choir(observer, {"left": left, "right": right}).start(right={"motion": "long"})
        for one in (left, right):
            await one.phase("ready")
        await link.cut()
        result = await left.result()
        assert (result["code"], result["message"], result["played_s"]) == (
            "CANCELED",
            "right: its daemon 'right' has crashed, or has lost the broker",
            0.0,
        )
        result = await right.result()
        lost = "not seen playing 2 s after the first row: left; left: the connection to the broker is lost"
        assert (result["code"], result["message"]) == ("CANCELED", lost)
    assert left.rig.highest == pytest.approx(FIRST_ROW)


async def test_what_fails_inside_stops_the_robots_and_the_next_start_is_watched(
    tmp_path: Path, mosquitto: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_: object) -> None:
        raise ZeroDivisionError

    async with choir(tmp_path, mosquitto.settings, names=("left",)) as it:
        with monkeypatch.context() as patched:
            patched.setattr("motiond.daemon.fleet.member.group_member._Start.watch", fail)
            await it.start()
            released = await it.members["left"].phase("released")
        assert released["reason"] == "it failed inside motiond; see the daemon's log"
        await it.start("s2")
        assert (await it.members["left"].result())["code"] == "SUCCESSFUL"
