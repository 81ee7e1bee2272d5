"""Behaviour of the checks while a motion plays, and at rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from motiond.daemon.ipc.messages import CheckLimits
from motiond.daemon.ipc.ring import Record
from motiond.daemon.stream.engine.checks import CheckFailure, Checks
from tests.tables import table

PERIOD_S = 0.01
CHECKS = 4


def limits_of(**changes: Any) -> CheckLimits:
    values: dict[str, Any] = {
        "effort": [2.0, None],
        "effort_s": 0.5,
        "temperature_c": 80.0,
        "stale_s": 0.25,
        "stall_s": 0.5,
        "stall_error": [0.05, 0.0025],
        "may_stall": [False, False],
    }
    return CheckLimits(**(values | changes))


class Bench:
    """Checks of two joints that are where they should be, looked at in every period."""

    def __init__(self, **changes: Any) -> None:
        self.checks = Checks(limits_of(**changes), ["elbow", "slide"], ["rad", "m"], ["servo 1", "servo 2"])
        self.record = Record(2)
        for part in ("reference_position", "position", "effort", "temperature_c"):
            self.record[part][:] = 0.0
        self.stamps_s = np.zeros(2)
        self.now_s = 0.0
        self.checks.start(self.record["position"], 0.0)

    def look(self, duration_s: float, *, fresh: bool = True) -> CheckFailure | None:
        for _ in range(round(duration_s / PERIOD_S)):
            self.now_s += PERIOD_S
            if fresh:
                self.stamps_s[:] = self.now_s
            if failure := self.checks.next_check(self.record, self.stamps_s, self.now_s):
                return failure
        return None


@table("record, passes_s, fresh, rests, code, message")
def test_a_check_fails_after_its_time_and_says_what_is_wrong(
    record: dict[str, list[float]], passes_s: float, code: str, message: str, *, fresh: bool, rests: bool
) -> None:
    bench = Bench()
    bench.checks.rests = rests
    for part, values in record.items():
        bench.record[part][:] = np.array(values, float)
    assert bench.look(passes_s, fresh=fresh) is None
    failure = bench.look(0.2, fresh=fresh)
    assert failure is not None
    assert (failure.code, failure.message) == (code, message)


def test_a_program_reads_the_numbers_of_a_failure() -> None:
    bench = Bench()
    bench.record["effort"][0] = -2.5
    failure = bench.look(0.6)
    assert failure is not None
    assert failure.details == {"check": "effort", "joint": "elbow", "value": 2.5, "limit": 2.0, "unit": "N·m"}


def test_an_effort_that_comes_down_in_between_is_counted_from_zero() -> None:
    bench = Bench()
    for _ in range(5):
        bench.record["effort"][0] = 2.5
        assert bench.look(0.4) is None
        bench.record["effort"][0] = 1.5
        assert bench.look(0.1) is None


def test_a_failure_is_over_once_it_has_been_well_below_the_limit_without_a_break() -> None:
    bench = Bench()
    bench.record["effort"][0] = 2.5
    assert bench.look(0.7) is not None
    for effort in (1.0, 1.96, 1.0):
        bench.record["effort"][0] = effort
        bench.look(0.8)
        assert bench.checks.passed == []
    bench.look(0.4)
    assert bench.checks.passed == ["effort"]


def test_old_feedback_is_reported_at_rest_too_unless_the_check_is_off() -> None:
    stamps_s = np.array([1.0, 0.9])
    checks = Bench().checks
    assert checks.check_age(stamps_s, 1.1) is None
    failure = checks.check_age(stamps_s, 1.2)
    assert failure is not None
    what = "actuator 'servo 2' last reported 0.300 s ago; checks.stale_s is 0.25 s"
    assert failure.message == f"{what}; check its cable and power"
    assert Bench(stale_s=None).checks.check_age(stamps_s, 9.0) is None


def test_a_joint_that_is_late_but_moves_is_not_blocked() -> None:
    bench = Bench()
    for _ in range(200):
        bench.record["position"][0] += 0.01
        bench.record["reference_position"][0] = bench.record["position"][0] + 0.2
        assert bench.look(0.04) is None


def test_a_joint_that_may_stall_is_forgiven_and_reported() -> None:
    bench = Bench(may_stall=[True, False])
    bench.record["reference_position"][:] = [0.2, 0.0]
    assert bench.look(1.0) is None
    assert bench.checks.stalled.tolist() == bench.checks.forgiven.tolist() == [True, False]
    bench.record["position"][0] = 0.2
    bench.look(CHECKS * PERIOD_S)
    assert not bench.checks.forgiven.any()


OFF = dict.fromkeys(("effort_s", "temperature_c", "stale_s", "stall_s"))


@pytest.mark.parametrize("check", [None, *OFF])
def test_no_check_is_made_but_those_that_are_on(check: str | None) -> None:
    bench = Bench(**(OFF | ({check: 0.1} if check else {})))
    bench.record["reference_position"][:] = 1.0
    bench.record["effort"][:] = 9.0
    bench.record["temperature_c"][:] = 200.0
    failure = bench.look(2.0, fresh=False)
    found = failure.details["check"] if failure else None
    assert found == (check and check.removesuffix("_s").removesuffix("_c"))


def test_a_joint_that_leaves_its_setpoint_has_all_the_time_to_move_from_then_on() -> None:
    bench = Bench()
    assert bench.look(5.0) is None
    bench.record["reference_position"][:] = [0.2, 0.0]
    assert bench.look(0.45) is None
    assert bench.look(0.2) is not None


def test_a_joint_that_is_pushed_to_and_fro_at_rest_is_away_from_where_it_is_held() -> None:
    bench = Bench()
    bench.checks.rests = True
    failure = None
    for turn in range(20):
        bench.record["position"][0] = 0.1 if turn % 2 else 0.3
        failure = failure or bench.look(0.1)
    assert failure is not None
    assert failure.details["check"] == "stall"


def test_a_joint_that_still_comes_to_where_it_is_held_has_all_its_time() -> None:
    bench = Bench()
    bench.checks.rests = True
    for place in np.arange(1.0, 0.0, -0.01):
        bench.record["position"][0] = place
        assert bench.look(0.2) is None
