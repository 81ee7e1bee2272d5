"""What is recorded of a robot with its real stream process, and when."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from motiond.drivers.sim.command_log import read_trace
from tests.daemon.recording.recordings import Read, read
from tests.daemon.rig import ask

if TYPE_CHECKING:
    from pathlib import Path

    from tests.daemon.rig import Rig

pytestmark = pytest.mark.slow


def files(rig: Rig) -> list[Path]:
    """Return the recordings, which are all that is left in their folder."""
    folder = rig.folder / "recordings"
    return sorted(folder.iterdir()) if folder.exists() else []


def only(rig: Rig) -> Read:
    (path,) = files(rig)
    return read(path)


def is_whole(recording: Read) -> bool:
    """Whether every tick is there, as what was commanded and as what was measured."""
    numbers = recording.numbers["/joint_states"]
    is_paired = recording.numbers["/reference"] == numbers
    return is_paired and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


async def test_every_tick_between_start_and_stop_is_in_the_file(rig: Rig) -> None:
    async with rig.running() as registry:
        await rig.until_state("idle")
        started = await ask(registry, "record/start", name="a run")
        result = await rig.result_of((await ask(registry, "play", motion="short"))["goal_id"])
        stopped = await ask(registry, "record/stop")
    (path,) = files(rig)
    recording = read(path)
    assert is_whole(recording)
    assert "/motiond/gap" not in recording.messages
    assert started == {"file": path.name}
    ticks = recording.numbers["/joint_states"]
    assert stopped == {
        "file": path.name,
        "ticks": len(ticks),
        "gaps": 0,
        "duration_s": pytest.approx(
            (recording.stamps["/reference"][-1] - recording.stamps["/reference"][0]) / 1e9
        ),
        "bytes": path.stat().st_size,
    }
    assert result["recording"] == path.name
    assert recording.messages["/motiond/result"] == [result]
    played = [message.position[0] for message in recording.messages["/reference"]]
    played = [position for position in played if not math.isnan(position)]
    sent = read_trace(rig.folder / "trace.npy")["position"][:, 0].tolist()
    assert played == sent[: len(played)]
    assert len(played) > 150
