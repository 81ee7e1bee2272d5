"""Totals of what goes wrong with servos: over stream processes, by joint, and in an event now and then."""

from __future__ import annotations

from typing import Any

from motiond.daemon.config.robot import JointSettings
from motiond.daemon.joints.joint_map import build_joint_map
from motiond.daemon.robots.error_totals import EVENT_EVERY_S, ErrorTotals

JOINTS = {name: JointSettings() for name in ("shoulder", "elbow")}
MORE = "check cables and power; what follows is counted, and reported in 10 min"


class Told:
    """Totals of two joints, and the events that they have published."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.totals = ErrorTotals(build_joint_map("arm", None, JOINTS), self.events.append)

    def take(self, missed: int, *, pid: int = 1, damaged: int = 0, restarts: int = 0) -> None:
        self.totals.take([[0, missed], [0, damaged], [0, 0], [0, restarts]], pid)


def test_counts_of_one_stream_process_go_on_with_those_of_the_next() -> None:
    told = Told()
    told.take(3)
    told.take(5)
    told.take(6, pid=2)
    assert told.totals.payload() == {
        "missed": [0, 11],
        "damaged": [0, 0],
        "reported": [0, 0],
        "restarts": [0, 0],
    }


def test_the_first_error_is_told_at_once_and_what_follows_after_a_while_together() -> None:
    told = Told()
    told.totals.tell(0.0)
    assert told.events == []
    told.take(1)
    told.totals.tell(1.0)
    for second in range(2, 600):
        told.take(second, damaged=2, restarts=1)
        told.totals.tell(float(second))
    assert [event["message"] for event in told.events] == [
        f"servo errors: elbow (1 answer missed); {MORE}",
    ]
    told.totals.tell(1.0 + EVENT_EVERY_S)
    assert told.events[-1] == {
        "kind": "servo_errors",
        "message": f"servo errors: elbow (598 answers missed, 2 of them damaged, 1 restart); {MORE}",
        "details": {"errors": {"elbow": {"missed": 598, "damaged": 2, "restarts": 1}}},
    }
    told.totals.tell(10.0 * EVENT_EVERY_S)
    assert len(told.events) == 2
