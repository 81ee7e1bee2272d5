"""What each verb takes: the keys of a request's JSON object, with their types and bounds.

Beyond the bounds a number is a mistake, such as a time in milliseconds, or asks for what no machine does.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from ..trajectory.passes import Place, SeamPolicy

LATEST_UNIX_S = 1e10  # in the year 2286
# Units in which a time of our days has so many digits: the least of each.
FINER_UNITS = ((1e17, "nanoseconds"), (1e14, "microseconds"), (1e11, "milliseconds"))
LONGEST_LEASE, LONGEST_HOLDER = 100, 60
MOST_SERVOS = 253
LONGEST_START, MOST_MEMBERS = 60, 200
LONGEST_WAIT_S = 86_400.0
# A file's name has at most 255 bytes, each of which may stand as an escape of four characters.
LONGEST_MOTION, LONGEST_NAME = 1_020, 255


def _unix_time(value: float) -> float:
    """Refuse what is no Unix time in s, and say in which unit it could be one."""
    if 0.0 <= value <= LATEST_UNIX_S:
        return value
    unit = next(
        (f", and looks like {name}" for least, name in FINER_UNITS if least <= value < 1e3 * least), ""
    )
    raise ValueError(f"it must be Unix time in s, from 0 to {LATEST_UNIX_S:g}{unit}")


def _printable(name: str) -> str:
    """Refuse what would not be seen, or would change what is seen beside it, as line ends do."""
    if not name.isprintable() or name != name.strip():
        raise ValueError("it must be a name without control characters, and without blanks around it")
    return name


def _group_start(start: str) -> str:
    """Refuse what would not be seen, or could be no part of a topic."""
    if not start.isprintable() or set(start) & set("/+#"):
        raise ValueError("it must be of printable characters other than /, + and #")
    return start


def _no_robot_twice(robots: list[str]) -> list[str]:
    twice = next((robot for robot in robots if robots.count(robot) > 1), None)
    if twice is not None:
        raise ValueError(f"it must name each robot once; {twice} stands twice")
    return robots


UnixTime = Annotated[float, AfterValidator(_unix_time)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
MotionName = Annotated[str, Field(min_length=1, max_length=LONGEST_MOTION)]
JointPosition = Annotated[float, Field(ge=-1e6, le=1e6)]
JointTolerance = Annotated[float, Field(ge=-1, le=1e3)]
HolderName = Annotated[str, Field(min_length=1, max_length=LONGEST_HOLDER), AfterValidator(_printable)]
OnBusy = Literal["reject", "queue", "replace"]
GroupStart = Annotated[str, Field(min_length=1, max_length=LONGEST_START), AfterValidator(_group_start)]
RobotName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
StartToken = Annotated[str, Field(min_length=1, max_length=LONGEST_LEASE)]
StartTokens = Annotated[dict[RobotName, StartToken], Field(min_length=1, max_length=MOST_MEMBERS)]
Members = Annotated[
    list[RobotName], Field(min_length=1, max_length=MOST_MEMBERS), AfterValidator(_no_robot_twice)
]


class Request(BaseModel):
    """What every request may carry; anything unknown is refused.

    Attributes
    ----------
    transaction : str, optional
        Comes back in the response; a repeated one gets its first answer again and acts once.
    expires_at : float, optional
        Unix time in seconds after which the request is refused.
    lease : str, optional
        What was given to the client with control of the robot, where that is required.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)
    transaction: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    expires_at: UnixTime | None = None
    lease: Annotated[str, Field(min_length=1, max_length=LONGEST_LEASE)] | None = None


class PlaceRequest(BaseModel):
    """A place on a motion: one of the three."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)
    frame: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    time: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    marker: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(one is not None for one in (self.frame, self.time, self.marker)) != 1:
            raise ValueError("it must name one of frame, time and marker")
        return self

    @property
    def place(self) -> Place:
        """The place itself."""
        return Place(self.frame, self.time, self.marker)


class MotionRequest(Request):
    """Which motion to play, and how.

    `first` and `last` narrow it to a range. Of several passes, `ping_pong` plays every second one backwards;
    otherwise `seam` says what becomes of a last row from which the first cannot be reached in one tick.

    Tolerances are by joint, in rad or m; 0 stands for the configured one and -1 for none, for the time (in s)
    too, where none means to wait for ever.
    """

    motion: MotionName
    speed: Annotated[float, Field(ge=0.1, le=10.0)] = 1.0
    loop: Annotated[int, Field(ge=1, le=1_000_000_000)] | Literal["forever"] = 1
    ping_pong: bool = False
    first: PlaceRequest | None = None
    last: PlaceRequest | None = None
    seam: SeamPolicy = "reject"
    path_tolerance: dict[Name, JointTolerance] = {}
    goal_tolerance: dict[Name, JointTolerance] = {}
    goal_time_tolerance: Annotated[float, Field(ge=0, le=3600)] | Literal[-1] = 0.0


class PlayRequest(MotionRequest):
    """Play a motion; the answer means accepted, and the end arrives as a result.

    `start_at` is the Unix time, in s, at which the first row is due, no more than a day ahead. The other keys
    are those of `MotionRequest`.
    """

    start_at: UnixTime | None = None
    on_busy: OnBusy = "reject"


class GotoRequest(Request):
    """Go to a posture: a configured one by its name, or joint positions in rad or m.

    `from_beyond` lets joints that are far outside their limits move back, slowly; without it that is refused.
    """

    pose: Name | None = None
    joints: Annotated[dict[Name, JointPosition], Field(min_length=1)] | None = None
    from_beyond: bool = False
    on_busy: OnBusy = "reject"


class EnableRequest(Request):
    """Switch torque on, holding where the joints are."""


class DisableRequest(Request):
    """Switch torque off; only while no motion plays."""


class TorqueRequest(Request):
    """Switch torque on or off: `enable` and `disable` for those who have one topic for both."""

    on: bool


class PauseRequest(Request):
    """Slow down on the path and wait there."""


class ResumeRequest(Request):
    """Go on along the path."""


class SpeedRequest(Request):
    """Play at another speed from now on; 1 is the file's."""

    speed: Annotated[float, Field(ge=0.1, le=10.0)]


