"""The time at which a group's first rows are due, by the clocks of its members.

The coordinator's own clock may be wrong: the members' answers show how far ahead theirs are. The members'
clocks have to agree, as each of them begins by its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...api import RequestError

if TYPE_CHECKING:
    from collections.abc import Mapping

MARGIN_S = 1.0
"""From the commit until the slowest member has to know the time."""
ANSWERS = 2.0
"""The margin is at least this many times the time of the slowest answer, when all were asked at once."""
LEAST_MARGIN_S = 0.3
APART_S = 0.2
"""How far apart clocks may be, beyond what the delay of an answer leaves open."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A member's answer when it was prepared."""

    ready_in_s: float
    """How long before its first row it has to know the time."""
    ahead_s: tuple[float, float]
    """Between which two values its clock is ahead of the coordinator's."""

    @property
    def answered_in_s(self) -> float:
        """How long its answer has taken."""
        return self.ahead_s[1] - self.ahead_s[0]


class Appointment(NamedTuple):
    """When a group starts."""

    start_at: float
    """Unix time of the first row, by the members' clocks."""
    within_s: float
    """How long from now until the slowest member has to know it."""


def appoint(
    group: str,
    prepared: Mapping[str, Prepared],
    now: float,
    *,
    start_at: float | None = None,
    start_in: float | None = None,
) -> Appointment:
    """Return when a group starts; `now` is Unix time by the coordinator's clock.

    `start_at` asks for a Unix time by the members' clocks, `start_in` for a time in s from now on; without
    either the group starts as soon as all can be there. Raises RequestError with CLOCK if the members' clocks
    do not agree, TOO_LATE if a member cannot be there by then.
    """
    now += _ahead_s(group, prepared)
    slowest = max(prepared, key=lambda robot: prepared[robot].ready_in_s)
    needs_s = prepared[slowest].ready_in_s
    if start_at is None and start_in is None:
        slowest_s = max(answer.answered_in_s for answer in prepared.values())
        start_in = needs_s + max(MARGIN_S, ANSWERS * slowest_s)
    if start_at is None:
        start_at = now + (start_in or 0.0)
    within_s = start_at - now - needs_s
    if within_s < LEAST_MARGIN_S:
        late_s = LEAST_MARGIN_S - within_s
        problem = f"start_at is {late_s:.3f} s too early"
        reason = f"{slowest} needs {needs_s:.3f} s to the first row, and the commit {LEAST_MARGIN_S:g} s"
        data: dict[str, Any] = {"too_late_s": late_s, "needs_s": needs_s + LEAST_MARGIN_S}
        raise RequestError("TOO_LATE", group, problem, reason, "set it later", **data)
    return Appointment(start_at, within_s)


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
