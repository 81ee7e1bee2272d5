"""Says what became of a start of a group: all or none began, and those that began were stopped together.

A start that began for only some is a finding. Nobody can leave a daemon's robots out of whose death the
broker had not told in time before the first row, nor reach others that were at the broker that was killed
together with it; these are told apart, and counted.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from motiond.daemon.fleet.member import CONFIRM_S, PULSE_S, SILENCE_S
from motiond.daemon.robots.group_start.reservation import GUARD_S

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOGETHER_S = 0.1
"""How far apart first rows may be."""
STOPPED_S = CONFIRM_S + 1.0
"""Into the motion: who does not play with all has begun to stop by then, on a machine that is busy."""
TOLD_S = 0.2
"""For the broker to tell of a death, on a machine that is busy."""
LATE_S = 0.1
"""For a daemon to hear what a client at another broker has heard, and to act on it."""


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
    told_s : float
        When it was told of to a client at a broker that was not killed, in monotonic s.
    """

    robots: Sequence[str] = ()
    at_s: float = inf
    has_will: bool = True
    told_s: float = inf

    def may_be_unknown(self, first_s: float) -> bool:
        """Whether it may be unknown to others when they leave their first rows."""
        if self.at_s > first_s + TOGETHER_S:
            return False
        if not self.has_will:
            return first_s - self.at_s <= SILENCE_S + GUARD_S + PULSE_S + LATE_S
        return self.told_s - self.at_s <= TOLD_S and first_s - self.told_s <= LATE_S


class Verdict(NamedTuple):
    """What became of a start.

    Attributes
    ----------
    kind : str
    problems : list of str
        What is a finding.
    when : str
        Where only some began: how long before a first row others were killed, and were told of.
    """

    kind: str
    problems: list[str]
    when: str = ""


def judged(parts: Mapping[str, Part], killed: Killed, daemons: Sequence[Sequence[str]]) -> Verdict:
    """Say what became of a start.

    Parameters
    ----------
    parts : mapping of str to Part
        Of each robot.
    killed : Killed
        What was killed meanwhile.
    daemons : sequence of sequence of str
        The robots of each.
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
    problems += [
        f"{robot} claims success and has not played"
        for robot, part in parts.items()
        if not part.first_s and any(one["code"] == "SUCCESSFUL" for one in part.results)
    ]
    first_s = [at_s for part in parts.values() for at_s in part.first_s]
    if not first_s:
        return Verdict("none", problems)
    if np.ptp(first_s) > TOGETHER_S:
        problems.append(f"first rows are {np.ptp(first_s):.3f} s apart")
    idle = sorted(robot for robot, part in parts.items() if not part.first_s)
    if not idle:
        return Verdict(_how_it_ended(able), problems)
    told = f"{len(parts) - len(idle)} of {len(parts)} robots began, not {', '.join(idle)}"
    begun_s = min(first_s)
    of_it = f"told of {begun_s - killed.told_s:.3f} s before" if killed.told_s < inf else "told of by nobody"
    when = f"killed {begun_s - killed.at_s:.3f} s before, {of_it}"
    divided = any(len({robot in idle for robot in one if robot in parts}) > 1 for one in daemons)
    are_out = bool(killed.robots) and set(killed.robots) <= set(idle)
    if divided or not are_out or not killed.may_be_unknown(begun_s):
        return Verdict("only some", [*problems, told + (f"; {when}" if killed.at_s < inf else "")])
    kind = "only those not told in time" if killed.has_will else "only those cut off with who was killed"
    if set(idle) == set(killed.robots):
        kind = "all but who was killed " + ("just before" if killed.has_will else "unheard before")
    how = _how_it_ended({robot: part for robot, part in able.items() if part.first_s})
    if how != "all, and stopped together":
        problems.append(f"{told}; {when}; the others: {how}")
    return Verdict(kind, problems, when)


def _how_it_ended(able: Mapping[str, Part]) -> str:
    results = [part.results[0] for part in able.values() if part.results]
    if all(result["code"] == "SUCCESSFUL" for result in results):
        return "all"
    together = all(result["code"] == "CANCELED" and result["played_s"] <= STOPPED_S for result in results)
    return "all, and stopped together" if together else "all, and stopped apart"
