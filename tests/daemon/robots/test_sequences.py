"""Behaviour of sequences on a robot: one goal, its progress, and what leads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.rig import JOINTS, RATE_HZ, Rig, ask, refused, sweep, write_seq

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.daemon.planning import SequencePlan
    from motiond.formats.arrays import Floats

pytestmark = pytest.mark.slow


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    rig = Rig(tmp_path)
    write_seq(rig.folder / "motions" / "wave.seq", sweep(2.0), JOINTS, RATE_HZ)
    write_seq(rig.folder / "motions" / "nod.seq", sweep(2.0) + 0.2, JOINTS, RATE_HZ)
    return rig


def setpoints(rig: Rig) -> Floats:
    positions: Floats = read_trace(rig.folder / "trace.npy")["position"]
    return positions


STEPS: list[dict[str, Any]] = [
    {"motion": "wave"},
    {"motion": "wave", "blend_s": 0.5},
    {"motion": "nod", "pause_s": 0.5},
]


async def test_a_sequence_is_one_goal_that_reports_its_steps_and_ends_once(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        answer = await ask(registry, "sequence", steps=STEPS)
        result = await rig.result_of(answer["goal_id"])
    assert (result["code"], result["motion"]) == ("SUCCESSFUL", "sequence")
    assert rig.results() == ["SUCCESSFUL"]
    begun = [event["payload"] for event in rig.reports_on("event") if event.get("kind") == "marker"]
    assert begun == [
        {"step": number, "motion": motion, "time": 1} for number, motion in enumerate(("wave", "wave", "nod"))
    ]
    shown = [state["step"]["step"] for state in rig.reports_on("state") if "step" in state]
    assert shown == sorted(shown)
    assert set(shown) == {0, 1, 2}
    rows = setpoints(rig)
    assert np.abs(np.diff(rows, axis=0)).max() <= 3.0 / RATE_HZ + 1e-9
    assert np.abs(np.diff(rows, 2, axis=0)).max() * RATE_HZ**2 <= 10.0 * 1.02


async def test_it_is_paused_sought_and_stopped_as_a_motion_is(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        answer = await ask(registry, "sequence", steps=STEPS, repeat="forever")
        await rig.until_state("playing")
        await ask(registry, "pause")
        await ask(registry, "seek", marker="steps[2]")
        sought = await rig.until_state("paused")
        await ask(registry, "resume")
        await ask(registry, "stop")
        result = await rig.result_of(answer["goal_id"])
    assert sought["loops"] is None
    assert (result["code"], rig.results()) == ("CANCELED", ["CANCELED"])


NOTHING = """\
steps[0].motion: arm: no motion 'wav'; there are long, nod, short, wave; did you mean 'wave'?
steps[1].speed: nod: speed 9.9 is too fast; joint 'elbow' allows 4.77; lower the speed"""


async def test_every_step_that_cannot_be_played_is_named_at_once_and_nothing_moves(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        steps = [{"motion": "wav"}, {"motion": "nod", "speed": 9.9}]
        assert await refused(registry, "sequence", steps=steps) == ("INVALID_MOTION", NOTHING)
        assert (await ask(registry, "status"))["state"] == "idle"


async def test_a_stop_while_it_is_planned_ends_it_before_it_begins(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        handlers = registry.members["arm"].handlers
        planned = handlers._sequences.planned

        async def stopped_meanwhile(*asked: Any) -> SequencePlan:
            plan = await planned(*asked)
            await ask(registry, "stop")
            return plan

        monkeypatch.setattr(handlers._sequences, "planned", stopped_meanwhile)
        assert await refused(registry, "sequence", steps=STEPS) == (
            "CANCELED",
            "arm: stopped before the motion began; play it again",
        )
    assert rig.results() == []
