"""What a test sees of a robot, whatever the order in which reports and answers arrive."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.daemon.testing import robot as robot_module
from motiond.daemon.testing.connection import Connection, Message
from motiond.daemon.testing.failures import NotInTime
from motiond.daemon.testing.robot import MotiondRobot

if TYPE_CHECKING:
    from collections.abc import Mapping

BRIEF_S = 0.05


class ScriptedConnection(Connection):
    """A connection to no daemon, on which each request is followed by given reports and an answer."""

    def __init__(self, states: list[str], answer: dict[str, Any]) -> None:
        super().__init__("motiond")
        self._states = states
        self._answer = answer

    def publish(self, topic: str, data: Mapping[str, Any]) -> None:
        for state in self._states:
            self.report(state)
        answer = {"status": "ok", "data": self._answer, "transaction": data["transaction"]}
        self._received[topic.replace("/request/", "/response/")].append(Message(0.0, answer))

    def report(self, state: str) -> None:
        data = {"state": state, "message": "", "goal_id": None}
        self._received["arm/state"].append(Message(0.0, data))


def scripted_robot(before: list[str], states: list[str], answer: str) -> MotiondRobot:
    """Return a robot that reports some states before a request, and some before the answer to it."""
    connection = ScriptedConnection(states, {"state": answer})
    for state in before:
        connection.report(state)
    daemon = SimpleNamespace(connection=connection, spent=False, check=lambda: None)
    return MotiondRobot(cast("Any", daemon), "arm")


@pytest.mark.parametrize(
    ("before", "states", "answer"),
    [
        (["idle", "playing"], ["stopping", "idle"], "playing"),
        (["idle", "playing"], [], "playing"),
        (["playing"], ["stopping", "idle"], "stopping"),
    ],
    ids=["reported before the request", "not reported anew", "reported before the answer"],
)
def test_an_answer_may_name_a_state_that_has_passed(
    monkeypatch: pytest.MonkeyPatch, before: list[str], states: list[str], answer: str
) -> None:
    monkeypatch.setattr(robot_module, "ANSWER_S", BRIEF_S)
    assert scripted_robot(before, states, answer).stop() == {"state": answer}


def test_an_answer_with_a_state_that_was_never_reported_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot_module, "ANSWER_S", BRIEF_S)
    with pytest.raises(NotInTime) as caught:
        scripted_robot(["playing", "idle"], ["stopping", "idle"], "playing").stop()
    assert str(caught.value) == "arm: 'playing' was not reported in 0.05 s; it was stopping, idle"


def test_a_state_that_passed_since_the_request_is_found_once() -> None:
    robot = scripted_robot(["playing"], ["stopping", "idle"], "stopping")
    robot.stop()
    assert robot.expect_state("stopping")["state"] == "stopping"
    assert robot.expect_state("idle")["state"] == "idle"
    with pytest.raises(NotInTime, match="not in state 'stopping'"):
        robot.expect_state("stopping", timeout_s=BRIEF_S)
