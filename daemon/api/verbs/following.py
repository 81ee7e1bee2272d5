"""Following: targets that come as the robot goes, one after another or in chunks, within its limits."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import BaseModel, Field, model_validator
from typing_extensions import TypedDict

from ...ipc.messages import MOST_ROWS as CHUNK_ROWS
from ...ipc.messages import MOST_VALUES as CHUNK_VALUES
from ...ipc.states import State
from .playing import JointPosition
from .verb import CHECKED, MOST_BYTES, Name, Request, UnixTime, Verb

FollowMode = Literal["position", "velocity", "twist"]
TwistReference = Literal["base", "tool"]
TwistComponent = Literal["vx", "vy", "vz", "wx", "wy", "wz"]
JointVelocity = Annotated[float, Field(ge=-1e6, le=1e6)]
GoalId = Annotated[str, Field(min_length=1, max_length=64)]
ChunkTime = Annotated[float, Field(ge=0, le=3600)]
SHORTEST_S = 0.999e-6
"""Between two rows of a chunk."""
MOST_JOINTS = 256


class MappedJointRequest(BaseModel):
    """Where a joint has its positions from: `sign * joint of the leader + offset`, as in a motion map."""

    model_config = CHECKED
    from_: Annotated[str, Field(alias="from", min_length=1, max_length=256)]
    sign: Literal[1, -1] = 1
    offset: Annotated[float, Field(ge=-1e6, le=1e6)] = 0.0
    unit: Literal["rad", "deg", "m", "cm", "mm", "SI"] | None = None


class StartFollowRequest(Request):
    """Follow targets as they come, within the robot's limits, until `follow/stop`.

    The values of targets are in the order of `joints`, by default all that follow no other joint. Without a
    target for `timeout_s` the robot stops softly, and that ends it; the first may take 2 s. `rate_hz` is of
    the setpoints; by default 200, or what the driver takes, if that is less.

    Of `twist`, targets are velocities of `frame`, a link, joint or frame of the robot's description, along
    the axes of its base or of the frame itself, by `reference`; components that are `free` come as they may.

    With a `leader`, another robot of the daemon, that one's measured joints are the targets. `map` has the
    joints of the follower where names differ, and `ignore` those of the leader that move none. Without a
    `follow/keep_alive` for `keep_alive_s` the robot stops softly; by default it needs none.
    """

    joints: Annotated[list[Name], Field(min_length=1, max_length=MOST_JOINTS)] | None = None
    mode: FollowMode = "position"
    timeout_s: Annotated[float, Field(ge=0.02, le=10)] = 0.2
    rate_hz: Annotated[float, Field(ge=1, le=10_000)] | None = None
    on_busy: Literal["reject", "replace"] = "reject"
    frame: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    reference: TwistReference = "base"
    free: Annotated[list[TwistComponent], Field(max_length=5)] = Field(default=[])

    leader: Name | None = None
    map: Annotated[dict[Name, MappedJointRequest], Field(max_length=MOST_JOINTS)] = Field(default={})
    ignore: (
        Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=MOST_JOINTS)]
        | Literal["others"]
    ) = Field(default=[])
    keep_alive_s: Annotated[float, Field(ge=0.1, le=60)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.mode == "twist") != (self.frame is not None):
            raise ValueError("it must have a frame where its mode is twist, and only there")
        if self.leader is None and (self.map or self.ignore):
            raise ValueError("it must have a leader where it has a map")
        if self.leader is None and self.keep_alive_s is not None:
            raise ValueError("it must have a leader where it has keep_alive_s; targets have timeout_s")
        if self.leader is not None and (self.joints is not None or self.mode != "position"):
            raise ValueError("it must have neither joints nor a mode where it has a leader")
        return self


class StartFollowAnswer(TypedDict):
    """The robot follows targets of this goal; its end comes as a result."""

    goal_id: str
    joints: list[str]
    """In the order of targets' values."""
    rate_hz: float


