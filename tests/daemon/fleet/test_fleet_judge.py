"""How the soak of groups judges a start."""

from __future__ import annotations

from typing import Any

import pytest

from soak.fleet_judge import ALONE_S, Mishap, Part, judged

WELL: dict[str, Any] = {"code": "SUCCESSFUL", "played_s": 5.0}
KILL = Mishap(kills=True)
IDLE = Part([], [])
SOME = "only some, and stopped"


def part(result: dict[str, Any] | None = None, at_s: float = 100.0) -> Part:
    return Part([at_s], [] if result is None else [result])


def stopped(played_s: float) -> Part:
    return part({"code": "CANCELED", "played_s": played_s})


def daemon_of_b(at_s: float, *, is_reported: bool = True) -> Mishap:
    return Mishap(True, ("b",), at_s, is_reported)


@pytest.mark.parametrize(
    ("parts", "mishap", "kind", "problems"),
    [
        # as promised
        ([IDLE, IDLE], Mishap(), "none", []),
        ([part(WELL), part(WELL, 100.05)], Mishap(), "all", []),
        ([stopped(1.0), stopped(1.0 + ALONE_S)], KILL, "all, and stopped", []),
        ([stopped(2.5), IDLE], KILL, SOME, []),
        ([stopped(2.5), IDLE], daemon_of_b(99.0), SOME, []),
        ([stopped(1.2), part()], daemon_of_b(101.0), "all, and stopped", []),
        ([part(WELL), part()], daemon_of_b(101.0, is_reported=False), "all", []),
        ([part(WELL), part()], daemon_of_b(104.0), "all", []),
        # not as promised
        ([stopped(2.1), IDLE], Mishap(), SOME, ["1 of 2 robots began, not b"]),
        ([stopped(2.1)] * 2, Mishap(), "all, and stopped", ["all began, and ended with {'CANCELED'}"]),
        ([part(WELL), IDLE], KILL, SOME, ["a played on alone for 5.000 s"]),
        ([stopped(2.9), stopped(2.1), IDLE], KILL, SOME, ["a played on alone for 2.900 s"]),
        ([stopped(1.0), part(WELL)], KILL, "all, and stopped", ["b played on alone for 4.000 s"]),
        ([part(WELL), part()], daemon_of_b(101.0), "all", ["a played on alone for 4.000 s"]),
        ([part(WELL), IDLE], daemon_of_b(99.0, is_reported=False), SOME, ["a played on alone for 5.000 s"]),
        ([part(WELL), part(WELL, 100.2)], Mishap(), "all", ["first rows are 0.200 s apart"]),
        ([part(WELL), Part([100.0, 100.0], [WELL])], Mishap(), "all", ["b played 2 first rows"]),
        ([part(WELL), Part([100.0], [WELL, WELL])], Mishap(), "all", ["b has 2 results"]),
        ([part(WELL), part()], Mishap(), "all", ["b played and has no result"]),
        ([IDLE, Part([], [WELL])], KILL, "none", ["b claims success and has not played"]),
    ],
)
def test_each_start_is_judged_by_what_is_promised(
    parts: list[Part], mishap: Mishap, kind: str, problems: list[str]
) -> None:
    assert judged(dict(zip("abc", parts, strict=False)), mishap) == (kind, problems)
