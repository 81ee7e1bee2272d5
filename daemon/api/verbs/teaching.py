"""Teaching: a robot is moved by hand, and what was moved or which poses were kept becomes a motion."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from typing_extensions import TypedDict

from ...ipc.states import State
from ..reports import Unit
from .verb import Request, Verb

LONGEST_POSE = 60
LONGEST_STEM = 90


def _printable(name: str) -> str:
    """Refuse what would not be seen, or would change what is seen beside it, as line ends do."""
    if not name.isprintable() or name != name.strip():
        raise ValueError("it must be a name without control characters, and without blanks around it")
    return name


PoseName = Annotated[str, Field(min_length=1, max_length=LONGEST_POSE), AfterValidator(_printable)]
TrailTime = Annotated[float, Field(ge=0, le=3600)]
TeachMode = Literal["released", "gravity"]


MotionName = Annotated[str, Field(min_length=1, max_length=LONGEST_STEM)]


class StartTeachingRequest(Request):
    """Let the robot be moved by hand, and record that; it may drop.

    `released` switches torque off; with `gravity`, actuators that can carry the robot's weight alone. What
    was taught before is forgotten once it begins. With the `name` of the motion that is to come of it,
    nothing begins where `teach/save` would refuse that.
    """

    mode: TeachMode = "released"
    name: MotionName | None = None
    replace: bool = False


class StartTeachingAnswer(TypedDict):
    """The robot can be moved by hand."""

    state: State
    mode: TeachMode


class KeepPoseRequest(Request):
    """Keep where the robot is now as a pose; without a name as pose_1, pose_2, and so on."""

    name: PoseName | None = None


class KeepPoseAnswer(TypedDict):
    """The pose was kept."""

    name: str
    joints: dict[str, float]
    """In rad or m."""
    poses: int
    """How many are kept by now."""


class StopTeachingRequest(Request):
    """Take hold where the robot is, and keep what was moved until the next `teach/start`."""


class StopTeachingAnswer(TypedDict):
    """The robot is not moved by hand any more; where that has ended by itself, what has been since then."""

    state: State
    duration_s: float
    """Of what was recorded."""
    rows: int
    """Ticks that were recorded."""
    poses: int
    ended_because: str
    """With whether it held then."""
    holds: bool
    """Whether the robot holds now; where not, it drops once it is let go."""
    problems: list[str]
    """Why no motion can be made of it, and what is missing."""


class SaveTaughtRequest(Request):
    """Make a motion of what was taught, and save it under a name; as often as wanted.

    `movement` is what was moved, from `first_s` to `last_s`, or its beginning and its end; with `trim`,
    without the time at both ends in which nothing moves. It is smoothed, and nowhere further from what was
    recorded than `smooth_rad`, or `smooth_m` of joints that slide. `poses` goes from pose to pose at a share
    `speed` of the limits. `rate_hz` is that of the motion's rows. With `dry`, nothing is saved.
    """

    name: MotionName
    from_: Annotated[Literal["movement", "poses"], Field(alias="from")] = "movement"
    first_s: TrailTime | None = None
    last_s: TrailTime | None = None
    trim: bool = True
    smooth_rad: Annotated[float, Field(ge=1e-6, le=1)] = 0.005
    smooth_m: Annotated[float, Field(ge=1e-7, le=1)] = 0.0005
    rate_hz: Annotated[float, Field(ge=1, le=1000)] | None = None
    at_poses: Literal["rest", "through"] = "rest"
    speed: Annotated[float, Field(ge=0.01, le=1)] = 0.5
    replace: bool = False
    """Whether the motion of this name may be replaced that was saved before."""
    dry: bool = False


class TaughtPeak(TypedDict):
    """What a joint does at most by the motion's own time, in rad or m, per second."""

    joint: str
    unit: Unit
    lowest: float
    highest: float
    velocity: float
    acceleration: float


class SaveTaughtAnswer(TypedDict):
    """What a motion that was taught is like."""

    motion: str
    file: str
    duration_s: float
    rows: int
    deviation: dict[str, float]
    """By joint: how far it is from what was recorded at most, in rad or m; of a pose, from the pose."""
    peaks: list[TaughtPeak]
    problems: list[str]
    """Why it cannot be played, and what was changed so that it can."""
    saved: bool


TEACHING_VERBS = (
    Verb("teach/start", StartTeachingRequest, StartTeachingAnswer, begins=True, interferes=True),
    Verb("teach/pose", KeepPoseRequest, KeepPoseAnswer, begins=False, interferes=False),
    Verb("teach/stop", StopTeachingRequest, StopTeachingAnswer, begins=False, interferes=False),
    Verb("teach/save", SaveTaughtRequest, SaveTaughtAnswer, begins=False, interferes=False),
)
