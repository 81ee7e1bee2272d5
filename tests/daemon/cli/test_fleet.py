"""`motiond fleet` before stand-ins for a group's robots, which do what real ones seldom do."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.daemon.cli.program import Program, motiond
from tests.daemon.fleet.members import members, until
from tests.daemon.link import HangingLink, Link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.cli.program import Ended
    from tests.daemon.conftest import Embedded
    from tests.daemon.fleet.members import Members

pytestmark = pytest.mark.usefixtures("programs")


@pytest.fixture
async def choir(broker: Embedded) -> AsyncIterator[Members]:
    async with members(broker.settings) as choir:
        for name in ("left", "right"):
            choir.add(name, "choir")
        await choir.settle()
        yield choir


def at(broker: Embedded) -> tuple[str, str]:
    return "--broker", f"mqtt://{broker.settings.listen}"


async def fleet(broker: Embedded, *words: str) -> Ended:
    return await motiond("fleet", *words, *at(broker))


async def test_a_table_tells_how_each_has_ended(broker: Embedded, choir: Members) -> None:
    code, out, err = await fleet(broker, "play", "choir", "wave", "--motion", "left=wave_l")
    assert (code, err) == (0, "")
    assert [line.strip() for line in out.splitlines()] == [
        "",
        "robot   motion   result",
        "───────────────────────────",
        "left    wave_l   SUCCESSFUL",
        "right   wave     SUCCESSFUL",
        "",
    ]
    assert choir.asked_for("fleet/commit") == {"left", "right"}


async def test_all_that_was_asked_for_goes_to_each(broker: Embedded, choir: Members) -> None:
    words = ("--speed", "0.5", "--loop", "forever", "--ping-pong", "--first", "3", "--last", "1.5s")
    code, _, _ = await fleet(
        broker, "play", "choir", "wave", *words, "--seam", "approach", "--on-member-failure", "continue"
    )
    assert code == 0
    asked = {
        "motion": "wave",
        "speed": 0.5,
        "loop": "forever",
        "ping_pong": True,
        "first": {"frame": 3},
        "last": {"time": 1.5},
        "seam": "approach",
    }
    for body in choir.bodies("fleet/prepare").values():
        assert asked.items() <= body.items()
    assert choir.bodies("fleet/commit")["left"]["on_member_failure"] == "continue"


async def test_a_name_that_is_no_utf_8_is_asked_for_as_robots_list_it(
    broker: Embedded, choir: Members
) -> None:
    names = {robot: os.fsdecode(f"{robot}_".encode() + b"\xff") for robot in ("left", "right")}
    words = ("play", "choir", names["right"], "--motion", f"left={names['left']}")
    assert (await fleet(broker, *words))[::2] == (0, "")
    asked = {robot: body["motion"] for robot, body in choir.bodies("fleet/prepare").items()}
    assert asked == {"left": "left_\\xff", "right": "right_\\xff"}


async def test_one_failure_is_told_and_gives_exit_code_1(broker: Embedded, choir: Members) -> None:
    choir.robots["right"].code = "PATH_TOLERANCE_VIOLATED"
    code, out, err = await fleet(broker, "play", "choir", "wave", "--json")
    told = orjson.loads(out)
    assert (code, err) == (1, "right: wave ended with PATH_TOLERANCE_VIOLATED; as asked\n")
    assert (told["group"], told["start"]) == ("choir", choir.starts["left"])
    assert [(one["robot"], one["motion"], one["code"]) for one in told["robots"]] == [
        ("left", "wave", "SUCCESSFUL"),
        ("right", "wave", "PATH_TOLERANCE_VIOLATED"),
    ]
    assert [one["result"]["details"]["start"] for one in told["robots"]] == [told["start"]] * 2


async def test_where_the_broker_is_lost_the_table_says_how_far_each_has_come(
    broker: Embedded, choir: Members
) -> None:
    for robot in choir.robots.values():
        robot.code = None
    link = Link(int(broker.settings.listen.rpartition(":")[2]))
    await link.repair()
    play = Program("fleet", "play", "choir", "wave", "--broker", f"mqtt://127.0.0.1:{link.port}")
    await until(lambda: len(choir.verbs()) == 4)
    choir.phase("left", "playing")
    choir.result("right", "SUCCESSFUL")
    await choir.settle()
    await link.cut()
    code, out, err = await play.end()
    rows = [line.split() for line in out.splitlines()[3:-1]]
    assert (code, rows) == (3, [["left", "wave", "UNKNOWN"], ["right", "wave", "SUCCESSFUL"]])
    reason = "the connection to the broker is lost; the connection broke; look at what the robots do"
    assert err.splitlines() == [
        "left: wave ended with UNKNOWN; it was playing when last heard of; look at what it does",
        f"mqtt://127.0.0.1:{link.port}: {reason}",
    ]


async def test_ctrl_c_stops_all_and_a_second_one_ends_the_waiting(broker: Embedded, choir: Members) -> None:
    for robot in choir.robots.values():
        robot.code = None
    refusal = "right/stop: failed inside motiond"
    choir.robots["right"].refusals["stop"] = {"code": "INTERNAL", "error": refusal}
    play = Program("fleet", "play", "choir", "wave", *at(broker))
    await until(lambda: "fleet/commit" in choir.verbs())
    play.send_signal(signal.SIGINT)
    await play.writes(refusal)
    said = f"choir: all stop softly; Ctrl-C again stops the waiting only\n{refusal}\n"
    assert play.stderr.getvalue() == said
    assert choir.asked_for("stop") == {"left", "right"}
    play.send_signal(signal.SIGINT)
    code, out, _ = await play.end()
    assert (code, out) == (130, "")
    assert choir.asked_for("fleet/commit") == {"left", "right"}


async def test_ctrl_c_before_the_commit_lets_all_go(broker: Embedded, choir: Members) -> None:
    choir.robots["right"].silent_at.add("fleet/prepare")
    play = Program("fleet", "play", "choir", "wave", *at(broker))
    await until(lambda: len(choir.verbs()) == 2)
    play.send_signal(signal.SIGINT)
    assert await play.end() == (130, "", "choir: interrupted; no robot plays; all are released\n")
    await until(lambda: "fleet/release" in choir.verbs("left"))


async def test_ctrl_c_before_the_commit_says_so_where_the_broker_hangs(
    broker: Embedded, choir: Members
) -> None:
    choir.robots["right"].silent_at.add("fleet/prepare")
    link = HangingLink(int(broker.settings.listen.rpartition(":")[2]))
    await link.repair()
    play = Program("fleet", "play", "choir", "wave", "--broker", f"mqtt://127.0.0.1:{link.port}")
    await until(lambda: len(choir.verbs()) == 2)
    link.hangs = True
    play.send_signal(signal.SIGINT)
    reason = "not all have confirmed that they are released; a reservation ends after 10 s"
    assert await play.end() == (130, "", f"choir: interrupted; no robot plays; {reason}\n")
    await link.cut()


async def test_a_refusal_has_the_reason_of_each_member(broker: Embedded, choir: Members) -> None:
    choir.robots["right"].refusals["fleet/prepare"] = {
        "code": "INVALID_MOTION",
        "error": "right: wave ends far from its beginning; choose seam approach, or ping-pong",
    }
    said = (
        "choir: no robot plays; right does not start; fix this and play again\n"
        "right: wave ends far from its beginning; choose seam approach, or ping-pong\n"
    )
    assert await fleet(broker, "play", "choir", "wave") == (1, "", said)


async def test_a_stop_that_does_not_reach_the_actuators_of_all_gives_exit_code_1(
    broker: Embedded, choir: Members
) -> None:
    choir.robots["right"].lost = "no answer from j1"
    code, out, err = await fleet(broker, "stop", "choir")
    assert (code, out.splitlines()) == (1, ["left: stops softly", "right: nothing plays"])
    reason = "it is offline (no answer from j1), and no actuator was reached; use the robot's own switch"
    assert err == f"right: {reason}\n"


async def test_a_stop_that_none_takes_gives_exit_code_3(broker: Embedded, choir: Members) -> None:
    for robot in choir.robots.values():
        robot.silent_at.add("stop")
    choir.daemon("offline")
    await choir.settle()
    reason = "no answer; its daemon 'd1' is offline; look at the robot"
    assert await fleet(broker, "stop", "choir") == (3, "", f"left: {reason}\nright: {reason}\n")
    await until(lambda: choir.asked_for("stop") == {"left", "right"})


async def test_who_is_not_there_is_shown_with_the_reason(broker: Embedded, choir: Members) -> None:
    choir.daemon("broken")
    await choir.settle()
    code, out, err = await fleet(broker, "status")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines() if line.startswith(" left")] == [
        ["left", "choir", "offline", "d1", "on", "bench", "last", "seen", "nothing"]
    ]
    reason = "its daemon 'd1' has crashed, or has lost the broker"
    assert out.splitlines()[-2:] == [f"left: {reason}", f"right: {reason}"]
