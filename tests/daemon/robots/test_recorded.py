"""Recordings of a robot are played by their names, as what was commanded or as what was measured."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from motiond.daemon.planning import MotionLibrary
from motiond.formats import ReadOptions, load_motions
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, refused, sweep, write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.formats import Motion

pytestmark = pytest.mark.slow


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    rig.robot["recording"] = {"folder": "recordings"}
    return rig


async def play(rig: Rig, registry: RobotRegistry, **how: Any) -> dict[str, Any]:
    """Play to the end and some ticks of rest, and return the result."""
    goal = (await ask(registry, "play", **how))["goal_id"]
    result = await rig.rest_after(goal)
    await asyncio.sleep(1.0)
    return result


async def recorded(rig: Rig, registry: RobotRegistry, *plays: dict[str, Any]) -> Path:
    """Record some plays, and return the file."""
    await rig.until_state("idle")
    await ask(registry, "record/start", name="run")
    for how in plays:
        assert (await play(rig, registry, **how))["code"] == "SUCCESSFUL"
    file: str = (await ask(registry, "record/stop"))["file"]
    return rig.folder / "recordings" / file


def read(path: Path, **options: Any) -> Motion:
    (motion,) = load_motions(path, options=ReadOptions(**options))
    return motion


def read_slowly(registry: RobotRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each recording take a second to be read and planned."""
    recorded = registry.members["arm"].handlers.recorded
    planned = recorded._planned

    async def slowly(*how: Any) -> Any:
        await asyncio.sleep(1.0)
        return await planned(*how)

    monkeypatch.setattr(recorded, "_planned", slowly)


@pytest.mark.parametrize("suffix", ["", ".mcap"])
async def test_a_recording_is_played_by_its_name(rig: Rig, suffix: str) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        second = await recorded(rig, registry, {"motion": first.stem + suffix})
        status = await ask(registry, "motions/reload")
    assert read(second).positions.tobytes() == read(first).positions.tobytes() == sweep(0.5).tobytes()
    assert [one["name"] for one in status["motions"]] == ["long", "short"]


async def test_its_feedback_is_played_as_it_was_measured(rig: Rig) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        second = await recorded(rig, registry, {"motion": first.stem, "source": "feedback"})
    measured = read(first, topic="/joint_states")
    assert measured.positions.tobytes() != read(first).positions.tobytes()
    assert read(second).positions.tobytes() == measured.positions.tobytes()


async def test_of_a_recording_in_the_library_the_feedback_is_played_too(rig: Rig) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        first.rename(rig.folder / "motions" / "again.mcap")
        await ask(registry, "motions/reload")
        runs = [
            await recorded(rig, registry, {"motion": "again", "source": source})
            for source in ("reference", "feedback")
        ]
    again = rig.folder / "motions" / "again.mcap"
    assert read(runs[0]).positions.tobytes() == read(again).positions.tobytes()
    assert read(runs[1]).positions.tobytes() == read(again, topic="/joint_states").positions.tobytes()


async def test_each_goal_of_a_recording_is_played_by_its_number(rig: Rig) -> None:
    write_seq(rig.folder / "motions" / "other.seq", -sweep(0.5), JOINTS, RATE_HZ)
    async with rig.running() as registry:
        both = await recorded(rig, registry, {"motion": "short"}, {"motion": "other"})
        names = f"{both.stem}_1, {both.stem}_2"
        assert await refused(registry, "play", motion=both.stem) == (
            "UNKNOWN_MOTION",
            f"arm: {both.stem} holds 2 motions; there are {names}; play one of them",
        )
        second = await recorded(rig, registry, {"motion": f"{both.stem}_2"})
    assert read(second).positions.tobytes() == (-sweep(0.5)).tobytes()


