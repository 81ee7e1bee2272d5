"""What a test sees of a robot, whatever the order in which reports and answers arrive."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from motiond.client import NoAnswer, Refused, Report
from motiond.daemon.testing import robot as robot_module
from motiond.daemon.testing.failures import DaemonEnded, MotiondFailure, NotInTime, RequestRefused
from motiond.daemon.testing.reports import Reports
from motiond.daemon.testing.robot import MotiondRobot
from motiond.daemon.testing.traces import count_commands, read_command_log
from motiond.drivers import ActuatorCommand
from motiond.drivers.sim.command_log import CommandLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BRIEF_S = 0.05


def no_failure() -> None:
    """Find the daemon's process running."""


def none_sent(_robot: str) -> int:
    """Find no command to a driver."""
    return 0


def reports_of(*states: dict[str, Any]) -> Reports:
    """Return a robot's reports of its state so far."""
    reports = Reports([], none_sent)
    for state in states:
        report(reports, state)
    return reports


def whole(state: dict[str, Any]) -> dict[str, Any]:
    return {"message": "", "goal_id": None, "queued": 0, **state}


def report(reports: Reports, state: dict[str, Any]) -> None:
    reports.add(Report("arm", "state", whole(state)))


def arriving(reports: Reports, *later: Report) -> None:
    """Let another report arrive wherever one is waited for, as a thread does otherwise."""
    wait, coming = reports.wait, [*later]

    def waits(find: Callable[[], Any], timeout_s: float, check: Callable[[], None]) -> Any:
        while (found := find()) is None and coming:
            reports.add(coming.pop(0))
        return wait(find, timeout_s, check) if found is None else found

    reports.wait = waits  # type: ignore[method-assign] # of this one


def robot_of(
    reports: Reports,
    request: Callable[..., dict[str, Any]],
    check: Callable[[], None] = no_failure,
    **daemon_has: Any,
) -> MotiondRobot:
    """Return a robot whose client acts as `request` does."""
    client = SimpleNamespace(robot=lambda name: SimpleNamespace(name=name, request=request))
    daemon = SimpleNamespace(client=client, reports=reports, spent=False, check=check, **daemon_has)
    return MotiondRobot(cast("Any", daemon), "arm")


def scripted_robot(before: list[str], states: list[str], answer: str) -> MotiondRobot:
    """Return a robot that reports some states before a request, and some before the answer to it."""
    reports = reports_of(*({"state": state} for state in before))

    def request(*_: object, **__: object) -> dict[str, Any]:
        for state in states:
            report(reports, {"state": state})
        return {"state": answer}

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


IDLE, LATE = {"state": "idle"}, {"state": "idle", "torque": True}
BEGUN, OTHER = ({"state": "playing", "goal_id": goal} for goal in ("g", "before"))


@pytest.mark.parametrize("verb", ["goto", "play"])
def test_idle_after_a_motion_was_asked_for_is_idle_after_that_motion(verb: str) -> None:
    """A state from before it, such as torque that has been switched on, may be reported after its answer."""
    reports = reports_of(IDLE)
    robot = robot_of(reports, lambda *_, **__: {"goal_id": "g", "approach_s": 0.5})
    arriving(reports, *(Report("arm", "state", whole(state)) for state in (LATE, OTHER, LATE, BEGUN)))
    robot.request(verb)
    with pytest.raises(NotInTime, match=r"^arm: not in state 'idle' in 0.05 s; it was playing$"):
        robot.expect_state("idle", timeout_s=BRIEF_S)
    report(reports, {**IDLE, "sequence": 6})
    assert robot.expect_state("idle", timeout_s=BRIEF_S)["sequence"] == 6


def test_a_motion_that_is_over_before_any_report_of_it_counts_as_begun() -> None:
    reports = reports_of(IDLE)

    def request(*_: object, **__: object) -> dict[str, Any]:
        reports.add(Report("arm", "result", {"goal_id": "g"}))
        return {"goal_id": "g"}

    robot = robot_of(reports, request)
    robot.request("goto")
    assert robot.expect_state("idle", timeout_s=BRIEF_S)["state"] == "idle"


def test_a_motion_that_does_not_begin_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot_module, "ANSWER_S", BRIEF_S)
    robot = robot_of(reports_of(IDLE), lambda *_, **__: {"goal_id": "g"})
    with pytest.raises(NotInTime) as caught:
        robot.request("goto")
    assert str(caught.value) == "arm: goto did not begin in 0.05 s; it was idle"


def test_a_robot_is_not_idle_while_motions_wait() -> None:
    """A queued motion is not waited for, as another one plays."""
    reports = reports_of(OTHER)
    robot = robot_of(reports, lambda *_, **__: {"goal_id": "g", "queued": 1})
    robot.request("play")
    assert robot.expect_state("playing")["goal_id"] == "before"
    for state in ({**IDLE, "queued": 1}, BEGUN, IDLE):
        report(reports, state)
    robot.expect_state("idle")
    assert robot._since == 3


