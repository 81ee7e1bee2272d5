"""Says what became of a start of a group: all or none began, and those that began were stopped together.

A start that began for only some is a finding. Nobody can leave a daemon's robots out that was killed so
shortly before the first row that no message of it could arrive, nor reach others that were at the broker that
was killed together with it; both are told apart, and counted.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from motiond.daemon.fleet.group_start import CONFIRM_S, PULSE_S, SILENCE_S
from motiond.daemon.robots.reservation import GUARD_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOGETHER_S = 0.1
"""How far apart first rows may be."""
STOPPED_S = CONFIRM_S + 1.0
"""Into the motion: who does not play with all has begun to stop by then, on a machine that is busy."""
LATE_S = 0.1
"""For the broker to tell of a death, and a daemon to act on it."""


class Part(NamedTuple):
    """What one robot has done.

    Attributes
    ----------
    first_s : sequence of float
        When it left first rows, in monotonic s.
    results : sequence of dict
        What it told of goals of the start.
    """

    first_s: Sequence[float]
    results: Sequence[dict[str, Any]]


class Killed(NamedTuple):
    """What was killed.

    Attributes
    ----------
    robots : sequence of str
        Those of a daemon.
    at_s : float
        When, in monotonic s.
    has_will : bool
        Whether there was a broker left that tells of it, and of which nobody was cut off.
    """

    robots: Sequence[str] = ()
    at_s: float = inf
    has_will: bool = True

    @property
    def unheard_s(self) -> float:
        """For how long before a first row it may stay unknown."""
        return LATE_S if self.has_will else SILENCE_S + GUARD_S + PULSE_S + LATE_S


class Verdict(NamedTuple):
    """What became of a start: its kind, and what is a finding."""

    kind: str
    problems: list[str]


def judged(parts: Mapping[str, Part], killed: Killed) -> Verdict:
    """Say what became of a start.

    Parameters
    ----------
    parts : mapping of str to Part
        Of each robot.
    killed : Killed
        What was killed meanwhile.
    """
    problems = [
        f"{robot} played {len(part.first_s)} first rows"
        for robot, part in parts.items()
        if len(part.first_s) > 1
    ]
    problems += [
        f"{robot} has {len(part.results)} results" for robot, part in parts.items() if len(part.results) > 1
    ]
    able = {robot: part for robot, part in parts.items() if robot not in killed.robots}
    problems += [
        f"{robot} played and has no result"
        for robot, part in able.items()
        if part.first_s and not part.results
    ]
    first_s = [at_s for part in parts.values() for at_s in part.first_s]
    if not first_s:
        return Verdict("none", problems)
    if np.ptp(first_s) > TOGETHER_S:
        problems.append(f"first rows are {np.ptp(first_s):.3f} s apart")
    idle = sorted(robot for robot, part in parts.items() if not part.first_s)
    if not idle:
        return Verdict(_how_it_ended(able), problems)
    before_s = min(first_s) - killed.at_s
    told = f"{len(parts) - len(idle)} of {len(parts)} robots began, not {', '.join(idle)}"
    if set(idle) == set(killed.robots) and before_s <= killed.unheard_s:
        kind = f"all but who was killed {'just' if killed.has_will else 'unheard'} before"
        how = _how_it_ended(able)
        if how != "all, and stopped together":
            problems.append(f"{told}, killed {before_s:.3f} s before; the others: {how}")
        return Verdict(kind, problems)
    if set(idle) > set(killed.robots) and not killed.has_will and 0.0 <= before_s <= killed.unheard_s:
        how = _how_it_ended({robot: part for robot, part in able.items() if part.first_s})
        if how != "all, and stopped together":
            problems.append(f"{told}, killed {before_s:.3f} s before with its broker: {how}")
        return Verdict("only those cut off with who was killed", problems)
    when = f"; {before_s:.3f} s after the kill" if killed.at_s < inf else ""
    return Verdict("only some", [*problems, told + when])


def _how_it_ended(able: Mapping[str, Part]) -> str:
    results = [part.results[0] for part in able.values() if part.results]
    if all(result["code"] == "SUCCESSFUL" for result in results):
        return "all"
    together = all(result["code"] == "CANCELED" and result["played_s"] <= STOPPED_S for result in results)
    return "all, and stopped together" if together else "all, and stopped apart"
