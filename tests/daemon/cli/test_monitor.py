"""`motiond monitor`: what it shows, and what its keys do."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.cli.monitor.command import Monitor
from motiond.daemon.cli.requests.broker import Client
from tests.daemon import answers
from tests.daemon.cli.program import OnTerminal, daemon_of
from tests.daemon.fleet.members import Member, members, until
from tests.daemon.programs import run_here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.cli.program import Daemon
    from tests.daemon.conftest import Embedded
    from tests.daemon.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("terminals")]
FOR_EVER: dict[str, Any] = {"motion": "long", "loop": "forever", "ping_pong": True}


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    """A daemon whose `arm` plays for long."""
    rig.others = {"hand": {**rig.robot}}
    async with daemon_of(rig) as daemon:
        await daemon.ask("play", **FOR_EVER)
        await daemon.until("playing")
        yield daemon


async def monitor_of(daemon: Daemon, *robot: str) -> OnTerminal:
    monitor = OnTerminal("monitor", *robot, "-c", daemon.config)
    await monitor.shows("arm: playing long")
    return monitor


async def test_a_robot_is_shown_as_it_moves_and_s_stops_it_at_once(daemon: Daemon) -> None:
    monitor = await monitor_of(daemon, "arm")
    shown = await monitor.shows("arm: playing long, ", "shoulder", "elbow", "ticks/s; late p50 ", "▁", "%")
    assert ": connected\n" in shown
    assert "position" in shown
    await monitor.until(lambda seen: "the last minute: 0.01 ms |" in seen and "| over 100 ms" in seen)
    monitor.type("s")
    await monitor.shows("arm: stop accepted; stops softly", "arm: idle", "long ended with CANCELED; ")
    monitor.type("q")
    code, _, err = await monitor.end()
    assert (code, err) == (0, "")
    await daemon.until("idle")


async def test_resume_is_asked_about_first_and_pause_and_estop_are_not(daemon: Daemon) -> None:
    monitor = await monitor_of(daemon, "arm")
    monitor.type("p")
    await monitor.shows("arm: pause accepted; ", "arm: paused long")
    question = "resume arm? It may move.  y yes, any other key no"
    monitor.type("r")
    await monitor.shows(question)
    monitor.type("n")
    await monitor.until(lambda shown: question not in shown)
    # What comes together was typed before the question could be read.
    monitor.type("ry")
    await monitor.until(lambda shown: question not in shown)
    assert (await daemon.ask("status"))["state"] == "paused"
    monitor.type("r")
    await monitor.shows(question)
    monitor.type("y")
    await monitor.shows("arm: resume accepted; ", "arm: playing long")
    monitor.type("e")
    await monitor.shows("arm: estop accepted; ", "arm: estopped", "long ended with ESTOP; ")
    monitor.send_signal(signal.SIGINT)
    assert (await monitor.end()).code == 0
    await daemon.until("estopped")


async def test_robots_are_switched_by_a_key(daemon: Daemon) -> None:
    monitor = await monitor_of(daemon)
    monitor.type("\t")
    await monitor.shows("hand: idle")
    monitor.type("s")
    await monitor.shows("hand: stop accepted; nothing plays")
    monitor.type("\x1b[Z")
    await monitor.shows("arm: playing long")
    monitor.send_signal(signal.SIGINT)
    assert (await monitor.end()).code == 0
    assert (await daemon.ask("status"))["state"] == "playing"


@pytest.mark.parametrize("number", [signal.SIGHUP, None], ids=["SIGHUP", "end of input"])
async def test_it_ends_with_its_terminal_and_the_robot_goes_on(
    daemon: Daemon, number: signal.Signals | None
) -> None:
    monitor = await monitor_of(daemon, "arm")
    if number is None:
        monitor.hang_up()
    else:
        monitor.send_signal(number)
    code, _, err = await monitor.end()
    assert (code, err) == (0, "")
    assert (await daemon.ask("status"))["state"] == "playing"


async def test_a_daemon_that_is_gone_with_its_broker_is_told_and_it_goes_on_when_it_is_back(rig: Rig) -> None:
    async with daemon_of(rig) as daemon:
        monitor = OnTerminal("monitor", "arm", "-c", daemon.config)
        await monitor.shows(": connected", "arm: idle")
    await monitor.shows("NOT CONNECTED, tried again")
    monitor.type("s")
    await monitor.shows("STOP OF arm HAS FAILED: ", "no connection to the broker")
    async with daemon_of(rig):
        assert "STOP OF arm HAS FAILED" in await monitor.shows(": connected", "arm: idle")
        monitor.type("s")
        await monitor.until(lambda shown: "stop accepted" in shown and "HAS FAILED" not in shown)
        monitor.type("q")
        code, _, err = await monitor.end()
    assert (code, err) == (0, "")


async def test_a_stop_that_nobody_answers_is_told_loudly_and_so_is_a_daemon_that_crashes(
    broker: Embedded,
) -> None:
    async with members(broker.settings) as crowd:
        crowd.add("left", silent_at={"stop"})
        crowd.report("left", "state", answers.state("idle"), retain=True)
        await crowd.settle()
        monitor = OnTerminal("monitor", "--broker", f"mqtt://{broker.settings.listen}")
        await monitor.shows("left: idle")
        crowd.report("left", "event", {"kind": "warning", "message": "hot\x1b[2J\nstuff"})
        await monitor.shows("warning: hot")
        monitor.type("s")
        await monitor.shows("STOP OF left IS NOT ANSWERED for ")
        last = "STOP OF left HAS FAILED: no answer in 5 s"
        await monitor.shows(last)
        crowd.daemon("broken")
        reason = "its daemon 'd1' has crashed, or has lost the broker; what follows is old"
        await monitor.shows("left: offline", reason)
        monitor.type("q")
        code, _, err = await monitor.end()
    reason = "its daemon is reported online; use the robot's own switch"
    assert (code, err) == (1, f"{last}; {reason}\n")
    assert set(crowd.verbs("left")) == {"stop"}


async def test_a_stop_waits_for_no_connection_and_reaches_a_robot_of_which_nothing_was_heard(
    broker: Embedded,
) -> None:
    client = Client(broker=f"mqtt://{broker.settings.listen}")
    async with members(broker.settings) as crowd:
        crowd.robots["ghost"] = Member("ghost", [])
        monitor = Monitor(
            client.mqtt(), "ghost", client
        )  # its screen, and so its own connection, is not begun
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
    ("streams", "term", "reason"),
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
    reason: str,
) -> None:
    for stream in ("stdin", "stdout"):
        monkeypatch.setattr(f"sys.{stream}.isatty", lambda is_one=stream in streams: is_one)
    monkeypatch.setenv("TERM", term)
    told_so = f"motiond: monitor needs a terminal; {reason}\n"
    assert run_here(capsys, "monitor", "--broker", "mqtt://127.0.0.1:1") == (2, "", told_so)
