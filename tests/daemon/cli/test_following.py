"""What the command line waits for, and how it has motions read again: with a real daemon of three robots."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.client.connection import NoAnswer
from motiond.daemon.client.session import ask
from motiond.daemon.config.client import load_mqtt_settings
from tests.daemon.programs import background, run_here
from tests.daemon.rig import JOINTS, Rig, sweep, write_seq
from tests.ports import free_port
from tests.waiting import PATIENCE_S, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ENDED = "ended with SUCCESSFUL; the last row is out and held"


def state(config: Path, robot: str) -> dict[str, Any]:
    try:
        return asyncio.run(ask(load_mqtt_settings(config), robot, "status"))
    except NoAnswer as error:
        return {"state": str(error), "goal_id": None, "motion": None, "queued": None}


def until_idle(config: Path, robot: str) -> None:
    eventually(
        f"{robot} is idle",
        lambda: state(config, robot),
        lambda seen: seen["state"] == "idle" and seen["goal_id"] is None,
    )


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    """`arm` parks, `hand` is released, `leg` would park far beyond the way that it may go."""
    rig = Rig(tmp_path_factory.mktemp("daemon"))
    rig.daemon = {"mqtt": {"listen": f"127.0.0.1:{free_port()}"}}
    del rig.driver["trace"], rig.driver["plant"]
    # Slowly, so that a busy machine does not miss the way to the pose.
    unhurried = {**rig.robot["approach"], "velocity": 0.5}
    park = {"poses": {"park": {"elbow": 0.5}}, "on_end": "park", "approach": unhurried}
    slow = {"longest_s": 4.0, "velocity": 0.1, "acceleration": 10.0, "jerk": 100.0}
    rig.others = {
        "hand": {**rig.robot, "on_end": "release"},
        "leg": {**rig.robot, "poses": {"park": {"elbow": 1.9}}, "on_end": "park", "approach": slow},
    }
    rig.robot |= park
    return rig


@pytest.fixture(scope="module")
def daemon(rig: Rig) -> Iterator[Path]:
    config = rig.config
    with background("run", "-c", config):
        for robot in ("arm", "hand", "leg"):
            until_idle(config, robot)
        yield config


@pytest.fixture
def idle(daemon: Path) -> Path:
    for robot in ("arm", "hand", "leg"):
        asyncio.run(ask(load_mqtt_settings(daemon), robot, "stop"))
        until_idle(daemon, robot)
    return daemon


@pytest.mark.parametrize(
    ("words", "motion"),
    [(("play", "arm", "short"), "short"), (("goto", "arm", "elbow=0.1", "--wait"), "goto")],
)
def test_who_waits_for_a_motion_waits_until_the_robot_has_parked(
    idle: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], motion: str
) -> None:
    told = run_here(capsys, *words, "-c", idle)
    seen = state(idle, "arm")
    assert told == (0, f"arm: {motion} {ENDED}\narm: park {ENDED}\n", "")
    assert seen["goal_id"] is None
    until_idle(idle, "arm")  # the stream process tells of the end first, and then of its state


@pytest.mark.parametrize("words", [("play", "hand", "short"), ("goto", "hand", "elbow=0.1", "--wait")])
def test_who_waits_for_a_motion_waits_until_torque_is_off(
    idle: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    code, out, err = run_here(capsys, *words, "-c", idle)
    assert state(idle, "hand")["torque"] is False
    assert (code, out.splitlines()[1:], err) == (0, ["hand: torque is off"], "")


def test_a_robot_that_does_not_park_fails_the_command_that_waits_for_it(
    idle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run_here(capsys, "play", "leg", "short", "-c", idle)
    assert (code, out) == (1, f"leg: short {ENDED}\n")
    assert err == (
        "leg: not parked; park: the way to it takes 18.070 s; joint 'elbow' is 1.8 rad away; "
        "approach.longest_s is 4; go nearer first, or raise it\n"
    )


def test_ctrl_c_while_it_parks_stops_that(idle: Path) -> None:
    with background("goto", "arm", "elbow=-1.9", "--wait", "-c", idle) as play:
        eventually("it parks", lambda: state(idle, "arm")["motion"], lambda seen: seen == "park")
        play.send_signal(signal.SIGINT)
        out, err = play.communicate(timeout=PATIENCE_S)
    assert (play.returncode, out) == (1, f"arm: goto {ENDED}\n")
    assert err.splitlines() == [
        "arm: stopping softly; Ctrl-C again stops the waiting only",
        "arm: park ended with CANCELED; stopped on request, softly, on the path",
    ]


def test_a_script_gets_the_motions_result_alone(idle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "goto", "arm", "elbow=0.1", "--wait", "--json", "-c", idle)
    result = orjson.loads(out)
    assert (code, result["motion"], result["code"], result["follows"], err) == (
        0, "goto", "SUCCESSFUL", "park", "",
    )  # fmt: skip


def test_a_result_says_that_what_waits_follows(idle: Path) -> None:
    with background("play", "hand", "long", "--speed", "0.2", "--json", "-c", idle) as first:
        eventually("it plays", lambda: state(idle, "hand")["state"], lambda seen: seen == "playing")
        with background("play", "hand", "short", "--queue", "-c", idle) as second:
            eventually("one waits", lambda: state(idle, "hand")["queued"], lambda seen: seen == 1)
            asyncio.run(ask(load_mqtt_settings(idle), "hand", "seek", {"time": 19.9}))
            result = orjson.loads(first.communicate(timeout=PATIENCE_S)[0])
            out = second.communicate(timeout=PATIENCE_S)[0]
    assert (first.returncode, result["follows"]) == (0, "queue")
    assert (second.returncode, out.splitlines()) == (0, [f"hand: short {ENDED}", "hand: torque is off"])


# -- reading again ------------------------------------------------------------------------------------------


def test_reload_reads_what_has_come_and_what_has_gone(
    idle: Path, rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    new = rig.folder / "motions" / "new.seq"
    write_seq(new, sweep(0.5), JOINTS, 200)
    try:
        assert run_here(capsys, "reload", "arm", "-c", idle) == (0, "arm: plays long, new, short\n", "")
        code, out, _ = run_here(capsys, "play", "arm", "new", "--no-wait", "-c", idle)
        assert (code, out.startswith("arm: accepted new; goal ")) == (0, True)
    finally:
        new.unlink()
    plays = "".join(f"{robot}: plays long, short\n" for robot in ("arm", "hand", "leg"))
    assert run_here(capsys, "reload", "-c", idle) == (0, plays, "")


def test_reload_says_what_cannot_be_played(idle: Path, rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    broken = rig.folder / "motions" / "broken.seq"
    broken.write_text("type: Nonsense\n")
    try:
        code, out, err = run_here(capsys, "reload", "arm", "-c", idle)
        assert (code, out) == (1, "arm: plays long, short\n")
        assert err.startswith("arm: ")
        assert "broken.seq" in err
        code, out, _ = run_here(capsys, "reload", "arm", "--json", "-c", idle)
        told = orjson.loads(out)
        assert (code, told["robot"], told["error"], len(told["motions"])) == (1, "arm", None, 3)
    finally:
        broken.unlink()
    assert run_here(capsys, "reload", "arm", "-c", idle)[0] == 0


def test_reload_by_a_copy_of_the_configuration_says_that_it_reads_motions_alone(
    idle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Which robots there are is known once one has answered, however long a busy machine takes for that.
    for bound in ("FIRST_S", "SILENCE_S"):
        monkeypatch.setattr(f"motiond.daemon.client.session.{bound}", PATIENCE_S)
    copy = tmp_path / "copy.yaml"
    copy.write_text(idle.read_text())
    code, out, err = run_here(capsys, "reload", "-c", copy)
    assert (code, out.splitlines()[0]) == (0, "arm: plays long, short")
    why = "no daemon of this configuration runs on this machine"
    assert err == f"{copy}: {why}; motions are read again, the configuration is not\n"


def test_reload_of_a_robot_that_nobody_has_is_told(idle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "amr: no answer in 5 s; the robots here are arm, hand, leg; did you mean 'arm'?\n"
    assert run_here(capsys, "reload", "amr", "-c", idle) == (3, "", said)


# -- words --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("play", "arm", "long", "--loop", "2", "--first", "120"),
            (
                "long: its last row is 0.2618 rad from its first at joint 'elbow'; that cannot be passed in "
                "one tick; add --seam approach or --ping-pong"
            ),
        ),
        (
            ("play", "arm", "short", "--start-at", "1763800000000"),
            (
                "arm: --start-at is 1763800000000.0; it must be Unix time in s, from 0 to 1e+10, and looks "
                "like milliseconds; correct it"
            ),
        ),
        (
            ("play", "arm", "short", "--first", "9999999999"),
            "arm: --first is 9999999999; it must be less than or equal to 1000000000; correct it",
        ),
        (("seek", "arm", "10"), "arm: nothing to seek in; the robot is idle; `motiond play` first"),
        (
            ("goto", "arm", "elbow=1e9"),
            "arm: a joint's position is 1000000000.0; it must be less than or equal to 1000000; correct it",
        ),
    ],
)
def test_a_refusal_names_options_and_subcommands(
    idle: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert run_here(capsys, *words, "-c", idle) == (1, "", said + "\n")


# -- finding the broker -------------------------------------------------------------------------------------


def test_the_environment_may_name_the_broker_and_what_is_typed_says_more(
    idle: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = (0, "arm: nothing plays\n", "")
    nobody = f"mqtt://127.0.0.1:{free_port()}"
    monkeypatch.setenv("MOTIOND_BROKER", f"mqtt://{load_mqtt_settings(idle).listen}")
    assert run_here(capsys, "stop", "arm") == nothing
    assert run_here(capsys, "stop", "arm", "--broker", nobody)[0] == 3
    monkeypatch.setenv("MOTIOND_BROKER", nobody)
    assert run_here(capsys, "stop", "arm")[0] == 3
    assert run_here(capsys, "stop", "arm", "-c", idle) == nothing


def test_another_base_is_another_daemons(idle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = (
        "no daemon has been at this broker below 'lab'; "
        "start it with `motiond run`, or correct --base or mqtt.base\n"
    )
    assert run_here(capsys, "status", "--base", "lab", "-c", idle) == (3, "", said)