async def test_goals_that_flow_are_refused_by_themselves_for_their_speed_where_they_met(rig: Rig) -> None:
    limits = {"lower": -2.0, "upper": 2.0, "velocity": 3.0, "acceleration": 12.0}
    rig.robot["joints"] = {name: {"limits": limits} for name in JOINTS}
    for name in ("wave", "nod"):
        write_seq(rig.folder / "motions" / f"{name}.seq", sweep(2.0), JOINTS, RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start", name="run")
        await ask(registry, "play", motion="wave")
        goal = await ask(registry, "play", motion="nod", on_busy="queue", blend_s=0.5)
        await rig.rest_after(goal["goal_id"])
        file = (await ask(registry, "record/stop"))["file"].removesuffix(".mcap")
        refusals = [await refused(registry, "play", motion=f"{file}_{number}") for number in (1, 2)]
    assert [code for code, _ in refusals] == ["INVALID_MOTION"] * 2
    ends = [message.splitlines()[0] for _, message in refusals]
    limit = "its acceleration limit is 12 rad/s²"
    rest = "let the motion begin and end at rest by `motiond edit --ease`"
    assert ends == [
        f"{file}_{number}: joint 'shoulder' {does}; {limit}; {rest}, let `on_violation: slow` "
        f"slow it to {share} of its speed or raise `joints.shoulder.limits.acceleration`"
        for number, does, share in (
            (1, "ends at 0.314 rad/s and accelerates at 62.8 rad/s² at 1.495 s (frame 299)", 0.118),
            (2, "begins at 0.314 rad/s and accelerates at 62.9 rad/s² at 0.000 s (frame 0)", 0.0953),
        )
    ]


async def test_no_motion_map_changes_what_the_robot_did(rig: Rig) -> None:
    """A map is for the motions of others; a recording has the robot's own joints."""
    mapped = {name: {"from": name, "sign": -1} for name in JOINTS}
    (rig.folder / "flip.map.yaml").write_text(yaml.safe_dump({"topic": "/joint_states", "joints": mapped}))
    rig.robot["motion_map"] = "flip.map.yaml"
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        second = await recorded(rig, registry, {"motion": first.stem})
        measured = await recorded(rig, registry, {"motion": first.stem, "source": "feedback"})
    assert read(first).positions.tobytes() == (-sweep(0.5)).tobytes()
    assert read(second).positions.tobytes() == read(first).positions.tobytes()
    feedback = read(first, topic="/joint_states").positions
    assert read(measured).positions.tobytes() == feedback.tobytes()


async def test_what_is_no_recording_is_refused_with_what_to_do(rig: Rig) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        assert await refused(registry, "play", motion="wave") == (
            "UNKNOWN_MOTION",
            "arm: no motion 'wave'; there are long, short",
        )
        reason = "recordings of the robot are played by their names, and other files as motions"
        hint = "list them by `recordings`, or put the file into a folder of `motions`, or upload it there"
        for name in ("./run.mcap", "run.mcap", f"recordings/{first.name}"):
            assert await refused(registry, "play", motion=name) == (
                "UNKNOWN_MOTION",
                f"arm: no recording '{name}'; {reason}; {hint}",
            )
        assert await refused(registry, "play", motion="short", source="feedback") == (
            "INVALID_REQUEST",
            "arm: short has no feedback; it is no recording; leave `source` out",
        )


async def test_a_recording_that_is_being_written_is_not_played(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        file = (await ask(registry, "record/start"))["file"]
        refusal = await refused(registry, "play", motion=file)
    assert refusal == ("BUSY", f"arm: {file} is being written; wait for its end")


async def test_a_recording_of_rest_is_refused(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "enable")
        await asyncio.sleep(1.0)
        await ask(registry, "record/start", name="rest")
        await asyncio.sleep(1.0)
        file = rig.folder / "recordings" / (await ask(registry, "record/stop"))["file"]
        refusal = await refused(registry, "play", motion=file.stem)
    assert refusal == (
        "INVALID_MOTION",
        (
            f"{file}: has no motion; no goal came to its first row, and the robot was idle; "
            "`motiond recording export --whole` writes all its ticks"
        ),
    )


async def test_a_recording_keeps_the_limits_as_any_motion(rig: Rig) -> None:
    """Limits may have become narrower since it was made."""
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
    rig.robot["joints"]["elbow"]["limits"] = {"lower": -2.0, "upper": 0.3, "velocity": 3.0}
    rig.robot["joints"]["shoulder"]["limits"] = {"lower": -2.0, "upper": 2.0, "velocity": 0.5}
    async with rig.running() as registry:
        await rig.until_state("idle", len(rig.reports))
        code, reference = await refused(registry, "play", motion=first.stem)
        _, feedback = await refused(registry, "play", motion=first.stem, source="feedback")
    assert code == "INVALID_MOTION"
    assert [line.partition(" reaches ")[0].partition(" moves ")[0] for line in reference.splitlines()] == [
        f"{first.stem}: joint 'shoulder'",
        f"{first.stem}: joint 'elbow'",
    ]
    assert "let `on_violation: slow` slow it" in reference
    assert feedback.splitlines()[-1] == (
        f"{first.stem}: it is as it was measured, with its noise; `motiond edit {first.name} smooth.seq "
        "--topic /joint_states --drop JointEffort --smooth 0.005 --write` takes that away"
    )


async def test_what_was_changed_of_a_recording_to_play_it_is_said(rig: Rig) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
    rig.robot["joints"]["shoulder"]["limits"] = {"lower": -2.0, "upper": 2.0, "velocity": 0.5}
    rig.robot["on_violation"] = "slow"
    async with rig.running() as registry:
        await rig.until_state("idle", len(rig.reports))
        answer = await ask(registry, "play", motion=first.stem)
        result = await rig.rest_after(answer["goal_id"])
    (warning,) = answer["warnings"]
    assert warning.startswith(f"{first.stem}: slowed to 0.")
    assert " of its speed: joint 'shoulder' moves at " in warning
    assert (result["code"], result["warnings"]) == ("SUCCESSFUL", [warning])


async def test_a_stop_while_a_recording_is_read_comes_before_the_motion(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        read_slowly(registry, monkeypatch)
        playing = asyncio.create_task(refused(registry, "play", motion=first.stem))
        await asyncio.sleep(0.5)
        await ask(registry, "stop")
        refusal = await playing
        await asyncio.sleep(1.0)
        assert (await ask(registry, "status"))["state"] == "idle"
    assert refusal == ("CANCELED", "arm: stopped before the motion began; play it again")


async def test_a_reservation_while_a_recording_is_read_holds(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.robot["groups"] = ["choir"]
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        read_slowly(registry, monkeypatch)
        playing = asyncio.create_task(refused(registry, "play", motion=first.stem))
        await asyncio.sleep(0.5)
        await ask(registry, "fleet/prepare", start="s1", motion="long", expires_s=10)
        code, message = await playing
    assert code == "RESERVED"
    assert "s1" in message


async def test_a_recording_that_takes_long_to_read_is_played_when_it_is_asked_for_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        second = await recorded(rig, registry, {"motion": "short"})
        recorded_motions, release = registry.members["arm"].handlers.recorded, asyncio.Event()
        read_now = recorded_motions._read
        reads: list[Path] = []

        async def slowly(path: Path, source: Any) -> Any:
            reads.append(path)
            await release.wait()
            return await read_now(path, source)

        monkeypatch.setattr(recorded_motions, "_read", slowly)
        assert await refused(registry, "play", motion=first.stem) == (
            "BUSY",
            f"arm: {first.name} is still being read; it is long; play it again in a moment",
        )
        assert await refused(registry, "play", motion=second.stem) == (
            "BUSY",
            f"arm: {second.name} cannot be read now; another recording is being read; play it again",
        )
        release.set()
        assert (await play(rig, registry, motion=first.stem))["code"] == "SUCCESSFUL"
        assert (await play(rig, registry, motion=first.stem))["code"] == "SUCCESSFUL"
        assert reads == [first]


async def test_what_was_read_is_forgotten_after_a_while(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Path] = []
    check = MotionLibrary.check

    def counted(library: MotionLibrary, path: Path, topic: str | None = None) -> Any:
        checked.append(path)
        return check(library, path, topic)

    monkeypatch.setattr(MotionLibrary, "check", counted)
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"})
        await play(rig, registry, motion=first.stem)
        await play(rig, registry, motion=first.stem)
        assert checked == [first]
        await asyncio.sleep(61.0)
        await play(rig, registry, motion=first.stem)
        assert checked == [first, first]


async def test_what_played_beside_a_motion_is_played_again_with_it_to_its_end(rig: Rig) -> None:
    rows = {name: sweep(duration_s, joints=1) for name, duration_s in (("wave", 1.0), ("grip", 2.0))}
    for (name, positions), joint in zip(rows.items(), JOINTS, strict=True):
        write_seq(rig.folder / "motions" / f"{name}.seq", positions, (joint,), RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await ask(registry, "record/start", name="run")
        wave = (await ask(registry, "play", motion="wave"))["goal_id"]
        await rig.until_state("playing")
        grip = (await ask(registry, "play", motion="grip", on_busy="beside"))["goal_id"]
        ended = [await rig.result_of(goal_id) for goal_id in (wave, grip)]
        await rig.until_state("idle", rig.place_of(ended[1]))
        await asyncio.sleep(1.0)
        first = rig.folder / "recordings" / (await ask(registry, "record/stop"))["file"]
        again = await recorded(rig, registry, {"motion": first.stem})
    assert [result["beside"] for result in ended] == [False, True]
    once = read(first)
    assert once.warnings == ()
    gripped = once.positions[-len(rows["grip"]) - 1 :, 1]
    assert gripped.tobytes() == np.append(rows["grip"], rows["grip"][-1]).tobytes()
    assert (once.positions[len(rows["wave"]) :, 0] == rows["wave"][-1, 0]).all()
    assert read(again).positions.tobytes() == once.positions.tobytes()


async def test_no_setpoint_of_a_replay_is_far_from_the_one_before(rig: Rig) -> None:
    async with rig.running() as registry:
        first = await recorded(rig, registry, {"motion": "short"}, {"motion": "short", "speed": 1.1})
        again = await recorded(rig, registry, {"motion": f"{first.stem}_2", "loop": 2, "seam": "approach"})
    whole = read(again, whole=True).positions
    assert np.abs(np.diff(whole, axis=0)).max() <= 3.0 / RATE_HZ
