"""The parts of `motiond monitor` by themselves: keys, requests, numbers as pictures, and the screen."""

from __future__ import annotations

import asyncio
import os
import pty
import termios
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.client import NoAnswer
from motiond.daemon.api import Report, RequestError
from motiond.daemon.cli.monitor import commander as commanding
from motiond.daemon.cli.monitor.commander import Commander
from motiond.daemon.cli.monitor.robot_view import RobotView
from motiond.daemon.cli.monitor.screen import KEYS, MonitorScreen
from motiond.daemon.cli.monitor.sparkline import PLAIN_BLOCKS, History, bars, sparkline
from motiond.daemon.cli.terminal import Keys, raw_keys
from tests.daemon import answers
from tests.daemon.fleet.members import until

if TYPE_CHECKING:
    from collections.abc import Callable

BROKER = "mqtt://127.0.0.1:1883"

# -- keys ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        ((b"sq",), ["s", "q"]),
        ((b"\t",), ["next"]),
        ((b"\x1b[Z\x1b[C\x1bOD",), ["back", "next", "back"]),
        ((b"\x1b[1;5s", b"e"), ["other", "e"]),
        ((b"\x1b[1", b";5s", b"e"), ["other", "e"]),
        ((b"\x1bs",), ["other", "s"]),
        ((b"\x1b", b"s"), ["other", "s"]),
        ((b"\x13\x1a\xc3\xa4\x7f",), ["other"] * 4),
    ],
)
def test_keys_are_taken_out_of_what_a_terminal_sends(data: tuple[bytes, ...], keys: list[str]) -> None:
    taken = Keys(lambda: 0.0)
    assert [key for part in data for key in taken.take(part)] == keys


def test_what_began_as_another_key_long_ago_swallows_no_stop() -> None:
    now_s = 0.0
    taken = Keys(lambda: now_s)
    assert taken.take(b"\x1b[") == []
    now_s = 0.2
    assert taken.take(b"s") == ["s"]


def fail_among_raw_keys(master: int, slave: int) -> None:
    with raw_keys(slave):
        raw = termios.tcgetattr(slave)
        os.write(master, b"\x13s\x1a")
        assert os.read(slave, 10) == b"\x13s\x1a"
        assert not raw[3] & (termios.ICANON | termios.ECHO)
        assert raw[3] & termios.ISIG
        raise ZeroDivisionError


def test_a_terminal_is_afterwards_as_it_was_also_after_an_error() -> None:
    master, slave = pty.openpty()
    try:
        before = termios.tcgetattr(slave)
        with pytest.raises(ZeroDivisionError):
            fail_among_raw_keys(master, slave)
        assert termios.tcgetattr(slave) == before
    finally:
        os.close(master)
        os.close(slave)


# -- requests -----------------------------------------------------------------------------------------------


