"""Judges a start of a group by what is promised.

Without a kill all robots play or none does. With one, no robot plays on alone for longer than it takes to
miss the others and to stop (docs/decisions/all-or-none.md).
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from motiond.daemon.fleet.member import SEEN_WITHIN_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOGETHER_S = 0.1
"""How far apart first rows may be."""
STOP_S = 0.7
"""A stop of the robots, with what a busy machine adds before it begins."""
ALONE_S = SEEN_WITHIN_S + STOP_S


class Part(NamedTuple):
    """What one robot has done.

    Attributes
    ----------
    first_s : sequence of float
        When it left first rows, in monotonic s.
    results : sequence of dict
        Its results of goals of the start.
    """

    first_s: Sequence[float]
    results: Sequence[dict[str, Any]]


class Mishap(NamedTuple):
    """What went wrong.

    Attributes
    ----------
    kills : bool
        Whether anything was killed.
    robots : sequence of str
        Those of a daemon that was killed.
    at_s : float
        When, in monotonic s.
    is_reported : bool
        Whether a broker was left that reports the daemon's end.
    """

    kills: bool = False
    robots: Sequence[str] = ()
    at_s: float = inf
    is_reported: bool = True


class Verdict(NamedTuple):
    """What became of a start, and what of it is not as promised."""

    kind: str
    problems: list[str]


def judged(parts: Mapping[str, Part], mishap: Mishap = Mishap()) -> Verdict:  # noqa: B008 - it cannot change
    """Return how a start of some robots ended, and what broke the promise."""
    problems = [*_wrong_reports(parts, mishap.robots)]
    first_s = [part.first_s[0] for part in parts.values() if part.first_s]
    if not first_s:
        return Verdict("none", problems)
    if np.ptp(first_s) > TOGETHER_S:
        problems.append(f"first rows are {np.ptp(first_s):.3f} s apart")
    idle = sorted(robot for robot, part in parts.items() if not part.first_s)
    able = {robot: part for robot, part in parts.items() if robot not in mishap.robots}
    problems += _alone(able, _alone_since(parts, mishap, min(first_s)))
    codes = {str(part.results[0]["code"]) for part in able.values() if part.first_s and part.results}
    kind = "only some, and stopped" if idle else "all" if codes <= {"SUCCESSFUL"} else "all, and stopped"
    if kind != "all" and not mishap.kills:
        began = f"{len(first_s)} of {len(parts)} robots began"
        problems.append(f"{began}, not {', '.join(idle)}" if idle else f"all began, and ended with {codes}")
    return Verdict(kind, problems)


def _wrong_reports(parts: Mapping[str, Part], killed: Sequence[str]) -> list[str]:
    """Return what cannot be true of the robots' own reports."""
    problems = []
    for robot, part in parts.items():
        if len(part.first_s) > 1:
            problems.append(f"{robot} played {len(part.first_s)} first rows")
        if len(part.results) > 1:
            problems.append(f"{robot} has {len(part.results)} results")
        if part.first_s and not part.results and robot not in killed:
            problems.append(f"{robot} played and has no result")
        if not part.first_s and any(one["code"] == "SUCCESSFUL" for one in part.results):
            problems.append(f"{robot} claims success and has not played")
    return problems


def _alone_since(parts: Mapping[str, Part], mishap: Mishap, first_s: float) -> float:
    """Return how long into the motion the first robot stopped, or was missing; inf where none was."""
    if any(not part.first_s for part in parts.values()):
        return 0.0
    ends_s = [
        float(one["played_s"])
        for part in parts.values()
        for one in part.results
        if one["code"] != "SUCCESSFUL"
    ]
    if mishap.robots and mishap.is_reported:  # else the others cannot know, once they were seen playing
        ends_s.append(max(0.0, mishap.at_s - first_s))
    return min(ends_s, default=inf)


def _alone(able: Mapping[str, Part], since_s: float) -> list[str]:
    """Return which robots played on for too long."""
    return [
        f"{robot} played on alone for {result['played_s'] - since_s:.3f} s"
        for robot, part in able.items()
        for result in part.results
        if part.first_s and result["played_s"] - since_s > ALONE_S
    ]
