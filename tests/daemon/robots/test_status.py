"""How long somebody waits for what a stream process answers."""

from __future__ import annotations

import asyncio
import time

import pytest

from motiond.daemon.api.errors import RequestError
from motiond.daemon.ipc.states import State
from motiond.daemon.robots.status import RobotStatus

WAIT_S = 1.0


@pytest.mark.parametrize(
    ("state", "torque", "message", "told"),
    [
        (State.STOPPING, True, "", "stopping with torque on"),
        (State.IDLE, False, "", "idle with torque off"),
        (State.OFFLINE, False, "no answer from j1", "offline (no answer from j1)"),
        (State.FAULT, True, "j1: overload", "fault (j1: overload)"),
    ],
)
async def test_an_answer_that_does_not_come_tells_the_state_and_what_is_awaited(
    state: State, message: str, told: str, *, torque: bool
) -> None:
    status = RobotStatus("arm")
    status.state, status.torque, status.message = state, torque, message
    with pytest.raises(RequestError) as refused:
        await status.until(lambda: False, "torque off", 0.1)
    assert str(refused.value) == (
        f"arm: not done in 0.1 s; the robot is {told}, and torque off is still awaited; "
        "it may come yet; `state` reports it"
    )
    assert refused.value.data == {"state": state, "torque": torque, "awaited": "torque off"}


async def test_an_answer_counts_that_came_while_the_daemon_stood_still() -> None:
    status, loop = RobotStatus("arm"), asyncio.get_running_loop()

    def stand_still() -> None:
        time.sleep(1.2 * WAIT_S)  # the loop stands still, and the clock does not
        pass_on(2)

    def pass_on(rounds: int) -> None:
        if rounds:
            loop.call_soon(pass_on, rounds - 1)
        else:
            status.torque = True
            status.wake()

    loop.call_soon(stand_still)
    await status.until(lambda: status.torque, "torque on", WAIT_S)
