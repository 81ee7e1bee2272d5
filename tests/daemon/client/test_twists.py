"""The client sends twists, and refuses what is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.client import Follow

if TYPE_CHECKING:
    from motiond.client.daemon import Goal


def follow_of(posted: list[dict[str, Any]]) -> Follow:
    robot = SimpleNamespace(name="arm", post=lambda _, payload: posted.append(payload))
    answer = {"joints": ["base", "elbow"], "rate_hz": 200.0}
    goal = SimpleNamespace(robot=robot, goal_id="g1", answer=answer, ended=lambda: None)
    return Follow(cast("Goal", goal), "twist")


def test_a_twist_has_six_numbers_whatever_joints_move() -> None:
    posted: list[dict[str, Any]] = []
    follow_of(posted).send([0.1, 0, 0, 0, 0, 0.5], sent_at=1.0)
    assert posted == [{"goal_id": "g1", "sent_at": 1.0, "twist": [0.1, 0.0, 0.0, 0.0, 0.0, 0.5]}]
    with pytest.raises(ValueError, match="six") as refused:
        follow_of(posted).send([0.1, 0.2])
    assert str(refused.value) == "2 values; a twist is vx, vy, vz, wx, wy, wz; give these six"