def test_feedback_is_measured_after_all_that_was_sent() -> None:
    """Telemetry may be behind, on virtual time by a whole motion."""
    reports = reports_of(IDLE)
    joints = [{"name": "shoulder"}, {"name": "elbow"}]
    reports.add(Report("arm", "description", {"joints": joints}))

    def sample(elbow: float) -> Report:
        measured = {"position": [0.0, elbow], "velocity": [0.0, 0.1], "effort": [None, 2.0]}
        return Report("arm", "telemetry", {"stamp_s": elbow, "feedback": measured})

    reports.add(sample(1.0))
    sent = np.array([(0.5,), (2.5,)], [("time", float)])
    robot = robot_of(reports, lambda *_, **__: {}, setpoints=lambda _: (sent, ()))
    with pytest.raises(NotInTime, match=r"^arm: no telemetry in 0.05 s; it was idle$"):
        robot.feedback(timeout_s=BRIEF_S)
    arriving(reports, sample(2.0), sample(3.0))
    measured = robot.feedback()
    assert measured.of("elbow").position == pytest.approx(3.0)
    assert np.isnan(measured.of("shoulder").effort)


def test_a_robot_that_is_not_on_line_yet_has_no_commands_to_count() -> None:
    """The driver's log appears when it is opened, and the state is reported before."""

    def no_log(robot: str) -> int:
        raise FileNotFoundError(robot)

    reports = Reports([], no_log)
    for _ in range(2):
        report(reports, {"state": "offline"})
    report(reports, IDLE)
    assert [state["state"] for state in reports.of("arm", "state")] == ["offline", "offline", "idle"]
    assert reports.lost == {}


def test_feedback_after_a_robot_was_off_line_does_not_wait_for_a_time_before_it() -> None:
    """Virtual time begins anew with the process that drives the robot."""
    sent = np.array([(900.0,)], [("time", float)])
    reports = Reports([], lambda _robot: len(sent))
    for state in ({"state": "playing"}, {"state": "offline"}, IDLE):
        report(reports, state)
    reports.add(Report("arm", "description", {"joints": [{"name": "elbow"}]}))
    robot = robot_of(reports, lambda *_, **__: {}, setpoints=lambda _: (sent, ()))
    told = {kind: [0.5] for kind in ("position", "velocity", "effort")}
    arriving(reports, Report("arm", "telemetry", {"stamp_s": 0.02, "feedback": told}))
    assert robot.feedback().position == pytest.approx(0.5)


@pytest.mark.parametrize("start_s", [0.0, 5e6], ids=["virtual", "monotonic"])
def test_a_trace_is_of_one_goal_whatever_the_clock_shows(tmp_path: Path, start_s: float) -> None:
    log, command = CommandLog(tmp_path / "arm.npy", 1), ActuatorCommand(1)
    reports = Reports([], lambda _robot: count_commands(tmp_path / "arm.npy"))
    reports.add(Report("arm", "description", {"joints": [{"name": "elbow"}]}))

    def tick(number: int) -> Report:
        """Send a command, and return what was measured meanwhile."""
        time_s = start_s + number / 100.0
        command.values[:] = number
        log.append(time_s, command, enabled=True)
        told = {kind: [float(number)] for kind in ("position", "velocity", "effort")}
        return Report("arm", "telemetry", {"stamp_s": time_s, "reference": told, "feedback": told})

    def request(*_: object, **__: object) -> dict[str, Any]:
        samples.extend(tick(number) for number in range(3, 7))
        report(reports, BEGUN)
        reports.add(Report("arm", "result", {"goal_id": "g", "code": "SUCCESSFUL"}))
        report(reports, IDLE)
        return {"goal_id": "g"}

    for number in range(3):
        reports.add(tick(number))
    samples: list[Report] = []
    logs: dict[str, Any] = {
        "commands": lambda name: count_commands(tmp_path / f"{name}.npy"),
        "setpoints": lambda name: (read_command_log(tmp_path / f"{name}.npy"), ("servo",)),
    }
    robot = robot_of(reports, request, **logs)
    assert robot.play("wave").code == "SUCCESSFUL"
    arriving(reports, *samples, *(tick(number) for number in range(7, 9)))
    log.close()
    trace = robot.trace()
    for series in (trace.setpoints, trace.reference, trace.feedback):
        assert series.position[:, 0].tolist() == [3.0, 4.0, 5.0, 6.0]
        assert series.time_s.tolist() == [start_s + number / 100.0 for number in range(3, 7)]


def touching(stamp_s: float, *bodies: str, force_n: float = 5.0) -> Report:
    """Return telemetry with a contact of the floor and each of some bodies."""
    contacts = [
        {"bodies": ["floor", body], "position": [0.1, 0.2, 0.0], "force": [0.6 * force_n, 0.0, 0.8 * force_n]}
        for body in bodies
    ]
    return Report("arm", "telemetry", {"stamp_s": stamp_s, "contacts": contacts})


