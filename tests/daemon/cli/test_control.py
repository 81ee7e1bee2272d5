"""The command line is in control by itself, where somebody has to be."""

from __future__ import annotations

import asyncio
import getpass
import signal
import socket
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.local import own_holder
from tests.daemon.cli.program import Program, daemon_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.daemon.cli.program import Daemon
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow

TTL_S = 10.0


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    """A daemon of an arm that somebody has to be in control of, and of a hand that everybody commands."""
    rig.others = {"hand": {**rig.robot}}
    rig.robot["lease"] = {"required": True, "ttl_s": TTL_S}
    async with daemon_of(rig) as daemon:
        yield daemon


async def control(daemon: Daemon) -> dict[str, Any]:
    code, out, err = await daemon.cli("control", "arm", "--json")
    assert (code, err) == (0, "")
    told: dict[str, Any] = orjson.loads(out)
    return told


async def holder(daemon: Daemon) -> str | None:
    told: str | None = (await control(daemon))["holder"]
    return told


def myself(verb: str) -> str:
    return f"{getpass.getuser()}@{socket.gethostname()} (motiond {verb})"[:60].strip()


async def playing(daemon: Daemon, *options: str) -> Program:
    play = Program("play", "arm", "long", *options, "-c", daemon.config)
    await daemon.until("playing")
    return play


async def test_play_is_in_control_until_the_end(daemon: Daemon) -> None:
    said = "arm: short ended with SUCCESSFUL; the last row is out and held\n"
    assert await daemon.cli("play", "arm", "short") == (0, said, "")
    assert await holder(daemon) is None


async def test_control_is_renewed_for_as_long_as_play_waits(daemon: Daemon) -> None:
    play = await playing(daemon, "--loop", "100")
    first = await control(daemon)
    assert first["holder"] == myself("play")
    await asyncio.sleep(2.0 * TTL_S)
    now = await control(daemon)
    assert (now["holder"], now["epoch"]) == (first["holder"], first["epoch"])
    assert now["expires_at"] > first["expires_at"] + TTL_S
    await daemon.ask("stop")
    await play.end()
    await daemon.until("idle")
    assert await holder(daemon) is None


async def test_what_is_not_waited_for_plays_on_when_control_is_returned(daemon: Daemon) -> None:
    code, out, err = await daemon.cli("play", "arm", "long", "--loop", "100", "--no-wait")
    assert (code, out.partition(";")[0], err) == (0, "arm: accepted long", "")
    assert await holder(daemon) is None
    assert await daemon.cli("pause", "arm") == (0, "arm: paused\n", "")
    assert await daemon.cli("resume", "arm") == (0, "arm: approaching\n", "")
    await daemon.until("playing")


async def test_who_is_in_control_keeps_others_out_and_is_named_but_is_stopped_by_anybody(
    daemon: Daemon,
) -> None:
    play = await playing(daemon)
    refused = f": not in control; {myself('play')} has it; ask them to release it, or take control\n"
    for command in (("play", "arm", "short"), ("goto", "arm", "elbow=0"), ("pause", "arm")):
        assert await daemon.cli(*command) == (1, "", f"arm/{command[0]}{refused}")
    assert await daemon.cli("stop", "arm") == (0, "arm: stops softly\n", "")
    canceled = "arm: long ended with CANCELED; stopped on request, softly, on the path\n"
    assert await play.end() == (1, "", canceled)


async def test_control_is_taken_and_the_motion_stops_and_says_by_whom(daemon: Daemon) -> None:
    play = await playing(daemon)
    assert await daemon.cli("control", "arm") == (0, f"arm: {myself('play')} is in control\n", "")
    taken = f"arm: control was taken from {myself('play')}\n"
    assert await daemon.cli("control", "arm", "--take") == (0, taken, "")
    reason = f"{myself('control')} took control from {myself('play')}"
    assert await play.end() == (1, "", f"arm: long ended with CANCELED; {reason}\n")
    assert await daemon.cli("control", "arm") == (0, "arm: nobody is in control\n", "")
    assert await daemon.cli("control", "arm", "--take") == (0, "arm: nobody was in control\n", "")


async def test_an_interrupt_stops_softly_and_returns_control(daemon: Daemon) -> None:
    play = await playing(daemon)
    play.send_signal(signal.SIGINT)
    await play.writes("stopping softly")
    assert (await play.end()).code == 1
    assert await holder(daemon) is None


async def test_where_everybody_commands_nothing_is_acquired(daemon: Daemon) -> None:
    assert await daemon.cli("control", "hand") == (0, "hand: everybody may command it\n", "")
    reason = "everybody may command it; command it without, or set lease.required"
    said = f"hand: there is no lease to have; {reason}\n"
    assert await daemon.cli("control", "hand", "--take") == (1, "", said)
    assert (await daemon.cli("goto", "hand", "elbow=0.1")).code == 0
    await daemon.until("idle", "hand")


def test_a_name_can_always_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "a\x1b[2J")
    monkeypatch.setattr("socket.gethostname", lambda: "h" * 200)
    assert own_holder("play") == ("a?[2J@" + "h" * 200)[:60]

    def fail() -> str:
        raise OSError

    monkeypatch.setattr("getpass.getuser", fail)
    monkeypatch.setattr("socket.gethostname", lambda: "bench")
    assert own_holder("play") == "somebody@bench (motiond play)"