class TargetRequest(Request):
    """Go on to this target: positions, velocities or a twist, by what is followed.

    Values are in rad or m, or that per second; null leaves a joint's as it is. A twist is vx, vy, vz in m/s
    and wx, wy, wz in rad/s. `sent_at` is when it was sent, as Unix time in s: one that was sent before the
    last one is dropped.
    """

    goal_id: GoalId
    positions: Annotated[list[JointPosition | None], Field(min_length=1, max_length=MOST_JOINTS)] | None = (
        None
    )
    velocities: Annotated[list[JointVelocity | None], Field(min_length=1, max_length=MOST_JOINTS)] | None = (
        None
    )
    twist: Annotated[list[JointVelocity], Field(min_length=6, max_length=6)] | None = None
    sent_at: UnixTime | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(values is not None for values in (self.positions, self.velocities, self.twist)) != 1:
            raise ValueError("it must have one of positions, velocities and twist")
        return self


class ChunkRequest(Request):
    """Go through these positions; they replace what has not been played, from their begin on.

    Their times are every `period_s` from its begin on, or each of `times`, in s from its begin, ascending.
    That is `start_at`, as Unix time in s, or as soon as it comes. At most 1,000 rows and 6,000 values.
    """

    goal_id: GoalId
    positions: Annotated[
        list[Annotated[list[JointPosition], Field(min_length=1, max_length=MOST_JOINTS)]],
        Field(min_length=1, max_length=CHUNK_ROWS),
    ]
    period_s: Annotated[float, Field(ge=0.001, le=10)] | None = None
    times: Annotated[list[ChunkTime], Field(min_length=1, max_length=CHUNK_ROWS)] | None = None
    start_at: UnixTime | None = None
    sent_at: UnixTime | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        rows, times = len(self.positions), self.times
        if (self.period_s is None) == (times is None):
            raise ValueError("it must have either period_s or times")
        if times is not None and len(times) != rows:
            raise ValueError(f"it has {rows} rows and {len(times)} times; each row has one")
        if times is not None and any(after - before < SHORTEST_S for before, after in pairwise(times)):
            raise ValueError("its times must ascend, by a microsecond or more")
        if sum(map(len, self.positions)) > CHUNK_VALUES:
            raise ValueError(f"it must have at most {CHUNK_VALUES} values")
        return self


class KeepAliveRequest(Request):
    """Follow the leader for another `keep_alive_s`: who began it is still there."""

    goal_id: GoalId


Target: TypeAlias = TargetRequest | ChunkRequest
Streamed: TypeAlias = Target | KeepAliveRequest
"""What comes while a robot follows, and needs no answer."""


class TargetAnswer(TypedDict):
    """The target was passed on; what became of it is in the state."""

    goal_id: str


class KeepAliveAnswer(TypedDict):
    """The robot goes on following."""

    goal_id: str


class StopFollowRequest(Request):
    """Stop softly, and end what is followed well."""

    goal_id: GoalId | None = None


class StopFollowAnswer(TypedDict):
    """The robot is about to stop; the end of the goal comes as a result."""

    state: State
    goal_id: str
    stops_within_s: float


FOLLOWING_VERBS = (
    Verb("follow/start", StartFollowRequest, StartFollowAnswer, begins=True, interferes=True),
    Verb("follow/target", TargetRequest, TargetAnswer, begins=False, interferes=False, streams=True),
    Verb(
        "follow/chunk",
        ChunkRequest,
        TargetAnswer,
        begins=False,
        interferes=False,
        streams=True,
        most_bytes=MOST_BYTES,
        most_values=2 * (CHUNK_VALUES + CHUNK_ROWS),
    ),
    Verb(
        "follow/keep_alive", KeepAliveRequest, KeepAliveAnswer, begins=False, interferes=False, streams=True
    ),
    Verb("follow/stop", StopFollowRequest, StopFollowAnswer, begins=False, interferes=False),
)
