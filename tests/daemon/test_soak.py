"""What `make soak-kill` judges by, so that what must not be is found."""

from __future__ import annotations

import numpy as np

from motiond.drivers.sim.command_log import row_dtype
from soak.kill import judged
from tests.daemon.rig import RATE_HZ, sweep


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
