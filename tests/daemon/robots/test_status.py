"""How long somebody waits for what a stream process answers."""

from __future__ import annotations

import asyncio
import time

import pytest

from motiond.daemon.api.errors import RequestError
from motiond.daemon.robots.status import RobotStatus

WAIT_S = 1.0


async def test_an_answer_that_does_not_come_is_told() -> None:
    with pytest.raises(RequestError) as refused:
        await RobotStatus("arm").until(lambda: False, "the robot did not go on", 0.1)
    assert str(refused.value) == "arm: the robot did not go on; waited 0.1 s; ask for status"


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
    await status.until(lambda: status.torque, "torque could not be switched on", WAIT_S)
