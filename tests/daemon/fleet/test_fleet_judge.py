"""What the soak of groups says became of a start."""

from __future__ import annotations

from typing import Any

import pytest

from soak.fleet_judge import Killed, Part, judged

WELL: dict[str, Any] = {"code": "SUCCESSFUL", "played_s": 3.0}
STOPPED: dict[str, Any] = {"code": "CANCELED", "played_s": 2.1}
LATE: dict[str, Any] = {"code": "CANCELED", "played_s": 3.2}
IDLE = Part([], [])
DAEMONS = (("a",), ("b",), ("c", "d"))


def told(at_s: float, told_s: float) -> Killed:
    """One whose death the broker tells of."""
    return Killed(("b",), at_s, told_s=told_s)


def part(result: dict[str, Any], at_s: float = 100.0) -> Part:
    return Part([at_s], [result])


@pytest.mark.parametrize(
    ("parts", "killed", "kind"),
    [
        ([IDLE, IDLE], Killed(), "none"),
        ([part(WELL), part(WELL, 100.05)], Killed(), "all"),
        ([part(STOPPED), part(STOPPED)], Killed(), "all, and stopped together"),
        ([part(STOPPED), part(LATE)], Killed(), "all, and stopped apart"),
        ([part(STOPPED), part(WELL)], Killed(), "all, and stopped apart"),
        ([part(STOPPED), Part([100.0], [])], Killed(("b",), 101.0), "all, and stopped together"),
        ([part(STOPPED), IDLE], told(99.8, 99.95), "all but who was killed just before"),
        ([part(STOPPED), IDLE], told(99.9, 100.05), "all but who was killed just before"),
        ([part(STOPPED), IDLE, IDLE], told(99.9, 99.95), "only those not told in time"),
        ([part(STOPPED), IDLE], Killed(("b",), 98.0, False), "all but who was killed unheard before"),
        (
            [part(STOPPED), IDLE, IDLE],
            Killed(("b",), 98.0, False),
            "only those cut off with who was killed",
        ),
    ],
)
def test_what_became_of_a_start_is_told_apart(parts: list[Part], killed: Killed, kind: str) -> None:
    assert judged(dict(zip("abcd", parts, strict=False)), killed, DAEMONS)[:2] == (kind, [])


@pytest.mark.parametrize(
    ("parts", "killed", "kind", "problem"),
    [
        (
            [part(STOPPED), IDLE],
            Killed(),
            "only some",
            "1 of 2 robots began, not b",
        ),
        (
            [part(STOPPED), IDLE],
            told(99.0, 99.0),
            "only some",
            "1 of 2 robots began, not b; killed 1.000 s before, told of 1.000 s before",
        ),
        (
            [part(STOPPED), IDLE],
            told(99.7, 99.95),
            "only some",
            "1 of 2 robots began, not b; killed 0.300 s before, told of 0.050 s before",
        ),
        (
            [part(STOPPED), IDLE],
            Killed(("b",), 99.95),
            "only some",
            "1 of 2 robots began, not b; killed 0.050 s before, told of by nobody",
        ),
        (
            [IDLE, Part([100.0], [])],
            told(99.95, 99.95),
            "only some",
            "1 of 2 robots began, not a; killed 0.050 s before, told of 0.050 s before",
        ),
        (
            [part(WELL), IDLE],
            told(99.95, 99.95),
            "all but who was killed just before",
            "1 of 2 robots began, not b; killed 0.050 s before, told of 0.050 s before; the others: all",
        ),
        (
            [part(LATE), IDLE, IDLE],
            Killed(("b",), 98.0, False, 98.5),
            "only those cut off with who was killed",
            (
                "1 of 3 robots began, not b, c; killed 2.000 s before, told of 1.500 s before; "
                "the others: all, and stopped apart"
            ),
        ),
        (
            [part(STOPPED), IDLE, IDLE],
            Killed(("b",), 97.0, False, 98.5),
            "only some",
            "1 of 3 robots began, not b, c; killed 3.000 s before, told of 1.500 s before",
        ),
        (
            [part(STOPPED), IDLE, IDLE],
            told(98.0, 98.0),
            "only some",
            "1 of 3 robots began, not b, c; killed 2.000 s before, told of 2.000 s before",
        ),
        (
            [part(STOPPED), IDLE, IDLE],
            told(100.2, 100.2),
            "only some",
            "1 of 3 robots began, not b, c; killed -0.200 s before, told of -0.200 s before",
        ),
        (
            [part(STOPPED), IDLE, IDLE],
            Killed(("b",), 100.2, False),
            "only some",
            "1 of 3 robots began, not b, c; killed -0.200 s before, told of by nobody",
        ),
        (
            [part(STOPPED), IDLE, IDLE, part(STOPPED)],
            told(99.9, 99.95),
            "only some",
            "2 of 4 robots began, not b, c; killed 0.100 s before, told of 0.050 s before",
        ),
        (
            [part(STOPPED), IDLE, Part([], [WELL])],
            told(99.9, 99.95),
            "only those not told in time",
            "c claims success and has not played",
        ),
        ([part(WELL), part(WELL, 100.2)], Killed(), "all", "first rows are 0.200 s apart"),
        ([part(WELL), Part([100.0, 100.0], [WELL])], Killed(), "all", "b played 2 first rows"),
        ([part(WELL), Part([100.0], [WELL, WELL])], Killed(), "all", "b has 2 results"),
        ([part(WELL), Part([100.0], [])], Killed(), "all", "b played and has no result"),
    ],
)
def test_what_must_not_be_is_a_finding(parts: list[Part], killed: Killed, kind: str, problem: str) -> None:
    assert judged(dict(zip("abcd", parts, strict=False)), killed, DAEMONS)[:2] == (kind, [problem])
