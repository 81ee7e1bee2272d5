"""What a robot reports and answers, notice by notice of a stream process that the test plays."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.api import Report, RequestError
from motiond.daemon.ipc import messages
from motiond.daemon.robots.session import Pending
from motiond.daemon.service.logs import log_report
from tests.daemon.rig import UNLIMITED, Rig, ask, refused
from tests.daemon.robots.stage import Stage
from tests.virtual import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


READY = messages.Ready(1000.0, [], UNLIMITED)
HELD = [0.1, 0.1]
OFF = messages.Changed("idle", torque=False, goal_id=None, reference=None)


def on(*ended: messages.Ended) -> messages.Changed:
    return messages.Changed("idle", torque=True, goal_id=None, reference=HELD, ended=[*ended])


LIMP = "they are not held until torque is enabled, or a motion plays"


def measured(torque_of_each: list[float | None], *, torque: bool = False) -> messages.Changed:
    return replace(on() if torque else OFF, found=torque_of_each)


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    stage = Stage(Rig(tmp_path), monkeypatch)
    yield stage
    stage.member.robot.planner.close()


@pytest.mark.parametrize(
    ("state", "code", "reason"),
    [
        ("estopped", "ESTOPPED", "the emergency stop is latched; reset it when it is safe"),
        ("fault", "FAULT", "the bus is lost; reset it when it is fixed"),
    ],
)
@pytest.mark.parametrize("holds", [on(), measured([1.0, 0.0])], ids=["by motiond", "as it was left"])
async def test_torque_of_a_halted_robot_is_not_switched_off(
    stage: Stage, state: str, code: str, reason: str, holds: messages.Changed
) -> None:
    halted = replace(holds, state=state)
    stage.notify(READY, OFF, on(), messages.Happened("fault", "the bus is lost"), halted)
    assert await refused(stage.registry, "disable") == (code, f"arm: torque cannot be switched off; {reason}")
    assert stage.sent == []


async def test_a_pause_of_a_motion_that_has_ended_by_then_is_no_success(stage: Stage) -> None:
    stage.notify(READY, on())
    goal_id = str((await (await stage.request("play", motion="short")))["goal_id"])
    pausing = await stage.request("pause")
    stage.notify(on(messages.Ended(goal_id, "SUCCESSFUL", "the last row is out and held", 0.5)))
    with pytest.raises(RequestError, match="arm: short ended before; pause what follows, or stop it"):
        await pausing


async def test_a_motion_does_not_begin_once_nobody_waits_for_its_answer(stage: Stage) -> None:
    stage.notify(READY, OFF)
    expires_at = time.time() + 0.001
    playing = await stage.request("play", motion="short", expires_at=expires_at)
    await asyncio.sleep(0.002)
    stage.notify(on())
    with pytest.raises(RequestError) as refusal:
        await playing
    assert (refusal.value.code, [type(command) for command in stage.sent]) == ("EXPIRED", [messages.Enable])
    again = await stage.request("play", motion="short", expires_at=time.time() + 5.0)
    assert "goal_id" in await again


@pytest.mark.parametrize(
    ("torque_of_each", "torque", "reported"),
    [
        ([None, None], False, (False, [])),
        ([None, None], True, (True, [])),
        ([0.0, 0.0], False, (False, [])),
        ([1.0, 1.0], False, (True, [])),
        ([0.0, 1.0], False, (True, ["shoulder"])),
        ([None, 0.0], True, (True, ["elbow"])),
        ([0.0, 0.0], True, (False, [])),
        ([], True, (True, [])),
    ],
)
async def test_torque_is_what_the_actuators_report_or_else_what_was_asked_of_them(
    stage: Stage, torque_of_each: list[float | None], reported: tuple[bool, list[str]], *, torque: bool
) -> None:
    stage.notify(READY, measured(torque_of_each, torque=torque))
    status = await ask(stage.registry, "status")
    assert (status["torque"], status["loose"]) == reported


async def test_actuators_that_hold_as_they_were_left_are_an_event_once(stage: Stage) -> None:
    left = (
        "torque is on in 1 of 2 actuators (elbow), as it was left, and off in shoulder; "
        "enable the robot to hold it, or disable it to release it"
    )
    notices: list[messages.Notice] = [READY, measured([None, None]), *[measured([0.0, 1.0])] * 3]
    events = stage.reports("event", *notices, measured([1.0, 1.0], torque=True), measured([1.0, 1.0]))
    assert events == [{"kind": "torque", "message": left}]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([None, None], LIMP),
        ([0.0, 0.0], LIMP),
        ([1.0, 1.0], "torque is on in 2 of 2 actuators (shoulder, elbow), as it was left"),
        ([1.0, 0.0], "torque is on in 1 of 2 actuators (shoulder), as it was left, and off in elbow"),
        ([None, 1.0], "torque is on in 1 of 2 actuators (elbow), as it was left"),
    ],
)
async def test_actuators_that_are_back_are_an_event_that_says_which_of_them_hold(
    stage: Stage, found: list[float | None], message: str
) -> None:
    hint = "" if message is LIMP else "; enable the robot to hold it, or disable it to release it"
    notices: list[messages.Notice] = [READY, on(), messages.Lost("the cable is out"), READY]
    lost, *events = stage.reports("event", *notices, *[measured(found)] * 3)
    assert lost == {"kind": "stream_lost", "message": "the cable is out"}
    assert events == [{"kind": "back", "message": f"the actuators are back; {message}{hint}"}]


async def test_actuators_that_are_back_while_the_emergency_stop_is_latched_are_to_be_reset_first(
    stage: Stage,
) -> None:
    stage.notify(READY, on(), messages.Lost("the cable is out"))
    await ask(stage.registry, "estop")
    (back,) = (one for one in stage.reports("event", READY, measured([1.0, 1.0])) if one["kind"] == "back")
    assert back["message"].endswith("disable it to release it; reset the robot first")


@pytest.mark.parametrize("state", ["estopped", "fault"])
async def test_actuators_that_hold_as_they_were_left_are_to_be_reset_first_where_the_robot_is_halted(
    stage: Stage, state: str
) -> None:
    halted = replace(measured([0.0, 1.0]), state=state)
    (event,) = stage.reports("event", READY, measured([0.0, 0.0]), halted)
    assert event == {
        "kind": "torque",
        "message": "torque is on in 1 of 2 actuators (elbow), as it was left, and off in shoulder; "
        "enable the robot to hold it, or disable it to release it; reset the robot first",
    }


async def test_a_check_that_fails_is_one_line_of_the_log(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "motiond")
    hot = messages.Happened("check_failed", "joint 'elbow' is at 71.0 °C", {"check": "temperature"})
    stage.notify(READY, on())
    for event in stage.reports("event", hot):
        log_report(Report("arm", "event", event), {})
    assert caplog.messages == ["arm: joint 'elbow' is at 71.0 °C"]


async def test_a_disable_is_answered_when_the_actuators_are_released(stage: Stage) -> None:
    stage.notify(READY, measured([0.0, 1.0]))
    disable = await stage.request("disable")
    assert not disable.done()
    stage.notify(measured([0.0, 0.0]))
    assert await disable == {"state": "idle", "torque": False}


async def test_nothing_is_known_of_the_torque_of_a_robot_that_is_offline(stage: Stage) -> None:
    stage.notify(READY, measured([0.0, 1.0]), messages.Lost("the cable is out"))
    status = await ask(stage.registry, "status")
    assert (status["state"], status["torque"], status["loose"]) == ("offline", False, [])


async def test_a_robot_whose_actuators_are_looked_for_again_and_again_goes_offline_once(stage: Stage) -> None:
    notices: list[messages.Notice] = [READY, OFF, *[messages.Lost("the port is gone")] * 3] * 2
    assert stage.reports("availability", *notices) == [{"state": "online"}, {"state": "offline"}] * 2


async def test_a_warning_of_a_driver_is_reported_once_also_when_its_actuators_come_back(stage: Stage) -> None:
    notices: list[messages.Notice] = []
    for warnings in (["servo 7: weak", "servo 7: weak"], ["servo 7: weak"], ["servo 7: weak", "hot"]):
        notices += [replace(READY, warnings=warnings), messages.Lost("the bus is lost")]
    events = [event for event in stage.reports("event", *notices) if event["kind"] == "warning"]
    assert events == [{"kind": "warning", "message": text} for text in ("servo 7: weak", "hot")]


# -- how long an answer is waited for -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notice", "state_text"),
    [(replace(OFF, state="stopping", torque=True), "stopping with torque on"), (OFF, "idle with torque off")],
)
async def test_an_answer_that_does_not_come_names_the_state_and_what_is_awaited(
    stage: Stage, notice: messages.Changed, state_text: str
) -> None:
    stage.notify(READY, notice)
    with pytest.raises(RequestError) as refused:
        await stage.robot.obeyed(1, "torque off")
    reason = f"the robot is {state_text}, and torque off is still awaited"
    assert str(refused.value) == f"arm: not done in 4.5 s; {reason}; it may come yet; its state shows it"
    state = {"state": notice.state, "torque": notice.torque}
    assert refused.value.data == state | {"awaited": "torque off"}


@pytest.mark.parametrize("is_sent", [True, False])
async def test_nothing_is_awaited_of_a_robot_that_is_offline(stage: Stage, *, is_sent: bool) -> None:
    session = stage.robot.session
    stage.notify(READY, OFF)
    number = session.stop("stopped") if is_sent else 0
    session.lose("no answer from j1")
    await stage.robot.obeyed(number or session.stop("stopped"), "torque off")
    if is_sent:
        session.take(OFF)
        await stage.robot.obeyed(number, "torque off")


async def test_an_answer_counts_that_came_while_the_daemon_stood_still(stage: Stage) -> None:
    stage.notify(READY, OFF)
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)

    def stand_still() -> None:
        loop.stand_still(5.0)
        pass_on(2)

    def pass_on(rounds: int) -> None:
        if rounds:
            loop.call_soon(pass_on, rounds - 1)
        else:
            stage.robot.session.take(replace(on(), after=1))

    loop.call_soon(stand_still)
    await stage.robot.obeyed(1, "torque on")


async def test_a_request_is_answered_in_time_whatever_it_awaits_in_turn(stage: Stage) -> None:
    stage.notify(READY, OFF)
    loop, pending = asyncio.get_running_loop(), Pending("rest")
    came_s = loop.time()
    loop.call_later(3.0, setattr, pending, "awaits", "torque on")
    reason = "the robot is idle with torque off, and torque on is still awaited"
    with pytest.raises(RequestError, match=f"arm: not done in 4.5 s; {reason}; "):
        await stage.robot.settled(pending)
    assert loop.time() - came_s == pytest.approx(4.5)


@pytest.mark.parametrize(("waited_s", "answered_s"), [(1.0, 4.15), (4.0, 4.45), (6.0, 6.45)])
async def test_what_was_waited_for_before_counts_and_one_turn_is_left(
    stage: Stage, waited_s: float, answered_s: float
) -> None:
    stage.notify(READY, OFF)
    loop = asyncio.get_running_loop()
    came_s = loop.time()
    await asyncio.sleep(waited_s)
    with pytest.raises(RequestError, match="torque on is still awaited"):
        await stage.robot.settled(Pending("torque on"), came_s)
    assert loop.time() - came_s == pytest.approx(answered_s)
