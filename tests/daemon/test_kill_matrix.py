"""What holds when somebody pulls a plug, at any moment of a motion.

A signal reaches the loop of a stream process as one of a few things; here each happens at each moment, on
virtual time. `make soak-kill` does the same to real processes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from motiond.daemon.ipc.states import ACTIVE, State
from motiond.drivers.sim.command_log import row_dtype
from soak.kill import judged
from tests.daemon.engine import Account, account_of
from tests.daemon.invariants import broken
from tests.daemon.rig import RATE_HZ, sweep
from tests.daemon.sequences import Act, sequence

pytestmark = pytest.mark.slow

ENDLESS = {"seam": "approach", "loop": "forever", "ping_pong": True, "speed_share": -1.0}

MOMENTS: dict[str, list[Act]] = {
    "at rest": [],
    "at the request": [Act(1, "play", {})],
    "on the approach": [Act(1, "play", {}), Act(3, "enable")],
    "in full swing": [Act(1, "play", {}), Act(60, "enable")],
    "at another speed": [Act(1, "play", {}), Act(50, "speed", {"share": 0.3}), Act(10, "enable")],
    "on the way to a pause": [Act(1, "play", {}), Act(50, "pause"), Act(2, "enable")],
    "in a pause": [Act(1, "play", {}), Act(50, "pause"), Act(60, "enable")],
    "on the way from a pause": [Act(1, "play", {}), Act(50, "pause"), Act(60, "resume"), Act(2, "enable")],
    "on the way to another place": [
        Act(1, "play", {}),
        Act(50, "pause"),
        Act(60, "seek", {"share": 0.5, "goes_on": True}),
        Act(2, "enable"),
    ],
    "on the way to rest": [Act(1, "play", {}), Act(50, "stop"), Act(2, "enable")],
    "after an emergency stop": [Act(1, "play", {}), Act(50, "estop"), Act(2, "enable")],
    "in a fault": [Act(1, "play", {}), Act(50, "driver_fails", {"during": "write"}), Act(2, "enable")],
}

PLUGS: dict[str, Act] = {
    "the daemon is killed": Act(0, "daemon_dies"),
    "the daemon is stopped": Act(0, "daemon_hangs"),
    "the daemon is asked to end": Act(0, "shutdown"),
    "the broker is killed or stopped": Act(0, "stop"),
    "the stream process is stopped for a moment": Act(0, "late", {"periods": 5.5}),
    "the stream process is stopped for long": Act(0, "too_late", {"late_s": 2.0}),
    "the bus is lost in a setpoint": Act(0, "bus_is_lost", {"during": "write"}),
    "the bus is lost in a reading": Act(0, "bus_is_lost", {"during": "read"}),
    "a servo fails": Act(0, "driver_fails", {"during": "write"}),
}


def played(seed: int, moment: str, plug: str) -> Account:
    """Play an endless motion to a moment, and pull a plug then."""
    base = sequence(seed)
    motion = min(base.plans)
    acts = [
        replace(act, values=ENDLESS | {"motion": motion}) if act.verb == "play" else act
        for act in (Act(1, "enable"), *MOMENTS[moment])
    ]
    return account_of(replace(base, acts=(*acts, PLUGS[plug], Act(120, "enable"))))


def playable_seeds() -> list[int]:
    """Return seeds of robots that have a motion."""
    chance = np.random.default_rng(3)
    seeds = (int(chance.integers(2**32)) for _ in range(200))
    return list(islice((seed for seed in seeds if sequence(seed).plans), len(MOMENTS)))


SEEDS = playable_seeds()


@pytest.mark.parametrize("plug", PLUGS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_no_setpoint_jumps_and_each_goal_ends_once(moment: str, plug: str) -> None:
    seed = SEEDS[(list(MOMENTS).index(moment) + list(PLUGS).index(plug)) % len(SEEDS)]
    account = played(seed, moment, plug)
    assert broken(account) == []
    assert not account.moves or account.moves[-1][1] not in ACTIVE


def test_the_moments_are_what_they_are_called_and_the_plugs_end_motions() -> None:
    states: Counter[State] = Counter()
    codes: Counter[str] = Counter()
    for plug in PLUGS:
        for seed, moment in zip(SEEDS, MOMENTS, strict=True):
            account = played(seed, moment, plug)
            states.update(after for _, after in account.moves)
            codes.update(ended.code for handed in account.handed for ended in handed.ended)
    assert set(states) == set(State) - {State.OFFLINE}
    assert {"CANCELED", "ESTOP", "COMM_LOST", "HARDWARE_FAULT", "DEADLINE_MISSED"} <= set(codes)


# -- the judge of real processes ----------------------------------------------------------------------------


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