def test_contacts_are_those_from_play_to_the_first_telemetry_after_its_end() -> None:
    """Telemetry has what touched since the one before it, and may be behind."""
    reports = reports_of(IDLE)
    ticks = np.array([(1.0,), (2.0,), (3.0,)], [("time", float)])

    def request(*_: object, **__: object) -> dict[str, Any]:
        report(reports, BEGUN)
        reports.add(touching(1.5, "hand", force_n=10.0))
        reports.add(Report("arm", "result", {"goal_id": "g", "code": "SUCCESSFUL"}))
        reports.ends["g"] = 3
        report(reports, IDLE)
        return {"goal_id": "g"}

    reports.add(touching(0.9, "foot"))
    reports.add(Report("arm", "description", {"bodies": ["floor", "foot", "hand", "elbow"]}))
    robot = robot_of(reports, request, commands=lambda _: 0, setpoints=lambda _: (ticks, ()))
    assert [contact.bodies for contact in robot.contacts()] == [("floor", "foot")]
    robot.play("wave")
    arriving(reports, touching(2.5), touching(3.2, "hand", "elbow"), touching(3.7, "foot"))
    assert [(contact.time_s, contact.bodies) for contact in robot.contacts()] == [
        (1.5, ("floor", "hand")),
        (3.2, ("floor", "hand")),
        (3.2, ("floor", "elbow")),
    ]
    (first, _) = robot.contacts("hand", "floor")
    assert first.force_n == pytest.approx(10.0)
    assert first.force == pytest.approx([6.0, 0.0, 8.0])
    assert first.position == (0.1, 0.2, 0.0)
    assert robot.contacts("hand", "elbow") == []


def test_a_body_that_there_is_not_fails_who_asks_what_it_has_touched() -> None:
    """It would never touch anything, whatever the motion does."""
    reports = reports_of(IDLE)
    reports.add(Report("arm", "description", {"bodies": ["base", "hand", "scene/table"]}))
    reports.add(touching(1.0))
    robot = robot_of(reports, lambda *_, **__: {})
    assert robot.contacts("hand", "scene/table") == []
    with pytest.raises(MotiondFailure) as caught:
        robot.contacts("hand", "table")
    assert str(caught.value) == (
        "arm: nothing is called 'table'; what can touch is base, hand, scene/table; "
        "did you mean 'scene/table'?"
    )


def test_a_robot_that_cannot_know_what_it_touches_fails_who_asks() -> None:
    """Nothing would be found, whatever the motion does."""
    reports = reports_of(IDLE)
    reports.add(Report("arm", "telemetry", {"stamp_s": 1.0}))
    with pytest.raises(MotiondFailure) as caught:
        robot_of(reports, lambda *_, **__: {}).contacts()
    assert str(caught.value) == (
        "arm: nobody knows what it touches; its driver has no physics; "
        "set `driver: {type: sim, physics: true}`"
    )


def failing(error: Exception) -> Callable[..., dict[str, Any]]:
    def request(*_: object, **__: object) -> dict[str, Any]:
        raise error

    return request


def test_a_refusal_fails_the_test_with_its_code_and_data() -> None:
    refused = failing(Refused("BUSY", "arm/play: busy; it plays", {"goal_id": "x"}))
    with pytest.raises(RequestRefused) as caught:
        robot_of(reports_of(), refused).request("play", motion="wave")
    assert (str(caught.value), caught.value.code) == ("BUSY: arm/play: busy; it plays", "BUSY")
    assert caught.value.data == {"goal_id": "x"}


def test_a_daemon_that_does_not_answer_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robot_module, "EXIT_S", BRIEF_S)
    with pytest.raises(NotInTime, match=r"^arm: no answer in 30 s; look at its log$"):
        robot_of(reports_of(), failing(NoAnswer("arm: no answer in 30 s; look at its log"))).stop()


def test_a_daemon_that_ends_instead_of_an_answer_is_named(tmp_path: Path) -> None:
    """Its socket is closed before its process has ended."""

    def checks() -> Iterator[None]:
        yield from (None, None)
        raise DaemonEnded(tmp_path / "arm.yaml", -9)

    running = checks()
    robot = robot_of(reports_of(), failing(NoAnswer("lost")), lambda: next(running))
    with pytest.raises(DaemonEnded):
        robot.stop()


def test_a_test_begins_with_the_latest_of_what_lasts_alone() -> None:
    subjects = ("state", "state", "event", "telemetry", "result", "description")
    told = ({"number": number, "goal_id": "g", "state": "idle"} for number in range(len(subjects)))
    reports = Reports(map(Report, ["arm"] * len(subjects), subjects, told), none_sent)
    with reports:
        pass
    reports.forget()
    kept = {subject: [one["number"] for one in reports.of("arm", subject)] for subject in subjects}
    assert kept == {"state": [1], "event": [], "telemetry": [], "result": [], "description": [5]}
