"""Stops of a flood: each acts, few are answered, and none delays another robot's."""

from __future__ import annotations

import asyncio
from collections import Counter

import aiomqtt
import pytest

from motiond.daemon.api import Pace
from motiond.daemon.mqtt.bridge import stops as stop_intake
from motiond.daemon.mqtt.bridge.stops import BURST, MERGED_S, StopIntake
from motiond.daemon.mqtt.topics import RequestTopic


def test_a_pace_lets_a_burst_through_and_then_a_rate() -> None:
    now_s = [10.0]
    pace = Pace(100.0, 3, lambda: now_s[0])
    assert [pace.take() for _ in range(5)] == pytest.approx([0.0, 0.0, 0.0, 0.01, 0.02])
    now_s[0] += 0.03
    assert pace.take() == 0.0
    assert pace.take() == pytest.approx(0.01)
    now_s[0] += 1000.0
    assert [pace.take() for _ in range(4)] == pytest.approx([0.0, 0.0, 0.0, 0.01])


async def test_a_flood_to_one_robot_acts_at_once_and_again_and_leaves_another_robot_its_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stop_intake, "RATE_HZ", 1e-3)  # none of the rate's comes while the flood does
    served: Counter[str] = Counter()
    acted: Counter[str] = Counter()

    async def serve(message: aiomqtt.Message) -> None:
        served[message.topic.value] += 1

    async def act(asked: RequestTopic) -> None:
        acted[asked.robot] += 1

    def stop(robot: str) -> None:
        topic = f"motiond/{robot}/request/stop"
        intake.take(RequestTopic(robot, "stop"), aiomqtt.Message(topic, b"", 0, False, 1, None))

    async with asyncio.TaskGroup() as tasks:
        intake = StopIntake(serve, act, tasks)
        for _ in range(10 * BURST):
            stop("leg")
        stop("arm")
        await asyncio.sleep(0)
        assert served == {"motiond/leg/request/stop": BURST, "motiond/arm/request/stop": 1}
        await asyncio.sleep(2 * MERGED_S)
        assert acted == {"leg": 1}
        stop("leg")
    assert served.total() + acted.total() == BURST + 3
