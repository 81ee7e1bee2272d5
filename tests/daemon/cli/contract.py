"""What the command line does beside a daemon, be both programs of their own or in the test's process.

`tests/daemon/cli/test_contract.py` holds the programs in one process to it, and
`tests/system/cli/test_programs.py` the real ones.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Step = Callable[[Any], Awaitable[None]]

ENDED = "ended with SUCCESSFUL; the last row is out and held"
NOT_RECORDED = "arm: it is not recorded; start it by `record/start`\n"
REFUSED = "arm: short cannot be played; the emergency stop is latched; reset it when it is safe\n"


async def requests_are_answered(daemon: Any) -> None:
    assert await daemon.cli("play", "arm", "short") == (0, f"arm: short {ENDED}\n", "")
    assert await daemon.cli("sequence", "arm", "short", "short,pause_s=0.1,repeat=2") == (
        0,
        f"arm: sequence {ENDED}\n",
        "",
    )
    nothing = "arm: nothing to pause; the robot is idle; play first\n"
    assert await daemon.cli("pause", "arm") == (1, "", nothing)
    accepted = await daemon.cli("goto", "arm", "elbow=0.2")
    assert (accepted.code, accepted.out.startswith("arm: accepted; goal "), accepted.err) == (0, True, "")
    await daemon.until("idle")
    assert await daemon.cli("disable", "arm") == (0, "arm: torque is off\n", "")
    assert await daemon.cli("enable", "arm") == (0, "arm: torque is on\n", "")
    assert await daemon.cli("queue", "arm") == (0, "arm: nothing waits\n", "")
    started = await daemon.cli("record", "arm", "start", "--name", "a run")
    assert (started.code, started.err) == (0, "")
    assert started.out.startswith("arm: recorded into arm_20")
    stopped = await daemon.cli("record", "arm", "stop")
    assert (stopped.code, stopped.err) == (0, "")
    assert stopped.out.startswith(f"arm: {started.out.rpartition(' ')[2].rstrip()}: ")
    assert "Z_a-run.mcap: " in stopped.out
    assert await daemon.cli("record", "arm", "stop") == (1, "", NOT_RECORDED)
    assert await daemon.cli("control", "arm") == (0, "arm: everybody may command it\n", "")
    assert await daemon.cli("estop", "arm") == (0, "arm: estopped\n", "")
    assert await daemon.cli("play", "arm", "short") == (1, "", REFUSED)
    assert await daemon.cli("reset", "arm") == (0, "arm: idle\n", "")
    (row,) = orjson.loads((await daemon.cli("status", "--json")).out)
    assert (row["robot"], row["state"], row["motions"]) == ("arm", "idle", ["long", "short"])


async def a_motion_is_led(daemon: Any) -> None:
    play = daemon.start("play", "arm", "long", "--speed", "0.5")
    await daemon.until("playing")
    assert await daemon.cli("speed", "arm", "0.2") == (0, "arm: speed 0.2\n", "")
    code, _, err = await daemon.cli("seek", "arm", "1s")
    assert (code, err) == (0, "")
    await daemon.until("playing")
    assert await daemon.cli("pause", "arm") == (0, "arm: paused\n", "")
    assert await daemon.cli("resume", "arm") == (0, "arm: playing\n", "")
    assert await daemon.cli("stop", "arm") == (0, "arm: stops softly\n", "")
    canceled = "arm: long ended with CANCELED; stopped on request, softly, on the path\n"
    assert await play.end() == (1, "", canceled)


async def one_goal_is_stopped_by_its_id(daemon: Any) -> None:
    await daemon.until("idle")
    accepted = await daemon.cli("play", "arm", "long", "--no-wait")
    goal = accepted.out.split()[-1]
    await daemon.until("playing")
    busy = "arm: busy with long; short moves joint 'shoulder', too; play it afterwards, or replace that\n"
    assert await daemon.cli("play", "arm", "short", "--beside") == (1, "", busy)
    assert await daemon.cli("speed", "arm", "0.2", "--goal", goal) == (0, "arm: speed 0.2\n", "")
    assert await daemon.cli("pause", "arm", "--goal", goal) == (0, "arm: paused\n", "")
    code, _, err = await daemon.cli("seek", "arm", "1s", "--goal", goal)
    assert (code, err) == (0, "")
    await daemon.until("paused")
    assert await daemon.cli("resume", "arm", "--goal", goal) == (0, "arm: playing\n", "")
    gone = "arm: no goal 'none' plays; it waits, has ended or never was\n"
    assert await daemon.cli("pause", "arm", "--goal", "none") == (1, "", gone)
    stopped = await daemon.cli("stop", "arm", "--goal", goal)
    assert stopped == (0, f"arm: goal {goal} ends; the robot is stopping\n", "")
    await daemon.until("idle")


async def ctrl_c_stops_softly(daemon: Any) -> None:
    await daemon.until("idle")
    play = daemon.start("play", "arm", "long")
    await daemon.until("playing")
    play.send_signal(signal.SIGINT)
    await play.writes("stopping softly")
    assert await play.end() == (
        1,
        "",
        (
            "arm: stopping softly; Ctrl-C again stops the waiting only\n"
            "arm: long ended with CANCELED; stopped on request, softly, on the path\n"
        ),
    )


async def it_reloads_on_this_machine(daemon: Any) -> None:
    """The request goes over the control socket, which blocks."""
    await daemon.until("idle")
    assert await daemon.cli("reload") == (0, "arm: plays long, short\n", "")


STEPS: tuple[Step, ...] = (
    requests_are_answered,
    a_motion_is_led,
    one_goal_is_stopped_by_its_id,
    ctrl_c_stops_softly,
    it_reloads_on_this_machine,
)
