"""What `make soak-kill` and `make soak-recording` judge by, so that what must not be is found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from motiond.daemon.recording import RecordingWriter, repair
from motiond.drivers.sim.command_log import row_dtype
from soak import recording
from soak.kill import judged
from tests.daemon.recording.recordings import BEGAN_S, about, records
from tests.daemon.rig import RATE_HZ, sweep

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats.arrays import Floats


def trace_of_a_sweep() -> np.ndarray[tuple[int], np.dtype[np.void]]:
    positions = sweep(4.0)
    trace = np.zeros(len(positions), row_dtype(2))
    trace["time"] = 100.0 + np.arange(len(positions)) / RATE_HZ
    trace["position"], trace["enabled"] = positions, True
    return trace


def test_a_sound_trace_is_found_sound_also_with_rows_that_were_skipped() -> None:
    trace = trace_of_a_sweep()
    assert judged(trace) == []
    assert judged(np.delete(trace, range(100, 110))) == []
    assert judged(trace[:0]) == []


def test_a_trace_with_a_jump_a_kink_a_breach_or_two_masters_is_found_out() -> None:
    jump, kink, breach, masters, late = (trace_of_a_sweep() for _ in range(5))
    jump["position"][300:] += 0.05
    assert judged(jump)[0] == "a setpoint jumped by 0.0511 rad after 0.0050 s"
    kink["position"][300:, 0] += np.arange(len(kink) - 300) * 0.002
    assert judged(kink) == ["a velocity changed by 79.8 rad/s²"]
    breach["position"] *= 10.0
    assert judged(breach)[0] == "a setpoint is outside the limits"
    masters["time"][300:] -= 0.5
    assert "setpoints of two processes are mixed" in judged(masters)
    late["time"][300:] += 4.0
    late["position"][300:] += 0.03
    assert judged(late)[0] == "a setpoint jumped by 0.0311 rad after 4.0050 s"


def left_behind(folder: Path, *batches: Floats) -> Path:
    """Return what a writer leaves that is killed after these ticks."""
    writer = RecordingWriter(folder / "run.mcap", about())
    for batch in batches:
        writer.add(batch)
        writer.cut()
    writer.abandon()
    return writer.part


def test_a_recording_that_was_repaired_and_lacks_little_is_found_sound(tmp_path: Path) -> None:
    part = left_behind(tmp_path, records(500), records(500, first=500))
    repair(part)
    assert [*recording.judged(recording.Killed(part, BEGAN_S, BEGAN_S + 2.4))] == []
    gone = recording.Killed(tmp_path / "none.mcap.part", BEGAN_S, BEGAN_S + 1.4)
    assert [*recording.judged(gone)] == []


def test_a_recording_that_lacks_much_or_was_not_repaired_is_found_out(tmp_path: Path) -> None:
    part = left_behind(tmp_path, records(500), records(500, first=600))
    late = recording.Killed(part, BEGAN_S, BEGAN_S + 2.8)
    assert [*recording.judged(late)] == ["it was not repaired"]
    repair(part)
    assert [*recording.judged(late)] == ["ticks are missing in between", "1.70 s are lost"]
    (tmp_path / "run.mcap").write_bytes(b"half of it")
    assert "it does not open" in next(recording.judged(late))
    gone = recording.Killed(tmp_path / "none.mcap.part", BEGAN_S, BEGAN_S + 1.6)
    assert [*recording.judged(gone)] == ["nothing is left of 1.60 s"]
