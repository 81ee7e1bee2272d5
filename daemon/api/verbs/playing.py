"""Playing motions, and going to postures."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, Self

from pydantic import BaseModel, Field, model_validator
from typing_extensions import TypedDict

from ...ipc.states import State
from ..reports import Unit
from .verb import CHECKED, MOST_BYTES, MotionName, Name, OnBusy, Request, UnixTime, Verb

JointPosition = Annotated[float, Field(ge=-1e6, le=1e6)]
JointTolerance = Annotated[float, Field(ge=-1, le=1e3)]
Speed = Annotated[float, Field(ge=0.1, le=10.0)]
BlendTime = Annotated[float, Field(ge=0, le=10)]

PlaySource = Literal["reference", "feedback"]
"""Of a recording: what was commanded, or what was measured."""
SeamPolicy = Literal["reject", "approach"]
"""What becomes of a last row from which the first cannot be reached in one tick within the limits: `reject`
such a loop, or `approach` the first row each time."""


class PlaceRequest(BaseModel):
    """A place on a motion: one of the three."""

    model_config = CHECKED
    frame: Annotated[int, Field(ge=0, le=1_000_000_000)] | None = None
    time: Annotated[float, Field(ge=0, le=1_000_000)] | None = None
    marker: Name | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if sum(value is not None for value in (self.frame, self.time, self.marker)) != 1:
            raise ValueError("it must name one of frame, time and marker")
        return self


class MotionRequest(Request):
    """Which motion to play, and how.

    `first` and `last` narrow it to a range. Of several passes, `ping_pong` plays every second one backwards;
    otherwise `seam` is what becomes of a last row from which the first cannot be reached in one tick.

    Tolerances are by joint, in rad or m; 0 stands for the configured one and -1 for none, for the time (in s)
    too, where none means to wait without end.
    """

    motion: MotionName
    speed: Speed = 1.0
    loop: Annotated[int, Field(ge=1, le=1_000_000_000)] | Literal["forever"] = 1
    ping_pong: bool = False
    first: PlaceRequest | None = None
    last: PlaceRequest | None = None
    seam: SeamPolicy = "reject"
    path_tolerance: dict[Name, JointTolerance] = Field(default={})
    goal_tolerance: dict[Name, JointTolerance] = Field(default={})
    goal_time_tolerance: Annotated[float, Field(ge=0, le=3600)] | Literal[-1] = 0.0


class PlayRequest(MotionRequest):
    """Play a motion; the answer means accepted, and the end arrives as a result.

    `motion` may also be a recording of the robot, by its name; `source` is of recordings. `start_at` is the
    Unix time, in s, at which the first row is due, no more than a day ahead. Where it is queued, the motion
    before it flows into it over `blend_s` of its time. An `additive` one is added to what plays, or is held:
    how far it is from its first row, times `weight`, which comes and goes within `ramp_s`. The other keys are
    those of `MotionRequest`.
    """

    source: PlaySource = "reference"
    additive: bool = False
    weight: Annotated[float, Field(gt=0, le=1)] = 1.0
    ramp_s: Annotated[float, Field(ge=0.1, le=60)] = 1.0
    start_at: UnixTime | None = None
    on_busy: OnBusy = "reject"
    blend_s: BlendTime = 0.0

    @model_validator(mode="after")
    def _check_blend(self) -> Self:
        if self.blend_s and self.on_busy == "blend":
            raise ValueError(
                "blend_s goes with on_busy 'queue'; 'blend' takes over at once, by a way of its own"
            )
        if self.blend_s and (self.on_busy != "queue" or self.start_at is not None):
            raise ValueError("blend_s goes with on_busy 'queue', and without start_at")
        return self

    @model_validator(mode="after")
    def _check_additive(self) -> Self:
        if not self.additive:
            if {"weight", "ramp_s"} & self.model_fields_set:
                raise ValueError("weight and ramp_s are of an additive layer; set additive, too")
        elif self.on_busy not in {"reject", "beside"} or self.start_at is not None or self.blend_s:
            raise ValueError("an additive layer begins at once; leave start_at, blend_s and on_busy out")
        return self


class StepRequest(BaseModel):
    """A motion in a sequence.

    It overlaps by `blend_s` of its time with what comes before it, its own repeats included; without, and
    where two ends differ, there is a way between them. The robot rests for `pause_s` after each time.
    """

    model_config = CHECKED
    motion: MotionName
    blend_s: BlendTime = 0.0
    pause_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    repeat: Annotated[int, Field(ge=1, le=1000)] = 1
    speed: Speed = 1.0


class SequenceRequest(Request):
    """Play several motions as one goal, with blends, ways between, pauses and repeats.

    `repeat` is of the whole, with a way from its end back to its beginning where they differ.
    """

    steps: Annotated[list[StepRequest], Field(min_length=1, max_length=100)]
    repeat: Annotated[int, Field(ge=1, le=1_000_000_000)] | Literal["forever"] = 1
    on_busy: OnBusy = "reject"


class GotoRequest(Request):
    """Go to a posture: a configured one by its name, or joint positions in rad or m.

    `from_beyond` lets joints that are far outside their limits move back, slowly; without it that is refused.
    """

    pose: Name | None = None
    joints: Annotated[dict[Name, JointPosition], Field(min_length=1)] | None = None
    from_beyond: bool = False
    on_busy: OnBusy = "reject"


class StartDistance(TypedDict):
    """The joint that has the longest way to the first row."""

    joint: str
    value: float
    unit: Unit


class GoalAnswer(TypedDict):
    """A goal was accepted; its end comes as a result. Either it begins now, or it is `queued`."""

    goal_id: str
    approach_s: NotRequired[float]
    """How long the way to its first row takes."""
    start_distance: NotRequired[StartDistance | None]
    queued: NotRequired[int]
    """Its place in the queue."""
    blend_s: NotRequired[float]
    """Over how much of its time what is before it flows into it; more than was asked for where its efforts
    allow no less."""
    warnings: NotRequired[list[str]]
    """What was found of it that does not keep it from being played; as of its result."""


class PlayingRequest(Request):
    """Change how a goal plays: that of `goal_id` alone, or the one that plays, without those beside it."""

    goal_id: Name | None = None


class PauseRequest(PlayingRequest):
    """Slow down on the path and wait there; `goal_id` as of `PlayingRequest`."""


class ResumeRequest(PlayingRequest):
    """Go on along the path; `goal_id` as of `PlayingRequest`."""


class SpeedRequest(PlayingRequest):
    """Play at another speed from now on; 1 is the file's. `goal_id` as of `PlayingRequest`."""

    speed: Speed


class SeekRequest(PlaceRequest, PlayingRequest):
    """Go to another place of the motion, by a way of its own, and play on from there if it played.

    `goal_id` as of `PlayingRequest`.
    """


class ProgressAnswer(TypedDict):
    """What the goal does now."""

    state: State
    goal_id: str


class SpeedAnswer(TypedDict):
    """At what speed a goal plays from now on."""

    speed: float
    goal_id: str


PLAYING_VERBS = (
    Verb("play", PlayRequest, GoalAnswer, begins=True, interferes=True, most_bytes=MOST_BYTES),
    Verb("sequence", SequenceRequest, GoalAnswer, begins=True, interferes=True, most_bytes=MOST_BYTES),
    Verb("goto", GotoRequest, GoalAnswer, begins=True, interferes=True, most_bytes=MOST_BYTES),
    Verb("pause", PauseRequest, ProgressAnswer, begins=False, interferes=False),
    Verb("resume", ResumeRequest, ProgressAnswer, begins=True, interferes=True),
    Verb("speed", SpeedRequest, SpeedAnswer, begins=True, interferes=True),
    Verb("seek", SeekRequest, ProgressAnswer, begins=True, interferes=True),
)
