"""The motions that wait for the one that plays."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from .verb import Name, Request, Verb


class QueueRequest(Request):
    """List the motions that wait for the one that plays."""


class RemoveFromQueueRequest(Request):
    """Remove one motion that waits from the queue."""

    goal_id: Name


class MoveInQueueRequest(Request):
    """Let a motion that waits have another place in the queue, from 1; beyond the last it is the last."""

    goal_id: Name
    place: Annotated[int, Field(ge=1, le=1_000_000)]


class ClearQueueRequest(Request):
    """Remove all motions that wait from the queue; what plays plays on."""


class QueuedGoal(TypedDict):
    """A goal that waits."""

    goal_id: str
    motion: str


class QueueAnswer(TypedDict):
    """What waits, in its order."""

    queue: list[QueuedGoal]


class ClearQueueAnswer(TypedDict):
    """The goals that do not wait any more."""

    cleared: list[str]


QUEUE_VERBS = (
    Verb("queue", QueueRequest, QueueAnswer, begins=False, interferes=False, needs_lease=False),
    Verb("queue/remove", RemoveFromQueueRequest, QueueAnswer, begins=False, interferes=False),
    Verb("queue/move", MoveInQueueRequest, QueueAnswer, begins=False, interferes=False),
    Verb("queue/clear", ClearQueueRequest, ClearQueueAnswer, begins=False, interferes=False),
)
