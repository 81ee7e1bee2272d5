"""`motiond monitor` on a real terminal: what it shows, what its keys do, and how it leaves the terminal."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.cli.monitor import Monitor
from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask
from motiond.daemon.config.client import load_mqtt_settings
from motiond.daemon.config.mqtt import MqttSettings
from tests.daemon import told
from tests.daemon.cli.terminals import on_terminal
from tests.daemon.conftest import Embedded
from tests.daemon.fleet.members import Member, members, until
from tests.daemon.programs import background, run_here
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

LEAVES_SCREEN, SHOWS_CURSOR, HIDES_CURSOR = b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?25l"


def asked(config: Path, robot: str, verb: str, **body: Any) -> dict[str, Any]:
    return asyncio.run(ask(load_mqtt_settings(config), robot, verb, body))


def state(config: Path, robot: str = "arm") -> str:
    try:
        return str(asked(config, robot, "status")["state"])
    except NoAnswer as error:
        return str(error)


def until_state(config: Path, *wanted: str) -> None:
    eventually(f"the robot is {wanted}", lambda: state(config), lambda seen: seen in wanted)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rig = Rig(tmp_path_factory.mktemp("daemon"))
    del rig.driver["trace"], rig.driver["plant"]
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    rig.others = {"hand": {**rig.robot}}
    return rig.config


@pytest.fixture(scope="module")
def daemon(config: Path) -> Iterator[Path]:
    with background("run", "-c", config):
        until_state(config, "idle")
        yield config


@pytest.fixture
def playing(daemon: Path) -> Path:
    """`arm` plays for long."""
    if state(daemon) in {"estopped", "fault"}:
        asked(daemon, "arm", "reset")
        until_state(daemon, "idle")
    asked(daemon, "arm", "play", motion="long", loop="forever", ping_pong=True, on_busy="replace")
    until_state(daemon, "playing")
    return daemon


def test_a_robot_is_shown_as_it_moves_and_s_stops_it_at_once(playing: Path) -> None:
    with on_terminal("monitor", "arm", "-c", playing) as terminal:
        shown = terminal.shows("arm: playing long, ", "shoulder", "elbow", "ticks/s; late p50 ", "▁", "%")
        assert ": connected\n" in shown
        assert "position" in shown
        terminal.until(lambda seen: "the last minute: 0.01 ms |" in seen and "| over 100 ms" in seen)
        terminal.type("s")
        terminal.shows("arm: stop accepted; stops softly", "arm: idle", "long ended with CANCELED; ")
        terminal.type("q")
        assert terminal.ended() == (0, "")
        assert terminal.modes == terminal.modes_before
        terminal.sends(lambda sent: LEAVES_SCREEN in sent, "end of its screen")
        terminal.sends(lambda sent: sent.rfind(SHOWS_CURSOR) > sent.rfind(HIDES_CURSOR), "cursor")
    assert state(playing) == "idle"


def test_resume_is_asked_about_first_and_pause_and_estop_are_not(playing: Path) -> None:
    with on_terminal("monitor", "arm", "-c", playing) as terminal:
        terminal.shows("arm: playing long")
        terminal.type("p")
        terminal.shows("arm: pause accepted; ", "arm: paused long")
        question = "resume arm? It may move.  y yes, any other key no"
        terminal.type("r")
        terminal.shows(question)
        terminal.type("n")
        terminal.until(lambda shown: question not in shown)
        # What comes together was typed before the question could be read.
        terminal.type("ry")
        terminal.until(lambda shown: question not in shown)
        assert state(playing) == "paused"
        terminal.type("r")
        terminal.shows(question)
        terminal.type("y")
        terminal.shows("arm: resume accepted; ", "arm: playing long")
        terminal.type("e")
        terminal.shows("arm: estop accepted; ", "arm: estopped", "long ended with ESTOP; ")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.ended() == (0, "")
    assert state(playing) == "estopped"


def test_with_caps_lock_on_a_key_stops_the_robot_and_another_ends_it(playing: Path) -> None:
    with on_terminal("monitor", "arm", "-c", playing) as terminal:
        terminal.shows("arm: playing long")
        terminal.type("X")
        terminal.shows("key 'X' does nothing; s stops, e halts at once, q quits")
        terminal.type("S")
        terminal.shows("arm: idle", "long ended with CANCELED; ")
        asked(playing, "arm", "play", motion="long", loop="forever", ping_pong=True)
        terminal.until(lambda shown: "arm: playing long" in shown and "stop accepted" not in shown)
        terminal.type("Q")
        assert terminal.ended() == (0, "")


def test_a_stop_is_not_held_up_by_a_question(playing: Path) -> None:
    with on_terminal("monitor", "arm", "-c", playing) as terminal:
        terminal.shows("arm: playing long")
        terminal.type("r")
        terminal.shows("resume arm? It may move.")
        terminal.type("s")
        # What is read of the screen may be half a picture.
        said, question = "arm: stop accepted; stops softly", "resume arm?"
        terminal.until(lambda shown: said in shown and question not in shown)
        terminal.type("q")
        assert terminal.ended()[0] == 0


def test_robots_are_switched_by_a_key_and_a_narrow_terminal_keeps_what_matters(playing: Path) -> None:
    with on_terminal("monitor", "-c", playing, columns=120, lines=40) as terminal:
        terminal.shows("arm: playing long")
        terminal.resize(60, 14)
        terminal.until(lambda shown: "arm: playing" in shown and "q quit" in shown and "°C" in shown)
        assert terminal.widest <= 60
        shown = terminal.shows("shoulder", "elbow", "position", "error", "effort", "q quit")
        assert len(shown.splitlines()) <= 14
        terminal.type("\t")
        terminal.shows("hand: idle")
        terminal.type("s")
        terminal.shows("hand: stop accepted; nothing plays")
        terminal.type("\x1b[Z")
        terminal.shows("arm: playing long")
        terminal.resize(100, 30)
        terminal.until(lambda shown: terminal.widest > 60 and "arm: playing" in shown)
        terminal.type("\x03")  # Ctrl-C
        assert terminal.ended() == (0, "")
        assert terminal.modes == terminal.modes_before
    assert state(playing) == "playing"


def test_it_ends_with_its_terminal_and_the_robot_goes_on(playing: Path) -> None:
    with on_terminal("monitor", "arm", "-c", playing) as terminal:
        terminal.shows("arm: playing long")
        code = terminal.hang_up()
        stderr = terminal.process.stderr
        assert stderr is not None
        assert (code, stderr.read()) == (0, "")
    assert state(playing) == "playing"


def test_a_daemon_that_is_gone_with_its_broker_is_told_and_it_goes_on_when_it_is_back(
    tmp_path: Path,
) -> None:
    rig = Rig(tmp_path)
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    config = rig.config
    with background("run", "-c", config) as first:
        until_state(config, "idle")
        with on_terminal("monitor", "arm", "-c", config) as terminal:
            terminal.shows(": connected", "arm: idle")
            first.send_signal(signal.SIGKILL)
            first.wait(PATIENCE_S)
            terminal.shows("NOT CONNECTED, tried again")
            terminal.type("s")
            terminal.shows("STOP OF arm HAS FAILED: ", "no connection to the broker")
            with background("run", "-c", config):
                terminal.shows(": connected", "arm: idle")
                assert "STOP OF arm HAS FAILED" in "\n".join(terminal.lines)
                terminal.type("s")
                terminal.until(lambda shown: "stop accepted" in shown and "HAS FAILED" not in shown)
                terminal.type("q")
                assert terminal.ended() == (0, "")


@pytest.fixture
async def broker() -> AsyncIterator[Embedded]:
    broker = Embedded(free_port())
    await broker.start()
    yield broker
    await broker.kill()
    await asyncio.get_running_loop().shutdown_default_executor()


async def test_a_stop_that_nobody_answers_is_told_loudly_and_so_is_a_daemon_that_crashes(
    broker: Embedded,
) -> None:
    url = f"mqtt://{broker.settings.listen}"
    async with members(broker.settings) as crowd:
        crowd.add("left", silent_at={"stop"})
        crowd.tell("left", "state", told.state("idle"), retain=True)
        await crowd.settle()
        with on_terminal("monitor", "--broker", url) as terminal:
            await asyncio.to_thread(terminal.shows, "left: idle")
            crowd.tell("left", "event", {"kind": "warning", "message": "hot\x1b[2J\nstuff"})
            await asyncio.to_thread(terminal.shows, "warning: hot")
            terminal.type("s")
            last = "STOP OF left HAS FAILED: sent, and not answered in 5 s"
            await asyncio.to_thread(terminal.shows, last)
            assert b"STOP OF left IS NOT ANSWERED for " in terminal.sent  # for how long changes as it is read
            crowd.daemon("broken")
            why = "its daemon 'd1' has crashed, or has lost the broker; what follows is old"
            await asyncio.to_thread(terminal.shows, "left: offline", why)
            terminal.type("q")
            code, err = await asyncio.to_thread(terminal.ended)
    why = "its daemon says that it is online; use the robot's own switch"
    assert (code, err) == (1, f"{last}; {why}\n")
    assert set(crowd.verbs("left")) == {"stop"}


async def test_a_stop_waits_for_no_connection_and_reaches_a_robot_of_which_nothing_was_heard(
    broker: Embedded,
) -> None:
    settings = MqttSettings(broker=f"mqtt://{broker.settings.listen}", protocol="3.1.1")
    async with members(broker.settings) as crowd:
        crowd.robots["ghost"] = Member("ghost", [])
        monitor = Monitor(settings, "ghost")  # its screen, and so its own connection, is not begun
        monitor.commander.press("s", "ghost")
        await until(lambda: monitor.commander.last is not None and monitor.commander.last.said)
        last = monitor.commander.last
        assert last is not None
        assert monitor.commander.words(last) == "ghost: stop accepted; stops softly"
        monitor.commander.press("p", "ghost")
        await until(
            lambda: monitor.commander.last is not last and getattr(monitor.commander.last, "said", "")
        )
        await monitor.commander.finish()
    assert set(crowd.verbs("ghost")) == {"stop"}


# -- no terminal --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("streams", "term", "why"),
    [
        (("stdout",), "xterm", "standard input is none; use `motiond status`"),
        (("stdin",), "xterm", "standard output is none; use `motiond status`"),
        (("stdin", "stdout"), "dumb",
         "TERM is dumb, and such a terminal cannot place text; use `motiond status`, or set TERM"),
        (("stdin", "stdout"), "",
         "TERM is not set, and such a terminal cannot place text; use `motiond status`, or set TERM"),
    ],
)  # fmt: skip
def test_without_a_terminal_it_says_what_to_use_instead(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    streams: tuple[str, ...],
    term: str,
    why: str,
) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda is_one=stream in streams: is_one)
    monkeypatch.setenv("TERM", term)
    told_so = f"motiond: monitor needs a terminal; {why}\n"
    assert run_here(capsys, "monitor", "--broker", "mqtt://127.0.0.1:1") == (2, "", told_so)
