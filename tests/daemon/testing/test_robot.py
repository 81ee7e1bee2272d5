"""What a test sees of a robot, whatever the order in which reports and answers arrive."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from motiond.client import NoAnswer, Refused, Report
from motiond.daemon.testing import robot as robot_module
from motiond.daemon.testing.failures import DaemonEnded, NotInTime, RequestRefused
from motiond.daemon.testing.reports import Reports
from motiond.daemon.testing.robot import MotiondRobot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BRIEF_S = 0.05


def no_failure() -> None:
    """Find the daemon's process running."""


def robot_of(
    reports: Reports, request: Callable[..., dict[str, Any]], check: Callable[[], None] = no_failure
) -> MotiondRobot:
    """Return a robot whose client acts as `request` does."""
    client = SimpleNamespace(robot=lambda name: SimpleNamespace(name=name, request=request))
    daemon = SimpleNamespace(client=client, reports=reports, spent=False, check=check)
    return MotiondRobot(cast("Any", daemon), "arm")


def scripted_robot(before: list[str], states: list[str], answer: str) -> MotiondRobot:
    """Return a robot that reports some states before a request, and some before the answer to it."""
    reports = Reports([])

    def report(state: str) -> None:
        reports.add(Report("arm", "state", {"state": state, "message": "", "goal_id": None}))

    def request(*_: object, **__: object) -> dict[str, Any]:
        for state in states:
            report(state)
        return {"state": answer}

    for state in before:
        report(state)
    return robot_of(reports, request)


@pytest.mark.parametrize(
    ("before", "states", "answer"),
    [
        (["idle", "playing"], ["stopping", "idle"], "playing"),
        (["idle", "playing"], [], "playing"),
        (["playing"], ["stopping", "idle"], "stopping"),
    ],
    ids=["reported before the request", "not reported again", "reported before the answer"],
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


def failing(error: Exception) -> Callable[..., dict[str, Any]]:
    def request(*_: object, **__: object) -> dict[str, Any]:
        raise error

    return request


def test_a_refusal_fails_the_test_with_its_code_and_data() -> None:
    refused = failing(Refused("BUSY", "arm/play: busy; it plays", {"goal_id": "x"}))
    with pytest.raises(RequestRefused) as caught:
        robot_of(Reports([]), refused).request("play", motion="wave")
    assert (str(caught.value), caught.value.code) == ("BUSY: arm/play: busy; it plays", "BUSY")
    assert caught.value.data == {"goal_id": "x"}


def test_a_daemon_that_does_not_answer_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot_module, "EXIT_S", BRIEF_S)
    with pytest.raises(NotInTime, match=r"^arm: no answer in 30 s; look at its log$"):
        robot_of(Reports([]), failing(NoAnswer("arm: no answer in 30 s; look at its log"))).stop()


def test_a_daemon_that_ends_instead_of_an_answer_is_named(tmp_path: Path) -> None:
    """Its socket is closed before its process has ended."""

    def checks() -> Iterator[None]:
        yield from (None, None)
        raise DaemonEnded(tmp_path / "arm.yaml", -9)

    running = checks()
    robot = robot_of(Reports([]), failing(NoAnswer("lost")), lambda: next(running))
    with pytest.raises(DaemonEnded):
        robot.stop()


def test_a_test_begins_with_the_latest_of_what_lasts_alone() -> None:
    subjects = ("state", "state", "event", "telemetry", "result", "description")
    reports = Reports(Report("arm", subject, {"number": number}) for number, subject in enumerate(subjects))
    with reports:
        pass
    reports.forget()
    kept = {subject: [one.data["number"] for one in reports.of("arm", subject)] for subject in subjects}
    assert kept == {"state": [1], "event": [], "telemetry": [], "result": [], "description": [5]}
