"""The command line is in control by itself, where somebody has to be: with a real daemon."""

from __future__ import annotations

import asyncio
import getpass
import signal
import socket
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask, holder_of
from motiond.daemon.config.client import load_mqtt_settings
from tests.daemon.programs import background, run_here
from tests.daemon.rig import Rig
from tests.ports import free_port
from tests.waiting import eventually, lines_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TTL_S = 10.0


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A daemon of an arm that somebody has to be in control of, and of a hand that everybody commands."""
    rig = Rig(tmp_path_factory.mktemp("daemon"))
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    del rig.driver["trace"], rig.driver["plant"]
    rig.others = {"hand": {**rig.robot}}
    rig.robot["lease"] = {"required": True, "ttl_s": TTL_S}
    config = rig.config
    with background("run", "-c", config):
        for robot in ("arm", "hand"):
            until(config, "idle", robot)
        yield config


def request(config: Path, verb: str, robot: str = "arm", **body: Any) -> dict[str, Any]:
    return asyncio.run(ask(load_mqtt_settings(config), robot, verb, body))


def until(config: Path, state: str, robot: str = "arm") -> None:
    def look() -> dict[str, Any]:
        try:
            return request(config, "status", robot)
        except NoAnswer as error:
            return {"state": str(error), "goal_id": None}

    eventually(
        f"{robot} is {state}",
        look,
        lambda seen: seen["state"] == state and (state != "idle" or seen["goal_id"] is None),
    )


def control(capsys: pytest.CaptureFixture[str], config: Path) -> dict[str, Any]:
    code, out, err = run_here(capsys, "control", "arm", "--json", "-c", config)
    assert (code, err) == (0, "")
    told: dict[str, Any] = orjson.loads(out)
    return told


def holder(capsys: pytest.CaptureFixture[str], config: Path) -> str | None:
    told: str | None = control(capsys, config)["holder"]
    return told


def renews(first: dict[str, Any], now: dict[str, Any]) -> bool:
    assert now["epoch"] == first["epoch"]
    return bool(now["expires_at"] > first["expires_at"] + 1.0)


def myself(verb: str) -> str:
    return f"{getpass.getuser()}@{socket.gethostname()} (motiond {verb})"[:60].strip()


def test_play_is_in_control_until_the_end(daemon: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "play", "arm", "short", "-c", daemon)
    assert (code, err) == (0, "")
    assert out == "arm: short ended with SUCCESSFUL; the last row is out and held\n"
    assert holder(capsys, daemon) is None


def test_control_is_renewed_for_as_long_as_play_waits(
    daemon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with background("play", "arm", "long", "--loop", "100", "-c", daemon) as playing:
        until(daemon, "playing")
        first = control(capsys, daemon)
        assert first["holder"] == myself("play")
        eventually("it is renewed", lambda: control(capsys, daemon), lambda now: renews(first, now))
        request(daemon, "stop")
        playing.communicate(timeout=60)
    until(daemon, "idle")
    assert holder(capsys, daemon) is None


def test_what_is_not_waited_for_plays_on_when_control_is_returned(
    daemon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_here(capsys, "play", "arm", "long", "--loop", "100", "--no-wait", "-c", daemon)
    assert (code, out.partition(";")[0], err) == (0, "arm: accepted long", "")
    assert holder(capsys, daemon) is None
    for command, said in (("pause", "paused"), ("resume", "")):
        code, out, err = run_here(capsys, command, "arm", "-c", daemon)
        assert (code, err) == (0, "")
        assert said in out
    until(daemon, "playing")
    request(daemon, "stop")
    until(daemon, "idle")


def test_who_is_in_control_keeps_others_out_and_is_named_but_is_stopped_by_anybody(
    daemon: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Sent once: of a stop that is sent twice, the second may find nothing that plays.
    monkeypatch.setattr("motiond.daemon.client.connection.asking_qos", lambda _: 1)
    with background("play", "arm", "long", "-c", daemon) as playing:
        until(daemon, "playing")
        refused = (
            f"arm: not in control; {myself('play')} has it; "
            "ask them to release it, or `motiond control arm --take`\n"
        )
        for command in (("play", "arm", "short"), ("goto", "arm", "elbow=0"), ("pause", "arm")):
            assert run_here(capsys, *command, "-c", daemon) == (1, "", refused)
        assert run_here(capsys, "stop", "arm", "-c", daemon)[:2] == (0, "arm: stops softly\n")
        out, err = playing.communicate(timeout=60)
    assert playing.returncode == 1
    assert "arm: long ended with CANCELED; stopped on request, softly, on the path" in err
    assert out == ""


def test_control_is_taken_and_the_motion_stops_and_says_by_whom(
    daemon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with background("play", "arm", "long", "-c", daemon) as playing:
        until(daemon, "playing")
        said = f"arm: {myself('play')} is in control\n"
        assert run_here(capsys, "control", "arm", "-c", daemon) == (0, said, "")
        said = f"arm: control was taken from {myself('play')}\n"
        assert run_here(capsys, "control", "arm", "--take", "-c", daemon) == (0, said, "")
        _, err = playing.communicate(timeout=60)
    assert playing.returncode == 1
    why = f"{myself('control')} took control from {myself('play')}"
    assert err == f"arm: long ended with CANCELED; {why}\n"
    said = "arm: nobody is in control\n"
    assert run_here(capsys, "control", "arm", "-c", daemon) == (0, said, "")
    said = "arm: nobody was in control\n"
    assert run_here(capsys, "control", "arm", "--take", "-c", daemon) == (0, said, "")


def test_a_robot_whose_commander_is_killed_stops_softly(
    daemon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with background("play", "arm", "long", "--loop", "100", "-c", daemon) as playing:
        until(daemon, "playing")
        playing.kill()
        playing.wait(60)
        until(daemon, "idle")
    assert holder(capsys, daemon) is None


def test_an_interrupt_stops_softly_and_returns_control(
    daemon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with background("play", "arm", "long", "-c", daemon) as playing:
        until(daemon, "playing")
        playing.send_signal(signal.SIGINT)
        lines_until(playing.stderr, "stopping softly")
        playing.communicate(timeout=60)
    assert playing.returncode == 1
    assert holder(capsys, daemon) is None


def test_where_everybody_commands_nothing_is_acquired(
    daemon: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "hand: everybody may command it\n"
    assert run_here(capsys, "control", "hand", "-c", daemon) == (0, said, "")
    code, _, err = run_here(capsys, "control", "hand", "--take", "-c", daemon)
    why = "everybody may command it; command it without, or set lease.required"
    assert (code, err) == (1, f"hand: there is no lease to have; {why}\n")
    code, _, _ = run_here(capsys, "goto", "hand", "elbow=0.1", "-c", daemon)
    assert code == 0
    until(daemon, "idle", "hand")


def test_a_name_can_always_be_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "a\x1b[2J")
    monkeypatch.setattr("socket.gethostname", lambda: "h" * 200)
    assert holder_of("play") == ("a?[2J@" + "h" * 200)[:60]

    def fail() -> str:
        raise OSError

    monkeypatch.setattr("getpass.getuser", fail)
    monkeypatch.setattr("socket.gethostname", lambda: "bench")
    assert holder_of("play") == "somebody@bench (motiond play)"
