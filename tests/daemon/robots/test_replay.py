"""A recorded play, played again, puts out what was put out, bit for bit."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.clock import ClockState, unix_less_monotonic
from motiond.daemon.ipc.ring import COLUMN, slices
from motiond.daemon.recording import RecordingAbout, RecordingWriter
from motiond.formats import load_motions
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, sweep, write_seq

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from motiond.daemon.robots.registry import RobotRegistry
    from motiond.formats.arrays import Floats

pytestmark = pytest.mark.slow

REFERENCE = slices(len(JOINTS))["reference_position"]


@contextmanager
def recording(registry: RobotRegistry, path: Path) -> Iterator[list[Floats]]:
    """Record a robot's ticks while the context lasts; yields them, as they came from the ring."""
    about = RecordingAbout(
        robot="arm",
        daemon="motiond",
        driver="sim",
        version="0",
        joints=JOINTS,
        units=("rad",) * len(JOINTS),
        unix_less_monotonic_s=unix_less_monotonic(),
        began_unix_s=time.time(),
        clock=ClockState(synchronised=True, estimated_error_s=None, source=None),
        why="request",
    )
    writer = RecordingWriter(path, about)
    batches: list[Floats] = []
    robot = registry.members["arm"].robot

    def take(records: Floats, _lost: int) -> None:
        batches.append(records)
        writer.add(records)

    robot.taps.append(take)
    try:
        yield batches
    finally:
        robot.taps.remove(take)
        assert robot.stream.observer is not None
        writer.finish("the test is over")


async def nothing(_rig: Rig, _registry: RobotRegistry, _goal: str) -> None:
    """Let it play."""


async def pause(rig: Rig, registry: RobotRegistry, _goal: str) -> None:
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > 30)
    await ask(registry, "pause")
    await ask(registry, "resume")


async def stop(rig: Rig, registry: RobotRegistry, _goal: str) -> None:
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > 30)
    await ask(registry, "stop")


async def change_speed(rig: Rig, registry: RobotRegistry, _goal: str) -> None:
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > 30)
    await ask(registry, "speed", speed=0.3)


async def played(
    rig: Rig, registry: RobotRegistry, path: Path, act: Any = nothing, **how: Any
) -> list[Floats]:
    """Play while it is recorded, until the robot rests again."""
    with recording(registry, path) as batches:
        goal = (await ask(registry, "play", **how))["goal_id"]
        await act(rig, registry, goal)
        await rig.rest_after(goal)
        before = len(batches)
        await rig.until("telemetry", lambda _: len(batches) > before + 1)
    return batches


PLAYS: list[tuple[dict[str, Any], Any]] = [
    ({"motion": "short"}, nothing),
    ({"motion": "short", "speed": 0.5}, nothing),
    ({"motion": "short", "loop": 3}, nothing),
    ({"motion": "short", "loop": 3, "ping_pong": True}, nothing),
    ({"motion": "far", "loop": 2, "seam": "approach"}, nothing),
    ({"motion": "short", "first": {"frame": 20}, "last": {"frame": 80}}, nothing),
    ({"motion": "short"}, pause),
    ({"motion": "short"}, stop),
    ({"motion": "short", "speed": 0.5}, change_speed),
]
GOING: tuple[dict[str, Any], Any] = ({"motion": "going"}, nothing)
"""In full motion at both ends, which no limit of acceleration allows."""


@pytest.mark.parametrize(
    ("how", "act", "acceleration"),
    [(*play, acceleration) for acceleration in (None, 40.0) for play in PLAYS] + [(*GOING, None)],
)
async def test_what_was_put_out_is_put_out_again(
    rig: Rig, how: dict[str, Any], act: Any, acceleration: float | None
) -> None:
    for joint in rig.robot["joints"].values():
        joint["limits"] = {**joint["limits"], "acceleration": acceleration}
    write_seq(rig.folder / "motions" / "far.seq", sweep(1.0)[:101], JOINTS, RATE_HZ)
    write_seq(rig.folder / "motions" / "going.seq", sweep(1.0)[30:60], JOINTS, RATE_HZ)
    first, second = rig.folder / "motions" / "first.mcap", rig.folder / "second.mcap"
    async with rig.running() as registry:
        await rig.until_state("idle")
        ticks = np.concatenate(await played(rig, registry, first, act, **how))
        await ask(registry, "motions/reload")
        since = len(rig.reports)
        await played(rig, registry, second, motion="first")
    (again,) = load_motions(second)
    (once,) = load_motions(first)
    assert again.positions.tobytes() == once.positions.tobytes()
    assert (once.frame_rate, again.frame_rate, once.is_uniform) == (RATE_HZ, RATE_HZ, True)
    assert once.warnings == again.warnings == ()
    # and these are the setpoints from the first row on
    put_out = ticks[ticks[:, COLUMN["goal"]] == 1][:, REFERENCE]
    begin = next(
        at for at in range(len(put_out)) if (put_out[at : at + len(once.positions)] == once.positions).all()
    )
    rest = put_out[begin + len(once.positions) :]
    assert (rest == put_out[-1]).all()
    assert [report.data["code"] for report in rig.reports[since:] if report.subject == "result"] == [
        "SUCCESSFUL"
    ]


