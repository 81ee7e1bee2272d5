"""How the motions of a robot have ended."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from ..reports import PeakEffort, WorstError
from .verb import Request, Verb

LARGEST_ID = 2**53  # that JSON holds everywhere


class HistoryRequest(Request):
    """List the last results of the robot, newest first, those before the daemon's start too."""

    limit: Annotated[int, Field(ge=1, le=1000)] = 50
    before: Annotated[int, Field(ge=0, le=LARGEST_ID)] | None = None
    """The `id` of a result: list what came before it."""


class PastResult(TypedDict):
    """How a goal ended."""

    id: int
    """Grows with each result."""
    ended_utc: str
    """ISO 8601, in UTC."""
    goal_id: str
    motion: str
    code: str
    message: str
    """At most 2,000 characters of it."""
    asked_by: str | None
    played_s: float | None
    worst_error: WorstError | None
    peak_effort: PeakEffort | None
    missed_deadlines: int | None
    """Null where it had not begun."""
    recording: str | None
    """The recording in which it is; null where it was not recorded."""
    details: dict[str, Any] | None
    """Null where they are longer than 4 kB."""


class HistoryAnswer(TypedDict):
    """The last results of a robot."""

    results: list[PastResult]
    more: bool
    """Whether there are older ones."""
    problem: str | None
    """Why results may be missing, as where the file of them is damaged."""


HISTORY_VERBS = (
    Verb("history", HistoryRequest, HistoryAnswer, begins=False, interferes=False, needs_lease=False),
)
