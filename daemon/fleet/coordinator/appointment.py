"""The time at which a group's first rows are due, by the clocks of its members.

The coordinator's own clock may be anything: what its members have answered tells how far ahead theirs are.
The members' clocks have to agree, as each of them begins by its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...api import RequestError
from ...robots import TELLING_S

if TYPE_CHECKING:
    from collections.abc import Mapping

MARGIN_S = 1.0
"""From the commit until the slowest member has to begin its approach: all have to hear of all before."""
ANSWERS = 2.0
"""It is at least so many times as long as the slowest answer has taken, when all were asked at once."""
LEAST_MARGIN_S = 0.3
MOST_TELLING_S = 4.0
"""So much more than members leave by themselves there is at most to tell that all are ready, and know it."""
APART_S = 0.2
"""So far apart clocks may be, beside what the way of an answer leaves open."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a member has answered when it was prepared.

    Attributes
    ----------
    ready_in_s : float
        How long before its first row it has to begin, in s.
    ahead_s : tuple of float
        Between which two values its clock is ahead of the coordinator's, in s.
    """

    ready_in_s: float
    ahead_s: tuple[float, float]

    @property
    def answered_in_s(self) -> float:
        """How long its answer has taken."""
        return self.ahead_s[1] - self.ahead_s[0]


class Appointment(NamedTuple):
    """When a group starts.

    Attributes
    ----------
    start_at : float
        Unix time in s of the first row, by the members' clocks.
    within_s : float
        How long it is until the slowest member has to begin.
    ready_in_s : float
        How long before its first row it has to begin, in s: as it has answered, or earlier, where answers
        have taken long.
    """

    start_at: float
    within_s: float
    ready_in_s: float


def appoint(
    group: str,
    prepared: Mapping[str, Prepared],
    now: float,
    *,
    start_at: float | None = None,
    start_in: float | None = None,
) -> Appointment:
    """Return when a group starts.

    Parameters
    ----------
    prepared : mapping of str to Prepared
        By robot.
    now : float
        Unix time in s, by the coordinator's clock.
    start_at, start_in : float or None
        When the first row is wanted: Unix time by the members' clocks, or from now on, in s. As soon as all
        can be there where both are None.

    Raises
    ------
    RequestError
        CLOCK if the members' clocks do not agree; TOO_LATE if a member cannot be there by then.
    """
    now += _ahead_s(group, prepared)
    slowest = max(prepared, key=lambda robot: prepared[robot].ready_in_s)
    needs_s = prepared[slowest].ready_in_s
    answers_s = ANSWERS * max(one.answered_in_s for one in prepared.values())
    margin_s, telling_s = max(MARGIN_S, answers_s), min(max(0.0, answers_s - TELLING_S), MOST_TELLING_S)
    if start_at is None:
        start_at = now + (needs_s + telling_s + margin_s if start_in is None else start_in)
    within_s = start_at - now - needs_s
    if within_s < LEAST_MARGIN_S:
        late_s = LEAST_MARGIN_S - within_s
        problem = f"start_at is {late_s:.3f} s too early"
        reason = f"{slowest} needs {needs_s:.3f} s to the first row, and the agreement {LEAST_MARGIN_S:g} s"
        data: dict[str, Any] = {"too_late_s": late_s, "needs_s": needs_s + LEAST_MARGIN_S}
        raise RequestError("TOO_LATE", group, problem, reason, "set it later", **data)
    telling_s = min(telling_s, max(0.0, within_s - margin_s))  # all have to hear the commit first
    return Appointment(start_at, within_s - telling_s, needs_s + telling_s)


def _ahead_s(group: str, prepared: Mapping[str, Prepared]) -> float:
    """Return how far the members' clocks are ahead of the coordinator's: 0 where that may be."""
    first = max(prepared, key=lambda robot: prepared[robot].ahead_s[0])
    last = min(prepared, key=lambda robot: prepared[robot].ahead_s[1])
    least, most = prepared[first].ahead_s[0], prepared[last].ahead_s[1]
    if least - most > APART_S:
        problem = f"the clock of {first} is at least {least - most:.3f} s ahead of that of {last}"
        hint = "let chrony or another service set the clocks of all machines"
        raise RequestError("CLOCK", group, problem, "robots that start together need one time", hint)
    return min(max(0.0, least), most) if least <= most else (least + most) / 2.0
