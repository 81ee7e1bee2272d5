"""Every verb, declared once: what a request holds, what its answer holds, and who acts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import actuators, control, groups, looking, playing, queue, stopping
from .actuators import (
    FaultAnswer,
    FaultRequest,
    RebootAnswer,
    RebootServosRequest,
    TorqueAnswer,
    TorqueRequest,
)
from .control import (
    AcquireLeaseRequest,
    HolderRequest,
    LeaseAnswer,
    ReleaseLeaseRequest,
    RenewLeaseRequest,
    TakeLeaseRequest,
)
from .groups import (
    FLEET_VERBS,
    GROUP_VERBS,
    MOST_MEMBERS,
    CommitAnswer,
    CommitRequest,
    GroupAnswer,
    GroupPlayAnswer,
    GroupPlayRequest,
    MemberAnswer,
    PrepareAnswer,
    PrepareRequest,
    ReleaseStartAnswer,
    ReleaseStartRequest,
    ReleaseStartsRequest,
)
from .looking import DeletedAnswer, DeleteMotionRequest, StatusRequest
from .playing import (
    GoalAnswer,
    GotoRequest,
    MotionRequest,
    Place,
    PlaceRequest,
    PlayRequest,
    ProgressAnswer,
    SeamPolicy,
    SeekRequest,
    SpeedAnswer,
    SpeedRequest,
)
from .queue import ClearQueueAnswer, MoveInQueueRequest, QueueAnswer, QueuedGoal, RemoveFromQueueRequest
from .stopping import EstopAnswer, EstopRequest, ReachedAnswer, ResetAnswer, StopAnswer, StopRequest
from .verb import MOST_BYTES, Answer, Refusal, Request, Verb, first_line

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "FLEET",
    "FLEET_VERBS",
    "GROUP_VERBS",
    "MOST_BYTES",
    "MOST_MEMBERS",
    "STOPS",
    "VERBS",
    "AcquireLeaseRequest",
    "Answer",
    "ClearQueueAnswer",
    "CommitAnswer",
    "CommitRequest",
    "DeleteMotionRequest",
    "DeletedAnswer",
    "EstopAnswer",
    "EstopRequest",
    "FaultAnswer",
    "FaultRequest",
    "GoalAnswer",
    "GotoRequest",
    "GroupAnswer",
    "GroupPlayAnswer",
    "GroupPlayRequest",
    "HolderRequest",
    "LeaseAnswer",
    "MemberAnswer",
    "MotionRequest",
    "MoveInQueueRequest",
    "Place",
    "PlaceRequest",
    "PlayRequest",
    "PrepareAnswer",
    "PrepareRequest",
    "ProgressAnswer",
    "QueueAnswer",
    "QueuedGoal",
    "ReachedAnswer",
    "RebootAnswer",
    "RebootServosRequest",
    "Refusal",
    "ReleaseLeaseRequest",
    "ReleaseStartAnswer",
    "ReleaseStartRequest",
    "ReleaseStartsRequest",
    "RemoveFromQueueRequest",
    "RenewLeaseRequest",
    "Request",
    "ResetAnswer",
    "SeamPolicy",
    "SeekRequest",
    "SpeedAnswer",
    "SpeedRequest",
    "StatusRequest",
    "StopAnswer",
    "StopRequest",
    "TakeLeaseRequest",
    "TorqueAnswer",
    "TorqueRequest",
    "Verb",
    "first_line",
]

VERBS: Mapping[str, Verb] = {
    verb.name: verb
    for subject in (playing, actuators, queue, stopping, control, looking, groups)
    for verb in subject.VERBS
}
STOPS = frozenset(name for name, verb in VERBS.items() if verb.stops)
FLEET = "fleet"
"""Stands where a robot's name does in requests to all robots that they name."""
