"""`motiond teach`: a robot learns a motion by hand, in a terminal or by options."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import pytest

from motiond.client import Refused
from tests.daemon.cli.program import OnTerminal, Program, daemon_of
from tests.daemon.link import HangingLink

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.cli.program import Daemon
    from tests.daemon.rig import Rig

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("terminals")]
KEYS = "(Enter keeps a pose, q saves, Ctrl-C ends)"
NOT_SAVED = "arm: not saved; `motiond teach arm NAME --draft` does that\n"
LIMITS = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 40.0}


@pytest.fixture
def rig(rig: Rig) -> Rig:
    (rig.folder / "taught").mkdir()
    rig.robot["joints"] = {name: {"limits": LIMITS} for name in rig.robot["joints"]}
    rig.robot |= {"motions": ["motions", {"folder": "taught", "upload": True}], "fault_requests": True}
    return rig


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    async with daemon_of(rig) as daemon:
        yield daemon


async def moves(daemon: Daemon, for_s: float = 1.0, **to: float) -> None:
    for joint, place in to.items():
        await daemon.ask("fault", fault="hand", joint=joint, to=place, for_s=for_s)
    await asyncio.sleep(for_s + 0.2)


async def lesson_of(daemon: Daemon, *options: object) -> OnTerminal:
    lesson = OnTerminal("teach", "arm", "wave", "--yes", *options, "-c", daemon.config)
    await lesson.shows("arm: ", "shoulder +", KEYS)
    return lesson


async def test_q_saves_what_was_moved(daemon: Daemon) -> None:
    lesson = await lesson_of(daemon)
    await moves(daemon, shoulder=0.3, elbow=-0.2)
    await lesson.shows("shoulder +0.300  elbow -0.200")
    lesson.type("q")
    code, out, err = await lesson.end()
    assert (code, err) == (0, "")
    assert "arm: it holds; 1." in out
    assert "arm: wave: 1." in out
    assert out.endswith("arm: `motiond play arm wave` plays it\n")
    played = await daemon.cli("play", "arm", "wave")
    assert played == (0, "arm: wave ended with SUCCESSFUL; the last row is out and held\n", "")


async def test_all_joints_and_what_keys_do_stay_on_the_screen(rig: Rig) -> None:
    names = [f"knuckle_{number}_of_the_hand" for number in range(24)]
    rig.robot["joints"] |= {name: {"limits": LIMITS} for name in names}
    async with daemon_of(rig) as daemon:
        lesson = await lesson_of(daemon)
        await moves(daemon, **{names[-1]: 0.3})
        await lesson.shows(*(f"{name} +0.000" for name in names[:-1]), f"{names[-1]} +0.300", KEYS)
        lesson.type("q")
        assert (await lesson.end()).code == 0


async def test_enter_keeps_poses_of_which_a_motion_is_made(daemon: Daemon) -> None:
    lesson = await lesson_of(daemon, "--from", "poses", "--at-poses", "through")
    lesson.type("\n")
    await lesson.shows("arm: kept pose_1")
    await moves(daemon, shoulder=0.3)
    lesson.type("\x1b[A\r")  # an arrow does nothing here
    await lesson.shows("arm: kept pose_2")
    lesson.type("\x04")
    code, out, err = await lesson.end()
    assert (code, err) == (0, "")
    assert "and 2 poses are kept" in out


async def test_ctrl_c_ends_it_holding_and_the_draft_is_saved_later(daemon: Daemon) -> None:
    lesson = await lesson_of(daemon)
    await moves(daemon, shoulder=0.3)
    lesson.send_signal(signal.SIGINT)
    code, _, err = await lesson.end()
    assert (code, err) == (130, NOT_SAVED)
    status = await daemon.until("idle")
    assert status["torque"]
    saved = await daemon.cli("teach", "arm", "wave", "--draft")
    assert (saved.code, saved.err, saved.out.startswith("arm: wave: 1.")) == (0, "", True)


async def test_what_ends_by_itself_is_said_and_not_saved(daemon: Daemon) -> None:
    lesson = await lesson_of(daemon)
    await moves(daemon, for_s=0.2, shoulder=-1.5)
    code, _, err = await lesson.end()
    assert (code, err.startswith("arm: joint 'shoulder' moves at ")) == (1, True)
    assert err.endswith(NOT_SAVED)


@pytest.mark.parametrize(
    ("does", "told"),
    [
        (("estop", {}), "arm: it has no torque (estopped): go on holding it\n"),
        (("fault", {"fault": "stale_feedback"}), "arm: it has no torque (fault): go on holding it\n"),
        (("fault", {"fault": "crash"}), "arm: it is offline, and may have no torque: go on holding it\n"),
    ],
)
async def test_whoever_holds_an_arm_without_torque_is_told_to_go_on(
    daemon: Daemon, does: tuple[str, dict[str, Any]], told: str
) -> None:
    teaching = daemon.start("teach", "arm", "wave", "--yes", "--for", "60")
    await daemon.until("teaching")
    await moves(daemon, shoulder=0.1)
    verb, body = does
    await daemon.ask(verb, **body)
    code, out, err = await teaching.end()
    assert (code, told in out, "it holds" in out + err) == (1, True, False), (out, err)
    assert "and 0 poses are kept\n" in out
    assert err.endswith(NOT_SAVED)


async def test_once_nothing_comes_any_more_it_says_so_and_its_clock_stands(daemon: Daemon) -> None:
    link = HangingLink(int(daemon.mqtt.listen.rpartition(":")[2]))
    await link.repair()
    broker = f"mqtt://127.0.0.1:{link.port}"
    teaching = Program("teach", "arm", "wave", "--yes", "--for", "60", "--broker", broker)
    await daemon.until("teaching")
    await asyncio.sleep(1.0)
    link.hangs, now = True, asyncio.get_running_loop().time
    since_s = now()
    await teaching.writes("arm: nothing comes of it any more, and nothing is recorded; go on holding it\n")
    assert now() - since_s < 2.5
    code, out, err = await teaching.end()
    assert out.endswith("arm: nothing is known of its torque: go on holding it\n")
    assert (code, "it holds" in out, err.startswith("arm: no answer in 5 s; ")) == (3, False, True), err
    await link.cut()


async def test_ctrl_backslash_ends_it_as_ctrl_c_does(daemon: Daemon) -> None:
    for options in ((), ("--for", "60")):
        teaching = OnTerminal("teach", "arm", "wave", "--yes", *options, "-c", daemon.config)
        await daemon.until("teaching")
        await asyncio.sleep(0.5)
        if options:
            teaching.send_signal(signal.SIGQUIT)
        else:
            teaching.type("\x1c")
        code, out, _ = await teaching.end()
        assert (code, "arm: it holds; 0." in out) == (130, True), out


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
async def test_the_end_of_its_terminal_ends_it_and_the_robot_holds(
    daemon: Daemon, number: signal.Signals
) -> None:
    lesson = await lesson_of(daemon)
    lesson.send_signal(number)
    code, out, err = await lesson.end()
    assert (code, "arm: it holds; 0." in out, err) == (130, True, NOT_SAVED), out
    status = await daemon.until("idle")
    assert status["torque"]


async def test_a_closed_terminal_without_a_signal_ends_it_as_well(daemon: Daemon) -> None:
    lesson = await lesson_of(daemon)
    lesson.hang_up()
    code, out, err = await lesson.end()
    assert (code, "arm: it holds; 0." in out, err) == (130, True, NOT_SAVED), out


async def test_a_motion_that_is_refused_can_be_saved_otherwise(daemon: Daemon) -> None:
    lesson = await lesson_of(daemon, "--from", "poses")
    await moves(daemon, elbow=0.3)
    lesson.type("q")
    code, _, err = await lesson.end()
    reason = "there is nothing to go to; keep poses with Enter"
    assert (code, err) == (1, f"arm: no pose was kept; {reason}\n{NOT_SAVED}")
    saved = await daemon.cli("teach", "arm", "wave", "--draft")
    assert (saved.code, saved.err) == (0, "")


async def test_a_robot_that_nobody_knows_is_refused_at_once(daemon: Daemon) -> None:
    refused = await daemon.cli("teach", "amr", "wave", "--yes", "--for", "1")
    assert refused == (1, "", "no robot 'amr'; there are arm; did you mean 'arm'?\n")


async def test_hints_name_options(daemon: Daemon) -> None:
    await daemon.ask("teach/start")
    await asyncio.sleep(1.0)
    await daemon.ask("teach/stop")
    still = await daemon.cli("teach", "arm", "wave", "--draft")
    reason = "no joint left its place by more than the bound of smoothing"
    assert still == (1, "", f"arm: nothing was moved; {reason}; teach it again, or use `--no-trim`\n")


async def test_without_a_terminal_options_say_how_long(daemon: Daemon) -> None:
    teaching = daemon.start("teach", "arm", "wave", "--yes", "--for", "3", "--json")
    await daemon.until("teaching")
    await moves(daemon, shoulder=0.3)
    code, out, _ = await teaching.end()
    assert (code, '"saved": true' in out) == (0, True)
    refused = await daemon.cli("teach", "arm", "wave")
    hint = "use `--yes --for SECONDS`, or the requests of docs/teaching.md"
    assert refused == (2, "", f"motiond: teach needs a terminal; standard input is none; {hint}\n")


async def test_what_could_not_be_saved_is_refused_before_torque_goes_off(daemon: Daemon) -> None:
    short = daemon.config.parent / "motions" / "short.seq"
    refused = await daemon.cli("teach", "arm", "short", "--yes", "--for", "1")
    there = f"there is a motion of this name in {short}"
    assert refused == (1, "", f"arm: short cannot be saved; {there}; choose another name\n")
    (daemon.config.parent / "taught" / "wave.csv").write_text("")
    refused = await daemon.cli("teach", "arm", "wave", "--yes", "--for", "1")
    reason = "it is replaced only on request; use `--replace`, or choose another name"
    assert refused == (1, "", f"arm: wave.csv is there already; {reason}\n")
    assert (await daemon.ask("status"))["state"] == "idle"


async def test_somebody_is_in_control_from_the_beginning_to_the_saved_motion(rig: Rig) -> None:
    rig.robot["lease"] = {"required": True, "ttl_s": 1.0}
    async with daemon_of(rig) as daemon:
        teaching = daemon.start("teach", "arm", "wave", "--yes", "--for", "4")
        await daemon.until("teaching")
        code, message = await refused_by(daemon, "teach/stop")
        assert (code, "teach" in message) == ("NOT_IN_CONTROL", True), message
        ended = await teaching.end()
        assert ended.code == 1
        assert "arm: nothing was moved; " in ended.err


async def test_whoever_loses_control_is_told_by_whom_and_that_the_robot_holds(rig: Rig) -> None:
    rig.robot["lease"] = {"required": True}
    async with daemon_of(rig) as daemon:
        teaching = daemon.start("teach", "arm", "wave", "--yes", "--for", "60")
        await daemon.until("teaching")
        await daemon.ask("lease/take", holder="ana")
        code, out, err = await teaching.end()
    assert (code, out) == (1, "arm: it can be moved now\narm: it holds\n")
    assert err.startswith("arm: ana took control from ")
    assert err.endswith("; the robot holds\n" + NOT_SAVED)


async def refused_by(daemon: Daemon, verb: str) -> tuple[str, str]:
    with pytest.raises(Refused) as caught:
        await daemon.ask(verb)
    return caught.value.code, str(caught.value)
