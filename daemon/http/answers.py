"""What is answered over HTTP alone, as models for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from ..api.lasting_models import Availability, MotionList, State, Told


class ListedRobot(Told):
    """A robot; null where nothing was reported yet."""

    name: str
    availability: Availability | None
    state: State | None


class RobotList(Told):
    """All robots of a daemon."""

    id: str
    """The daemon's own name."""
    robots: list[ListedRobot]
    stale: bool
    """Whether this is what was known last, as the server has lost the broker by which it hears of them."""


class UploadAnswer(Told):
    """A file was checked and kept."""

    status: Literal["ok"]
    data: MotionList
    transaction: str | None


class FleetRobot(Told):
    """A robot that the broker knows; null where it has told nothing."""

    robot: str
    groups: list[str]
    online: bool
    absence: str
    """Why it takes no requests; empty where it takes them."""
    state: str | None
    motion: str | None
    """What it plays."""
    daemon: str | None
    """The id of the daemon that tells of it."""
    host: str | None
    """The machine of that daemon."""
    told_utc: str | None
    """When it told its state last: ISO 8601, in UTC."""
    clock: dict[str, Any] | None
    """How good its clock is."""


class FleetList(Told):
    """All robots that the broker knows."""

    robots: list[FleetRobot]
    more: int
    """How many are not listed."""


class GroupStarted(Told):
    """All robots of a group have accepted a start; the end of each comes as a result."""

    start: str
    """The start's id, which stands in `details` of the results."""
    start_at: float
    """Unix time in s of the first row."""
    robots: list[str]


class MemberAnswer(Told):
    """What a robot has answered; `data` where it has taken the command, else `code` and `error`."""

    robot: str
    ok: bool
    data: dict[str, Any] | None = None
    code: str = ""
    error: str = ""


class GroupAnswers(Told):
    """What all robots of a group have answered."""

    robots: list[MemberAnswer]


class GroupStartedAnswer(Told):
    """A group starts."""

    status: Literal["ok"]
    data: GroupStarted
    transaction: str | None


class GroupAnswer(Told):
    """All robots of a group have taken a command."""

    status: Literal["ok"]
    data: GroupAnswers
    transaction: str | None
