"""What the command line waits for, and how it has motions read again: with a daemon of three robots."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.daemon.cli.program import Program, daemon_of, motiond
from tests.daemon.rig import JOINTS, sweep, write_seq

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.daemon.cli.program import Daemon
    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow

ENDED = "ended with SUCCESSFUL; the last row is out and held"


@pytest.fixture
async def daemon(rig: Rig) -> AsyncIterator[Daemon]:
    """`arm` parks, `hand` is released, `leg` would park far beyond the way that it may go."""
    park = {"poses": {"park": {"elbow": 0.5}}, "on_end": "park"}
    slow = {"longest_s": 4.0, "velocity": 0.1, "acceleration": 10.0, "jerk": 100.0}
    rig.others = {
        "hand": {**rig.robot, "on_end": "release"},
        "leg": {**rig.robot, "poses": {"park": {"elbow": 1.9}}, "on_end": "park", "approach": slow},
    }
    rig.robot |= park
    async with daemon_of(rig) as daemon:
        yield daemon


@pytest.mark.parametrize(
    ("words", "motion"),
    [(("play", "arm", "short"), "short"), (("goto", "arm", "elbow=0.1", "--wait"), "goto")],
)
async def test_who_waits_for_a_motion_waits_until_the_robot_has_parked(
    daemon: Daemon, words: tuple[str, ...], motion: str
) -> None:
    told = await daemon.cli(*words)
    seen = await daemon.ask("status")
    assert told == (0, f"arm: {motion} {ENDED}\narm: park {ENDED}\n", "")
    assert seen["goal_id"] is None
    await daemon.until("idle")  # the stream process tells of the end first, and then of its state


@pytest.mark.parametrize("words", [("play", "hand", "short"), ("goto", "hand", "elbow=0.1", "--wait")])
async def test_who_waits_for_a_motion_waits_until_torque_is_off(
    daemon: Daemon, words: tuple[str, ...]
) -> None:
    code, out, err = await daemon.cli(*words)
    assert (await daemon.ask("status", "hand"))["torque"] is False
    assert (code, out.splitlines()[1:], err) == (0, ["hand: torque is off"], "")


async def test_a_robot_that_does_not_park_fails_the_command_that_waits_for_it(daemon: Daemon) -> None:
    code, out, err = await daemon.cli("play", "leg", "short")
    assert (code, out) == (1, f"leg: short {ENDED}\n")
    assert err == (
        "leg: not parked; park: the way to it takes 18.070 s; joint 'elbow' is 1.8 rad away; "
        "approach.longest_s is 4; go nearer first, or raise it\n"
    )


async def test_ctrl_c_while_it_parks_stops_that(daemon: Daemon) -> None:
    play = Program("goto", "arm", "elbow=-1.9", "--wait", "-c", daemon.config)
    await daemon.until_status(lambda seen: seen["motion"] == "park")
    play.send_signal(signal.SIGINT)
    code, out, err = await play.end()
    assert (code, out) == (1, f"arm: goto {ENDED}\n")
    assert err.splitlines() == [
        "arm: stopping softly; Ctrl-C again stops the waiting only",
        "arm: park ended with CANCELED; stopped on request, softly, on the path",
    ]


async def test_a_script_gets_the_motions_result_alone(daemon: Daemon) -> None:
    code, out, err = await daemon.cli("goto", "arm", "elbow=0.1", "--wait", "--json")
    result = orjson.loads(out)
    assert (code, result["motion"], result["code"], result["follows"], err) == (
        0, "goto", "SUCCESSFUL", "park", "",
    )  # fmt: skip


async def test_a_result_says_that_what_waits_follows(daemon: Daemon) -> None:
    first = Program("play", "hand", "long", "--speed", "0.2", "--json", "-c", daemon.config)
    await daemon.until("playing", "hand")
    second = Program("play", "hand", "short", "--queue", "-c", daemon.config)
    await daemon.until_status(lambda seen: seen["queued"] == 1, "hand")
    await daemon.ask("seek", "hand", time=19.9)
    code, out, _ = await first.end()
    assert (code, orjson.loads(out)["follows"]) == (0, "queue")
    assert await second.end() == (0, f"hand: short {ENDED}\nhand: torque is off\n", "")


# -- reading again ------------------------------------------------------------------------------------------


async def test_reload_reads_what_has_come_and_what_has_gone(daemon: Daemon, rig: Rig) -> None:
    new = rig.folder / "motions" / "new.seq"
    write_seq(new, sweep(0.5), JOINTS, 200)
    try:
        assert await daemon.cli("reload", "arm") == (0, "arm: plays long, new, short\n", "")
        code, out, _ = await daemon.cli("play", "arm", "new", "--no-wait")
        assert (code, out.startswith("arm: accepted new; goal ")) == (0, True)
    finally:
        new.unlink()
    plays = "".join(f"{robot}: plays long, short\n" for robot in ("arm", "hand", "leg"))
    assert await daemon.cli("reload") == (0, plays, "")


async def test_reload_says_what_cannot_be_played(daemon: Daemon, rig: Rig) -> None:
    broken = rig.folder / "motions" / "broken.seq"
    broken.write_text("type: Nonsense\n")
    try:
        code, out, err = await daemon.cli("reload", "arm")
        assert (code, out) == (1, "arm: plays long, short\n")
        assert err.startswith("arm: ")
        assert "broken.seq" in err
        code, out, _ = await daemon.cli("reload", "arm", "--json")
        told = orjson.loads(out)
        assert (code, told["robot"], told["error"], len(told["motions"])) == (1, "arm", None, 3)
    finally:
        broken.unlink()
    assert (await daemon.cli("reload", "arm"))[0] == 0


async def test_reload_by_a_copy_of_the_configuration_says_that_it_reads_motions_alone(
    daemon: Daemon, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.yaml"
    copy.write_text(daemon.config.read_text())
    code, out, err = await motiond("reload", "-c", copy)
    assert (code, out.splitlines()[0]) == (0, "arm: plays long, short")
    reason = "no daemon of this configuration runs on this machine"
    assert err == f"{copy}: {reason}; motions are read again, the configuration is not\n"


async def test_reload_of_a_robot_that_nobody_has_is_told(daemon: Daemon) -> None:
    said = "no robot 'amr'; there are arm, hand, leg; did you mean 'arm'?\n"
    assert await daemon.cli("reload", "amr") == (1, "", said)


# -- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("play", "arm", "long", "--loop", "2", "--first", "120"),
            (
                "long: its last row is 0.2618 rad from its first at joint 'elbow'; that cannot be passed in "
                "one tick; choose seam approach, or ping-pong"
            ),
        ),
        (
            ("goto", "arm", "elbow=1e9"),
            "arm/goto: 'joints.elbow' is 1000000000.0; it must be less than or equal to 1000000; correct it",
        ),
    ],
)
async def test_a_refusal_is_printed_as_the_daemon_words_it(
    daemon: Daemon, words: tuple[str, ...], said: str
) -> None:
    assert await daemon.cli(*words) == (1, "", said + "\n")


# -- finding the broker -------------------------------------------------------------------------------------


async def test_the_environment_may_name_the_broker_and_what_is_typed_says_more(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = (0, "arm: nothing plays\n", "")
    nobody = "mqtt://127.0.0.1:1884"
    monkeypatch.setenv("MOTIOND_BROKER", daemon.broker)
    assert await motiond("stop", "arm") == nothing
    assert (await motiond("stop", "arm", "--broker", nobody))[0] == 3
    monkeypatch.setenv("MOTIOND_BROKER", nobody)
    assert (await motiond("stop", "arm"))[0] == 3
    assert await daemon.cli("stop", "arm") == nothing


async def test_another_base_is_another_daemons(daemon: Daemon) -> None:
    said = "no daemon has been at this broker below 'lab'; start it with `motiond run`, or correct the base\n"
    assert await daemon.cli("status", "--base", "lab") == (3, "", said)