class Robots:
    """Stands in for all robots, which answer as a test tells them."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.answer: dict[str, Any] | Exception = {"state": "idle", "goal_id": None}
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def ask(self, robot: str, verb: str) -> dict[str, Any]:
        self.asked.append((robot, verb))
        await self.may_answer.wait()
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def robots() -> Robots:
    return Robots()


def commander_of(robots: Robots, now: Callable[[], float] = lambda: 0.0) -> Commander:
    return Commander(robots.ask, lambda: None, now)


async def test_only_resume_is_asked_about_and_only_y_agrees(robots: Robots) -> None:
    commander = commander_of(robots)
    for key in "sepr":
        commander.press(key, "arm")
        commander.note_shown()
    questions = [commander.question]
    commander.press("x", "arm")
    assert commander.notice == ""
    commander.press("y", "arm")
    questions.append(commander.question)
    assert questions == [("arm", "resume"), None]
    commander.press("r", "arm")
    commander.note_shown()
    commander.press("y", "hand")  # who was asked about is who is resumed
    await until(lambda: len(robots.asked) == 4)
    await commander.finish()
    verbs = ("stop", "estop", "pause", "resume")
    assert robots.asked == [("arm", verb) for verb in verbs]


async def test_with_caps_lock_on_each_key_does_what_it_does_otherwise(robots: Robots) -> None:
    commander = commander_of(robots)
    for key in "SEPRY":
        commander.press(key, "arm")
        commander.note_shown()
    await until(lambda: len(robots.asked) == 4)
    await commander.finish()
    assert robots.asked == [("arm", verb) for verb in ("stop", "estop", "pause", "resume")]
    assert commander.notice == ""


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("X", "key 'X' does nothing; s stops, e halts at once, q quits"),
        ("other", "this key does nothing; s stops, e halts at once, q quits"),
        ("q", ""),
    ],
)
async def test_a_key_that_does_nothing_says_so_until_another_one_does(
    robots: Robots, key: str, told: str
) -> None:
    now_s = 0.0
    commander = commander_of(robots, lambda: now_s)
    commander.press(key, "arm")
    assert commander.notice == told
    screen = MonitorScreen(lambda: ("arm",), lambda: (BROKER, True), lambda: None, commander)
    assert screen.lines(80, 20)[-2].plain.rstrip() == told
    commander.press("s", "arm")
    assert commander.notice == ""
    commander.press(key, "arm")
    now_s = 11.0
    commander.drop_old()
    await commander.finish()
    assert (commander.notice, robots.asked) == ("", [("arm", "stop")])


@pytest.mark.parametrize("key", ["s", "e", "p"])
async def test_a_robot_that_moves_again_is_not_said_to_stop(robots: Robots, key: str) -> None:
    commander = commander_of(robots)
    commander.heed("arm", "playing")
    commander.press(key, "arm")
    await until(lambda: commander.last is not None and commander.last.said)
    for robot, state in (("arm", "playing"), ("arm", "stopping"), ("arm", "idle"), ("hand", "approaching")):
        commander.heed(robot, state)
        assert commander.last is not None
    commander.heed("arm", "approaching")
    assert commander.last is None


async def test_what_was_accepted_is_told_for_a_while(robots: Robots) -> None:
    now_s = 0.0
    commander = commander_of(robots, lambda: now_s)
    commander.press("s", "arm")
    await until(lambda: commander.last is not None and commander.last.said)
    now_s = 9.0
    commander.drop_old()
    assert commander.last is not None
    now_s = 11.0
    commander.drop_old()
    assert commander.last is None


async def test_who_agrees_before_the_question_was_shown_has_not(robots: Robots) -> None:
    commander = commander_of(robots)
    commander.press("r", "arm")
    commander.press("y", "arm")
    for _ in range(10):  # as long as a request takes that has been sent
        await asyncio.sleep(0)
    await commander.finish()
    assert robots.asked == []


async def test_a_stop_before_any_robot_is_known_is_told_not_to_have_gone_out(robots: Robots) -> None:
    commander = commander_of(robots)
    commander.press("s", None)
    assert commander.last is not None
    said = "STOP OF any robot HAS FAILED: no robot is known yet, and nothing was sent"
    assert (commander.words(commander.last), robots.asked) == (said, [])


async def test_a_stop_without_an_answer_is_an_alarm_until_it_comes(
    robots: Robots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commanding, "ANSWER_S", 0.01)
    now_s = 0.0
    commander = commander_of(robots, lambda: now_s)
    robots.may_answer.clear()
    commander.press("s", "arm")
    assert commander.last is not None
    assert commander.words(commander.last) == "arm: stop is sent"
    await until(lambda: commander.alarm is commander.last)
    now_s = 4.0
    loud = "STOP OF arm IS NOT ANSWERED for 4 s; use the robot's own switch"
    assert commander.words(commander.last) == loud
    robots.may_answer.set()
    await until(lambda: commander.alarm is None)
    assert commander.words(commander.last) == "arm: stop accepted; nothing plays"


async def test_a_failed_stop_is_over_once_the_robot_is_halted_and_not_before(robots: Robots) -> None:
    commander = commander_of(robots)
    robots.answer = NoAnswer("arm/stop: no answer in 5 s; it is late; use the robot's own switch")
    commander.press("s", "arm")
    await until(lambda: commander.alarm is not None)
    for robot, state in (("arm", "playing"), ("hand", "estopped"), ("arm", "idle"), ("arm", "offline")):
        commander.heed(robot, state)
        assert commander.alarm is not None
    commander.heed("arm", "estopped")
    assert (commander.alarm, commander.last) == (None, None)


async def test_a_stop_that_fails_after_the_robot_was_halted_is_no_alarm(robots: Robots) -> None:
    commander = commander_of(robots)
    robots.answer = NoAnswer("arm/stop: no answer in 5 s; use the robot's own switch")
    robots.may_answer.clear()
    commander.press("s", "arm")
    commander.heed("arm", "estopped")
    robots.may_answer.set()
    await until(lambda: commander.last is None)
    await commander.finish()
    assert commander.alarm is None


async def test_a_stop_of_a_robot_that_was_halted_before_it_is_an_alarm_when_it_fails(robots: Robots) -> None:
    commander = commander_of(robots)
    commander.heed("arm", "estopped")
    robots.answer = NoAnswer("arm/stop: no connection to the broker")
    commander.press("s", "arm")
    await until(lambda: commander.alarm is not None)
    assert commander.alarm is commander.last


@pytest.mark.parametrize("width", [20, 40, 80])
async def test_a_failed_stop_says_what_to_do_on_a_narrow_terminal_too(robots: Robots, width: int) -> None:
    commander = commander_of(robots)
    reason = "no answer in 5 s; its daemon 'd1' says that it is online; use the robot's own switch"
    robots.answer = NoAnswer(f"arm/stop: {reason}")
    commander.press("s", "arm")
    await until(lambda: commander.alarm is not None)
    screen = MonitorScreen(lambda: ("arm",), lambda: (BROKER, True), lambda: None, commander)
    foot = [line.plain.strip() for line in screen.lines(width, 16)[3:-1]]
    assert " ".join(line for line in foot if line) == f"STOP OF arm HAS FAILED: arm/stop: {reason}"


async def test_a_refusal_is_shown_as_the_daemon_words_it(robots: Robots) -> None:
    commander = commander_of(robots)
    parts = ("arm/pause", "nothing to pause", "the robot is idle", "play first")
    robots.answer = RequestError("NOT_PLAYING", *parts)
    commander.press("p", "arm")
    assert commander.last is not None
    sent = commander.last
    await until(lambda: sent.said)
    said = "arm: pause failed: nothing to pause; the robot is idle; play first"
    assert (commander.words(commander.last), commander.alarm) == (said, None)


async def test_who_ends_it_waits_for_the_answer_to_a_stop(robots: Robots) -> None:
    commander = commander_of(robots)
    robots.may_answer.clear()
    commander.press("s", "arm")
    ending = asyncio.create_task(commander.finish())
    await asyncio.sleep(0.05)
    assert not ending.done()
    robots.may_answer.set()
    await ending
    assert (robots.asked, commander.alarm) == ([("arm", "stop")], None)


async def test_many_pauses_without_an_answer_keep_no_stop_back(robots: Robots) -> None:
    commander = commander_of(robots)
    robots.may_answer.clear()
    for _ in range(1000):
        commander.press("p", "arm")
    commander.press("s", "arm")
    await until(lambda: ("arm", "stop") in robots.asked)
    assert [verb for _, verb in robots.asked] == ["pause"] * 32 + ["stop"]
    robots.may_answer.set()
    await commander.finish()


# -- pictures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "picture"),
    [
        ([0.0, 1.0, 0.5], "▁█▅"),
        ([0.0, 0.001], "▁▁"),
        ([np.nan, 2.0, np.inf, 1e300, 1.0], " █  ▁"),
        ([np.nan], " "),
    ],
)
def test_a_sparkline_lies_between_least_and_greatest(values: list[float], picture: str) -> None:
    assert sparkline(np.array(values), 0.02) == picture


def test_counts_are_drawn_by_their_logarithm() -> None:
    assert bars([0, 1, 1000, 0]) == " ▂█ "
    assert bars([]) == ""
    assert bars([3, 3], PLAIN_BLOCKS) == "##"


def test_a_history_has_one_step_each_half_second_and_begins_anew_with_other_joints() -> None:
    history = History()
    for stamp_s in (0.0, 0.4, 0.6, 1.1):
        history.add(stamp_s, np.array([stamp_s, -stamp_s]))
    np.testing.assert_equal(history.of(0, 4), [np.nan, 0.4, 0.6, 1.1])
    np.testing.assert_equal(history.of(2, 2), [np.nan, np.nan])
    history.add(2.0, np.array([7.0]))
    np.testing.assert_equal(history.of(0, 2), [np.nan, 7.0])
    for stamp_s in range(1000):
        history.add(stamp_s, np.array([1.0]))
    assert np.isfinite(history.of(0, 500)).sum() == 120


# -- the screen ---------------------------------------------------------------------------------------------


def sample(joints: int) -> dict[str, Any]:
    side = {name: np.linspace(0.0, 1.0, joints) for name in ("position", "velocity", "effort")}
    return {"stamp_s": 10.0, "frame": 1.0, "reference": side, "feedback": side}


def view_of(joints: int = 2, now: Callable[[], float] = lambda: 0.0) -> RobotView:
    view = RobotView("arm", now, lambda: "12:30:00")
    names = [{"name": f"joint{number}", "unit": "rad"} for number in range(joints)]
    view.take(Report("arm", "description", {"joints": names}))
    view.take(Report("arm", "availability", {"state": "online", "absence": ""}))
    playing = {"motion": "wave", "time": 1.2, "duration": 6.4, "progress": 0.25, "loop": 2, "loops": None}
    view.take(Report("arm", "state", answers.state("playing", speed=1.0, **playing)))
    view.take(Report("arm", "samples", sample(joints)))
    timing = {
        "tick_rate_hz": 500.0, "lateness_s": {"p50": 2e-5, "p99": 3e-5, "max": 2.6e-4},
        "missed_deadlines_total": 3, "temperature_c": [41.0, None],
        "lateness_histogram": {"up_to_s": [1e-5, 1e-1], "counts": [1, 500, 0]},
    }  # fmt: skip
    view.take(Report("arm", "diagnostics", timing))
    return view


def screen_of(view: RobotView | None, robots: Robots, *, connected: bool = True) -> MonitorScreen:
    names = ("arm", "hand")
    return MonitorScreen(lambda: names, lambda: (BROKER, connected), lambda: view, commander_of(robots))


def test_which_actuators_do_not_hold_while_others_do_is_shown() -> None:
    view = view_of()
    for loose, shown in (
        (["elbow", "wri\x1bst"], "idle; torque off in elbow, wri\\x1bst"),
        ("elbow", "idle"),
    ):
        view.take(Report("arm", "state", answers.state("idle", torque=True, loose=loose)))
        assert view.doing() == shown


async def test_a_screen_has_all_that_is_known(robots: Robots) -> None:
    lines = [line.plain.rstrip() for line in screen_of(view_of(), robots).lines(100, 16)]
    assert lines == [
        f"{BROKER}: connected",
        " arm  hand",
        "arm: playing wave, 1.2 of 6.4 s; pass 2; speed 1",
        "[█████               ]  25%",
        "joint   position                        error                       effort                      °C",
        "joint0   +0.0000                  ▁   +0.0000                  ▁    +0.000                  ▁   41",
        "joint1   +1.0000                  ▁   +0.0000                  ▁    +1.000                  ▁    -",
        "500 ticks/s; late p50 0.02, p99 0.03, max 0.26 ms; missed 3",
        "the last minute: 0.01 ms |▂▂██  | over 100 ms",
        *[""] * 6,
        "s stop   e estop   p pause   r resume   Tab robot   q quit",
    ]  # fmt: skip


async def test_errors_of_servos_stand_beside_the_ticks(robots: Robots) -> None:
    view = view_of()
    errors = {"missed": [7, 0], "damaged": [2, 0], "reported": [1, 0], "restarts": [0, 0]}
    view.take(Report("arm", "diagnostics", {"tick_rate_hz": 100.0, "errors": errors}))
    (line,) = [one.plain.rstrip() for one in screen_of(view, robots).lines(100, 16) if "ticks" in one.plain]
    assert line == "100 ticks/s; late p50 0, p99 0, max 0 ms; missed 0; servo errors: joint0 8"


async def test_what_becomes_of_targets_stands_in_place_of_progress(robots: Robots) -> None:
    view = view_of()
    lag = {"joint": "joint1", "value": -0.0125, "unit": "rad"}
    follow = {"targets_hz": 49.8, "clipped": 2, "dropped": 0, "refused": 0, "lag": lag}
    view.take(Report("arm", "state", answers.state("following", motion="follow", follow=follow)))
    lines = [line.plain.rstrip() for line in screen_of(view, robots).lines(100, 16)]
    assert lines[2:4] == ["arm: following; 50 targets/s; joint1 lags by 0.0125 rad; 2 clipped", ""]


@pytest.mark.parametrize("joints", [0, 1, 6, 200])
async def test_a_screen_of_any_size_is_filled_and_not_overfilled_and_keeps_the_keys(
    robots: Robots, joints: int
) -> None:
    view = view_of(joints)
    for number in range(30):
        view.note(f"event {number}")
    screen = screen_of(view, robots)
    for width, height in product((1, 20, 60, 80, 200), (1, 3, 8, 16, 50)):
        lines = screen.lines(width, height)
        assert len(lines) == height
        assert max(line.cell_len for line in lines) <= width
        assert lines[-1].plain == next((keys for keys in KEYS if len(keys) <= width), KEYS[-1][:width])
        assert width < len("s stop  q quit") or lines[-1].plain.endswith("q quit")


async def test_joints_that_do_not_fit_are_counted_and_events_keep_their_place(robots: Robots) -> None:
    view = view_of(30)
    view.take(Report("arm", "event", {"kind": "warning", "message": "hot\x1b[2J"}))
    view.take(Report("arm", "result", {"motion": "wave", "code": "CANCELED", "message": "stopped"}))
    shown = [line.plain.rstrip() for line in screen_of(view, robots).lines(80, 20)]
    assert shown[-3:-1] == [
        "12:30:00 warning: hot\\x1b[2J",
        "12:30:00 wave ended with CANCELED; stopped",
    ]
    assert "and 21 more; a higher terminal shows them" in shown


async def test_a_lost_broker_an_absent_robot_and_silence_are_told(robots: Robots) -> None:
    now_s = 0.0
    view = view_of(now=lambda: now_s)
    now_s = 5.0
    assert screen_of(view, robots).lines(80, 20)[3].plain.rstrip() == "no report for 5 s"
    lost = screen_of(view, robots, connected=False).lines(80, 20)
    assert lost[0].plain.rstrip() == f"{BROKER}: NOT CONNECTED, tried again"
    view.take(Report("arm", "availability", {"state": "offline", "absence": "its daemon 'd' is offline"}))
    absent = [line.plain.rstrip() for line in screen_of(view, robots).lines(80, 20)]
    assert absent[2:4] == ["arm: offline", "its daemon 'd' is offline; what follows is old"]
    nobody = [line.plain.rstrip() for line in screen_of(None, robots).lines(80, 20)]
    assert nobody[2] == "no robot is known at this broker"


@pytest.mark.parametrize(
    ("subject", "data"),
    [
        ("state", {"state": "playing", "motion": ["x"], "time": "y", "progress": None, "loops": "z"}),
        ("diagnostics", {"lateness_s": 3, "lateness_histogram": {"up_to_s": [1], "counts": "x"}}),
        ("diagnostics", {"temperature_c": {"a": 1}, "lateness_histogram": [1]}),
        ("diagnostics", {"errors": {"missed": 3, "reported": ["x"], "restarts": None}}),
        ("description", {"joints": ["x", {"name": 7}]}),
        ("event", {}),
        ("lease", {"holder": {"a": 1}}),
        ("availability", {"state": 7, "absence": ["x"]}),
    ],
)
async def test_nonsense_of_a_robot_takes_no_screen_away(
    robots: Robots, subject: Any, data: dict[str, Any]
) -> None:
    view = view_of()
    view.take(Report("arm", subject, data))
    assert len(screen_of(view, robots).lines(80, 20)) == 20
