"""How goals of many servos go out."""

from __future__ import annotations

import numpy as np
import pytest

from motiond.drivers.feetech.models import models_by_name

from .bench import Bench, servo


@pytest.mark.parametrize(
    ("model", "count", "frames"), [("STS3215", 6, 1), ("SCS0009", 6, 1), ("STS3215", 90, 2)]
)
def test_each_servo_gets_its_own_goal(
    model: str, count: int, frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Bench([servo(number, model) for number in range(1, count + 1)]).hold() as bench:
        goals = np.linspace(-0.3, 0.3, count)
        bench.play(goals)
        sent = []
        monkeypatch.setattr(bench.driver._buses[0], "send", lambda frame: sent.append(bytes(frame)))
        bench.driver._send()
        assert sent[0].count(b"\xff\xff\xfe") == frames
        found = np.array([one.get("goal_position") for one in bench.servos])
    kind = models_by_name()[model]
    reached = (found - kind.zero_ticks) * kind.rad_per_tick
    np.testing.assert_allclose(reached, goals, atol=0.51 * kind.rad_per_tick)