async def test_the_rows_of_a_file_are_those_of_its_recording(rig: Rig) -> None:
    """Also where the way to the first row ends on it."""
    write_seq(rig.folder / "motions" / "going.seq", sweep(1.0)[30:60], JOINTS, RATE_HZ)
    async with rig.running() as registry:
        await rig.until_state("idle")
        for name in ("short", "going", "short"):
            path = rig.folder / f"{name}.mcap"
            path.unlink(missing_ok=True)
            await played(rig, registry, path, motion=name)
            (motion,) = load_motions(path)
            (source,) = load_motions(rig.folder / "motions" / f"{name}.seq")
            assert motion.positions.tobytes() == source.positions.tobytes()
            assert motion.times.tobytes() == source.times.tobytes()
            assert motion.joint_names == JOINTS


async def test_what_was_waited_for_at_the_end_is_held_again(rig: Rig) -> None:
    """Until the joints are within their goal tolerance."""
    rig.driver["natural_frequency_hz"] = 3.0
    first, second = rig.folder / "motions" / "first.mcap", rig.folder / "second.mcap"
    write_seq(rig.folder / "motions" / "far.seq", sweep(0.5)[:41], JOINTS, RATE_HZ)
    close = dict.fromkeys(JOINTS, 0.001)
    async with rig.running() as registry:
        await rig.until_state("idle")
        await played(rig, registry, first, motion="far", goal_tolerance=close)
        await ask(registry, "motions/reload")
        await played(rig, registry, second, motion="first", goal_tolerance=close)
    (once,), (again,) = load_motions(first), load_motions(second)
    waited = len(once.positions) - 41
    assert waited > 10
    assert once.positions[:41].tobytes() == sweep(0.5)[:41].tobytes()
    assert (once.positions[41:] == once.positions[40]).all()
    assert again.positions[: len(once.positions)].tobytes() == once.positions.tobytes()
    assert (again.positions[len(once.positions) :] == once.positions[40]).all()


async def seek(rig: Rig, registry: RobotRegistry, _goal: str) -> None:
    await rig.until("telemetry", lambda data: (data["frame"] or 0) > 30)
    await ask(registry, "seek", frame=90)


@pytest.mark.parametrize(
    ("how", "act"), [*PLAYS, ({"motion": "short"}, seek), ({"motion": "short", "speed": 0.7}, pause)]
)
async def test_what_a_mimic_joint_was_put_out_is_put_out_again_and_it_always_follows(
    rig: Rig, how: dict[str, Any], act: Any
) -> None:
    shoulder, elbow = (rig.robot["joints"][name] for name in JOINTS)
    elbow["mimic"] = {"joint": "shoulder", "multiplier": -0.7, "offset": 0.1}
    shoulder["limits"], elbow["limits"] = (
        {**joint["limits"], "acceleration": 40.0} for joint in (shoulder, elbow)
    )
    lead = sweep(1.0)[:, :1]
    write_seq(rig.folder / "motions" / "short.seq", lead[::2], JOINTS[:1], RATE_HZ)
    write_seq(rig.folder / "motions" / "far.seq", lead[:101], JOINTS[:1], RATE_HZ)
    first, second = rig.folder / "motions" / "first.mcap", rig.folder / "second.mcap"
    async with rig.running() as registry:
        await rig.until_state("idle")
        await played(rig, registry, first, motion="short")
        ticks = np.concatenate(await played(rig, registry, first, act, **how))
        await ask(registry, "motions/reload")
        await played(rig, registry, second, motion="first")
    (once,), (again,) = load_motions(first), load_motions(second)
    assert once.positions.tobytes() == again.positions.tobytes()
    put_out = ticks[:, REFERENCE]
    assert np.abs(put_out[:, 1] - (-0.7 * put_out[:, 0] + 0.1)).max() < 1e-12
