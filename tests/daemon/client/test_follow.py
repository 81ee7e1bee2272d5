"""What the client sends of a follow, and what it refuses at once."""

from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.client import Follow
from motiond.client.transport import Deadline, Interest, Transport

if TYPE_CHECKING:
    from motiond.client.daemon import Goal

Posted = list[dict[str, Any]]


def follow_of(posted: Posted, mode: str = "position") -> Follow:
    robot = SimpleNamespace(name="arm", post=lambda _, payload: posted.append(payload))
    answer = {"joints": ["base", "elbow"], "rate_hz": 200.0}
    goal = SimpleNamespace(robot=robot, goal_id="g1", answer=answer, ended=lambda: None)
    return Follow(cast("Goal", goal), mode)


def test_a_twist_has_six_numbers_whatever_joints_move() -> None:
    posted: Posted = []
    follow_of(posted, "twist").send([0.1, 0, 0, 0, 0, 0.5], sent_at=1.0)
    assert posted == [{"goal_id": "g1", "sent_at": 1.0, "twist": [0.1, 0.0, 0.0, 0.0, 0.0, 0.5]}]
    with pytest.raises(ValueError, match="six") as refused:
        follow_of(posted, "twist").send([0.1, 0.2])
    assert str(refused.value) == "2 values; a twist is vx, vy, vz, wx, wy, wz; give these six"


@pytest.mark.parametrize(
    ("rows", "keys", "problem"),
    [
        ([], {"period_s": 0.1}, "no rows; a chunk has one at least; give some"),
        (
            [[0.1]],
            {"period_s": 0.1},
            "row 0 has 1 value; 2 joints are followed; give each row one value for each",
        ),
        (
            [0.1, 0.2],
            {"period_s": 0.1},
            "row 0 has 1 value; 2 joints are followed; give each row one value for each",
        ),
        (
            [[0.1, 0.1], [0.1, None]],
            {"period_s": 0.1},
            "row 1, joint 'elbow': None is no target; give a finite number",
        ),
        ([["0.1", 0.1]], {"period_s": 0.1}, "row 0, joint 'base': '0.1' is no target; give a finite number"),
        ([[0.1, "far"]], {"period_s": 0.1}, "row 0, joint 'elbow': 'far' is no target; give a finite number"),
        (
            [[float("nan"), 0.1]],
            {"period_s": 0.1},
            "row 0, joint 'base': nan is no target; give a finite number",
        ),
        ([[0.1, 0.1]], {"times": [None]}, "None is no target; give a finite number"),
        ([[0.1, 0.1]], {}, "rows have a period_s, or times; give one of them"),
        ([[0.1, 0.1]], {"period_s": 0.1, "times": [0.0]}, "rows have a period_s, or times; give one of them"),
    ],
)
def test_a_chunk_that_nobody_could_read_is_not_sent(
    rows: list[list[float]], keys: dict[str, Any], problem: str
) -> None:
    posted: Posted = []
    with pytest.raises(ValueError, match=problem):
        follow_of(posted).chunk(rows, **keys)
    assert posted == []


def test_a_truth_value_is_no_target() -> None:
    posted: Posted = []
    with pytest.raises(ValueError, match="True is no target; give a finite number"):
        follow_of(posted).send([True, 0.1])
    assert posted == []


def test_a_clock_that_is_set_back_makes_no_target_older_than_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posted: Posted = []
    follow = follow_of(posted)
    for now in (100.0, 40.0, 100.5):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        follow.send([0.1, 0.1])
    assert [payload["sent_at"] for payload in posted] == [100.0, 100.0, 100.5]


class Busy(Transport):
    """A connection that takes a target when it is let."""

    def __init__(self) -> None:
        super().__init__("there", lambda _: None)
        self.connected.set()
        self.may = asyncio.Event()
        self.sent: list[tuple[str, dict[str, Any]]] = []

    async def ask(self, path: str, verb: str, payload: dict[str, Any], deadline: Deadline) -> dict[str, Any]:
        del path, deadline
        await self.may.wait()
        self.sent.append((verb, payload))
        return {}

    async def _serve(self) -> None: ...

    async def follow(self, interest: Interest) -> None: ...

    async def names(self) -> tuple[str, ...]:
        return ()

    def absence(self, robot: str) -> str:
        return robot


@pytest.mark.parametrize(
    ("waits", "expected"),
    [
        (("follow/target", {"positions": [0.3, 0.4]}), [0.1, 0.4]),
        (("follow/chunk", {"positions": [[0.3, 0.4]] * 2, "period_s": 0.1}), [0.1, None]),
        (("follow/target", {"goal_id": "g0", "positions": [0.3, 0.4]}), [0.1, None]),
    ],
)
async def test_what_a_target_leaves_as_it_is_comes_from_the_target_that_it_replaces(
    waits: tuple[str, dict[str, Any]], expected: list[float | None]
) -> None:
    transport, (verb, payload) = Busy(), waits
    transport.post("arm", "follow/target", {"goal_id": "g1", "positions": [0.0, 0.0]})
    await asyncio.sleep(0)
    transport.post("arm", verb, {"goal_id": "g1", **payload})
    transport.post("arm", "follow/target", {"goal_id": "g1", "positions": [0.1, None]})
    transport.may.set()
    await asyncio.sleep(0.01)
    await transport.close()
    assert transport.sent[1:] == [("follow/target", {"goal_id": "g1", "positions": expected})]