class SeekRequest(PlaceRequest, Request):
    """Go to another place of the motion, by a way of its own, and play on from there if it played."""


class QueueRequest(Request):
    """List the motions that wait for the one that plays."""


class RemoveFromQueueRequest(Request):
    """Take one motion that waits out of the queue."""

    goal_id: Name


class MoveInQueueRequest(Request):
    """Let a motion that waits have another place in the queue, from 1; beyond the last it is the last."""

    goal_id: Name
    place: Annotated[int, Field(ge=1, le=1_000_000)]


class ClearQueueRequest(Request):
    """Take all motions that wait out of the queue; what plays plays on."""


class StopRequest(Request):
    """Stop softly, on the path, and clear the queue; allowed at any time."""


class FaultRequest(Request):
    """Let a fault of simulated actuators happen; other keys are the driver's own (docs/faults.md)."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False, strict=True, defer_build=True)
    fault: Name
    joint: Name | None = None


class EstopRequest(Request):
    """Halt in the next tick and latch; not a safety-rated stop."""


class ResetRequest(Request):
    """Leave `estopped` or `fault`."""


class RebootServosRequest(Request):
    """Restart servos, by the names of their joints or actuators; only where the robot does not hold."""

    servos: Annotated[list[Name], Field(min_length=1, max_length=MOST_SERVOS)]


class HolderRequest(Request):
    """A request for control; `holder` is what others are told of the client."""

    holder: HolderName


class AcquireLeaseRequest(HolderRequest):
    """Get control of the robot if nobody has it; with the lease of the one who has, renew it."""


class RenewLeaseRequest(Request):
    """Keep control of the robot for as long again."""


class ReleaseLeaseRequest(Request):
    """Return control of the robot; what plays or waits plays on."""


class TakeLeaseRequest(HolderRequest):
    """Get control of the robot, whoever has it; the other loses it."""


class StatusRequest(Request):
    """Say what the robot does now."""


class DeleteMotionRequest(Request):
    """Remove a motion's file, where the configuration lets clients do so."""

    motion: MotionName


class ReloadMotionsRequest(Request):
    """Read the motion folders again."""


class PrepareRequest(MotionRequest):
    """Plan a motion from where the robot stands, and reserve the robot for a start of its group.

    `start` names that start; the reservation is let go after `expires_s` if nothing is committed till then.
    `token_sha256` is the SHA-256 digest, in hexadecimal, of a secret that the commit will show; without it
    the daemon makes one and answers it. `token` is that of the time before, where the start was prepared
    already. The other keys are those of `MotionRequest`.
    """

    start: GroupStart
    token: StartToken | None = None
    token_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    expires_s: Annotated[float, Field(ge=1, le=60)] = 10.0


class ReleaseStartRequest(Request):
    """Let the reservation for a start of a group go; `token` is the secret of `fleet/prepare`."""

    start: GroupStart
    token: StartToken


class ReleaseStartsRequest(Request):
    """Let several robots' reservations for a start go, as one message to `fleet`; `tokens` are by robot."""

    start: GroupStart
    tokens: StartTokens


class CommitRequest(Request):
    """Start the robots that are reserved for it together: one message for all of them, to `fleet`.

    The first rows are due at `start_at`, in Unix time; no robot begins its approach later than `ready_in_s`
    before. `tokens` are the secrets of `fleet/prepare`, by robot. `on_member_failure` says what the
    others do where one fails after the first row.
    """

    start: GroupStart
    robots: Members
    tokens: StartTokens
    start_at: UnixTime
    ready_in_s: Annotated[float, Field(ge=0, le=LONGEST_WAIT_S)]
    on_member_failure: Literal["stop", "continue"] = "stop"


class GroupPlayRequest(MotionRequest):
    """Play a motion at one time on all robots of a group, or on none of them.

    `motions` names those of robots that play another one. `start_at` is the Unix time, in s, at which the
    first row is due; without it, that is as soon as all can be there. `on_member_failure` says what the
    others do where one fails after the first row. The other keys are those of `MotionRequest`.
    """

    motions: Annotated[dict[RobotName, MotionName], Field(max_length=MOST_MEMBERS)] = {}
    start_at: UnixTime | None = None
    on_member_failure: Literal["stop", "continue"] = "stop"
