"""Stops of a flood, of which each acts and none delays another robot's; and what a stop has overtaken."""

from __future__ import annotations

import asyncio
from collections import Counter

import aiomqtt
import pytest

from motiond.daemon.api import Pace
from motiond.daemon.mqtt.bridge import stops as stop_intake
from motiond.daemon.mqtt.bridge.stops import LONGEST_S, MERGED_S, StopIntake, StopOrder
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
        for _ in range(500):
            stop("leg")
        stop("arm")
        await asyncio.sleep(0)
        assert served == {"motiond/leg/request/stop": 50, "motiond/arm/request/stop": 1}
        await asyncio.sleep(2 * MERGED_S)
        assert acted == {"leg": 1}
        stop("leg")
    assert served.total() + acted.total() == 53


# -- what a stop has overtaken ------------------------------------------------------------------------------


SOON, LATE = str(LONGEST_S - 0.1), str(LONGEST_S + 0.1)


@pytest.mark.parametrize(
    ("steps", "overtaken"),
    [
        ("place", [False]),
        ("place take place pass_by place", [True, True, False]),
        ("place pass_by place take", [True, False]),  # it may come by before it is served
        ("take take pass_by place pass_by place", [True, False]),  # each of several counts
        (f"place take {SOON} place", [True, True]),
        (f"place take {LATE} place", [True, False]),  # one that never comes by holds nothing up for good
        ("take start place", [False]),  # on a new connection none is waited for
    ],
)
def test_what_came_by_before_a_stop_is_overtaken_once_the_stop_is_served(
    steps: str, overtaken: list[bool]
) -> None:
    now_s, places = 100.0, []
    order = StopOrder(lambda: now_s)
    for step in steps.split():
        match step:
            case "place":
                places.append(order.place("arm"))
            case "start":
                order.start()
            case "take" | "pass_by":
                getattr(order, step)("arm")
            case _:
                now_s += float(step)
    assert [order.is_overtaken("arm", place) for place in places] == overtaken
    assert not order.is_overtaken("hand", 0)
