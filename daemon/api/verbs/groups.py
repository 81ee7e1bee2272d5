"""Starts of several robots together.

`VERBS` are requests to each robot of a start; `GROUP_VERBS` are requests to whoever coordinates a group.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from ..reports import ClockReport
from . import stopping
from .playing import MotionRequest
from .verb import LONGEST_LEASE, MOST_BYTES, Holder, MotionName, Request, UnixTime, Verb

LONGEST_START, MOST_MEMBERS = 60, 200


def _start_id(start: str) -> str:
    """Refuse what would not be seen, or could be no part of a topic."""
    if not start.isprintable() or set(start) & set("/+#"):
        raise ValueError("it must be of printable characters other than /, + and #")
    return start


def _no_robot_twice(robots: list[str]) -> list[str]:
    twice = next((robot for robot in robots if robots.count(robot) > 1), None)
    if twice is not None:
        raise ValueError(f"it must name each robot once; {twice} stands twice")
    return robots


StartId = Annotated[str, Field(min_length=1, max_length=LONGEST_START), AfterValidator(_start_id)]
RobotName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
StartToken = Annotated[str, Field(min_length=1, max_length=LONGEST_LEASE)]
Members = Annotated[
    list[RobotName], Field(min_length=1, max_length=MOST_MEMBERS), AfterValidator(_no_robot_twice)
]
OnMemberFailure = Literal["stop", "continue"]


class PrepareRequest(MotionRequest):
    """Plan a motion from where the robot stands, and reserve the robot for a start of its group.

    `start` names that start; the reservation is released after `expires_s` if nothing is committed till then.
    `token_sha256` is the SHA-256 digest, in hexadecimal, of a secret that the commit will show; without it
    the daemon makes one and answers it. `token` is that of the time before, where the start was prepared
    already. `asked_by` is who has asked the coordinator for the start, for people; it is believed. The other
    keys are those of `MotionRequest`.
    """

    start: StartId
    asked_by: Holder | None = None
    token: StartToken | None = None
    token_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    expires_s: Annotated[float, Field(ge=1, le=60)] = 10.0


class PrepareAnswer(TypedDict):
    """The robot is reserved for a start of its group."""

    start: str
    token: str | None
    """What a commit or a release of the start has to carry; null where the client has it already."""
    ready_in_s: float
    """How long before the first row the robot has to be committed, in s."""
    duration_s: float | None
    """How long its passes take, in s; null where they never end."""
    expires_at: float
    """Unix time in s at which the reservation is released if nothing is committed."""
    clock: ClockReport


class CommitRequest(Request):
    """Play what was prepared for a start of the group: its first row is due at `start_at`, in Unix time.

    `robots` names all robots of the start, this one included, and `token` is the secret of `fleet/prepare`.
    A robot that does not see all others playing 2 s after the first row stops softly. `on_member_failure`
    is what it does where another one fails after its first row.
    """

    start: StartId
    token: StartToken
    robots: Members
    start_at: UnixTime
    on_member_failure: OnMemberFailure = "stop"


class CommitAnswer(TypedDict):
    """The robot begins its approach in time, and plays its first row at `start_at`."""

    start: str
    start_at: float


class ReleaseStartRequest(Request):
    """Take the robot out of a start of its group; `token` is the secret of `fleet/prepare`."""

    start: StartId
    token: StartToken


class ReleaseStartAnswer(TypedDict):
    """The robot takes no part in the start any more."""

    start: str


GROUPS_VERBS = (
    Verb(
        "fleet/prepare",
        PrepareRequest,
        PrepareAnswer,
        begins=True,
        interferes=False,
        has_secret=True,
        most_bytes=MOST_BYTES,
    ),
    Verb("fleet/commit", CommitRequest, CommitAnswer, begins=True, interferes=False, most_bytes=MOST_BYTES),
    Verb("fleet/release", ReleaseStartRequest, ReleaseStartAnswer, begins=False, interferes=False),
)


class GroupPlayRequest(MotionRequest):
    """Play a motion at one time on all robots of a group, or on none of them.

    `motions` names those of robots that play another one. `start_at` is the Unix time, in s, at which the
    first row is due; without it, that is as soon as all can be there. `on_member_failure` is what the
    others do where one fails after the first row. The other keys are those of `MotionRequest`.
    """

    motions: Annotated[dict[RobotName, MotionName], Field(max_length=MOST_MEMBERS)] = Field(default={})
    start_at: UnixTime | None = None
    on_member_failure: OnMemberFailure = "stop"


class GroupPlayAnswer(TypedDict):
    """All robots of a group have accepted a start; the end of each comes as a result."""

    start: str
    """The start's id, which stands in `details` of the results."""
    start_at: float
    """Unix time in s of the first row."""
    robots: list[str]


class PauseGroupRequest(Request):
    """Slow all robots down on their paths, and wait there."""


class ResumeGroupRequest(Request):
    """Let all robots go on along their paths."""


class MemberAnswer(TypedDict):
    """What a robot has answered; `data` where it has accepted the command, else `code` and `error`."""

    robot: str
    ok: bool
    data: NotRequired[dict[str, Any] | None]
    code: NotRequired[str]
    error: NotRequired[str]


class GroupAnswer(TypedDict):
    """What all robots of a group have answered."""

    robots: list[MemberAnswer]


GROUP_VERBS = {
    "play": Verb(
        "play", GroupPlayRequest, GroupPlayAnswer, begins=True, interferes=False, most_bytes=MOST_BYTES
    ),
    "stop": Verb("stop", stopping.StopRequest, GroupAnswer, begins=False, interferes=False, stops=True),
    "estop": Verb("estop", stopping.EstopRequest, GroupAnswer, begins=False, interferes=False, stops=True),
    "pause": Verb("pause", PauseGroupRequest, GroupAnswer, begins=False, interferes=False),
    "resume": Verb("resume", ResumeGroupRequest, GroupAnswer, begins=True, interferes=False),
}
"""What a group of robots can be asked for by HTTP."""
