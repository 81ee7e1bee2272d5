"""What robots report: one declaration for each subject, of which documents and the page's types are made.

Reports are built as these dictionaries, whose keys mypy checks; nothing checks them again when they are sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeAlias

from typing_extensions import TypedDict

from ..ipc.states import ResultCode, State

if TYPE_CHECKING:
    from collections.abc import Mapping

    from motiond.formats.arrays import Floats

    Numbers: TypeAlias = list[float | None] | list[float] | Floats
else:
    Numbers = list[float | None]

Unit = Literal["rad", "m"]
EffortUnit = Literal["N·m", "N"]


class AvailabilityReport(TypedDict):
    """Whether a robot takes requests."""

    state: Literal["online", "offline"]


class Displacement(TypedDict):
    """The joint that was moved furthest from where it was held."""

    joint: str
    value: float
    """How far, in its unit."""
    unit: Unit


class StepReport(TypedDict):
    """Which step of a sequence plays."""

    step: int
    """Its number in the request, from 0."""
    motion: str
    time: int
    """For which time, from 1."""


class Spread(TypedDict):
    """How some durations are spread, in s."""

    p50: float
    p99: float
    max: float


class FollowLag(TypedDict):
    """The joint whose newest target is furthest from what is measured."""

    joint: str
    value: float
    """Target less measured, in its unit, or that per second."""
    unit: str


class FollowHeldBy(TypedDict):
    """What was too near for joints to go on to their targets."""

    links: list[str]
    """The names of two: links, or a link and what stands around."""
    distance_m: float
    """How near they are, or would have come."""


class FollowCounts(TypedDict):
    """What has become of the targets of a follow."""

    targets: int
    """How many were taken; a chunk counts as one."""
    clipped: int
    """How many of them were beyond a limit, and clipped to it."""
    dropped: int
    """How many were not taken, as a newer one had come."""
    refused: int
    """How many were not taken, as they were no targets of it."""
    latency_s: Spread | None
    """From when a target was sent, or else taken, to the first setpoint by it; null before the first."""
    lag: FollowLag | None
    """Null before the first target."""
    held_by: FollowHeldBy | None
    """In the last second; null where nothing was in the way, or where `collision` is not configured."""


class FollowStatus(FollowCounts):
    """What a robot does that follows targets; renewed once a second."""

    joints: list[str]
    """In the order of targets' values."""
    mode: Literal["position", "velocity", "twist"]
    frame: str | None
    """Of twists: what is moved."""
    slowed_by: str | None
    """Of twists: the joint that slows the frame down or stops it, by its limits; or `singularity`."""
    leader: str | None
    """The robot whose joints are the targets."""
    has_reached_leader: bool
    """Whether it is where its leader is, after the slow way to there at the beginning."""
    targets_hz: float
    """How many targets came in the last second."""


class PlayingGoal(TypedDict):
    """One of the goals that play."""

    goal_id: str
    motion: str
    joints: list[str]
    """Those that it moves."""
    state: State
    speed: float | None
    """Of a motion, as it was asked for last; 1 is the file's."""
    beside: bool
    """Whether it plays beside others, on joints of its own, or is added to them."""
    additive: bool
    """Whether it is added to what plays, or is held."""
    weight: float | None
    """Of what is added; null for all else."""


class RobotStatus(TypedDict):
    """What a robot does now; from `frame` on only with a motion, and `follow` only while it follows."""

    state: State
    torque: bool
    """Whether any actuator holds by what it reports, whoever has switched it on; where it reports nothing, by
    what motiond has asked of it."""
    loose: list[str]
    """The actuators that do not hold while others do."""
    estop_latched: bool
    message: str
    """Why it is offline or in fault, or which check fails."""
    failed: list[str]
    """The joints whose actuators it is offline or in fault for, as far as its driver names them."""
    displaced: Displacement | None
    """While it goes back to where it held, as something has moved it: what was moved furthest."""
    motion: str | None
    goal_id: str | None
    queued: int
    """How many motions wait."""
    goals: list[PlayingGoal]
    """All that plays, what plays beside others last; the keys about a motion are of one that does not."""
    frame: NotRequired[float]
    """Of the file."""
    time: NotRequired[float]
    """In s, at speed 1."""
    duration: NotRequired[float]
    """In s, at speed 1."""
    progress: NotRequired[float]
    """Of the pass, 0 to 1."""
    speed: NotRequired[float]
    loop: NotRequired[int]
    """The pass that plays."""
    loops: NotRequired[int | None]
    """How many there are; null: without end."""
    start_at: NotRequired[float | None]
    """Unix time in s at which the first row is due; null where it was not appointed."""
    step: NotRequired[StepReport]
    """Of a sequence."""
    follow: NotRequired[FollowStatus]


class StateReport(RobotStatus):
    """What a robot does, as it is reported."""

    sequence: int
    """Counts the states that the robot has reported since the daemon started, from 1."""
    stamp_utc: str
    """When it was reported: ISO 8601, in UTC."""


class DescribedJoint(TypedDict):
    """A joint and its limits, in rad or m; null where there is none."""

    name: str
    unit: Unit
    continuous: bool
    """Whether it turns without end, so that whole turns more or less are the same posture."""
    lower: float | None
    upper: float | None
    velocity: float | None
    acceleration: float | None
    effort: float | None
    continuous_effort: float | None
    limited_by: dict[str, str]
    """Where the limits come from that an actuator sets, by `lower`, `upper`, `velocity`, …"""


class Rates(TypedDict):
    """Ticks per second."""

    idle_hz: float
    max_hz: float | None
    """The highest rate at which the driver takes setpoints; null until it is open."""


class DescribedTolerances(TypedDict):
    """How far each joint may be from its setpoints, in its unit; null where nothing is checked."""

    path: dict[str, float | None]
    goal: dict[str, float | None]


class DescriptionReport(TypedDict):
    """What a robot is."""

    joints: list[DescribedJoint]
    actuators: list[str]
    model: str | None
    """The name of its description; null where the configuration lists joints alone."""
    driver: str
    poses: dict[str, dict[str, float]]
    """Joint positions by the names of poses, in rad or m."""
    groups: list[str]
    """Those that it can be started together with."""
    tolerances: DescribedTolerances
    hottest_c: float | None
    """The temperature beyond which a motion is stopped, in °C; null where none is checked."""
    upload: bool
    """Whether motions may be uploaded and deleted."""
    motion_suffixes: list[str]
    """What the names of motion files end in."""
    formats: dict[str, list[str]]
    rates: Rates
    version: str
    bodies: NotRequired[list[str]]
    """What it can touch and be touched with, where its driver knows contacts and was opened: links, `floor`,
    bodies of the scene."""


class ListedMarker(TypedDict):
    """A named place on a motion."""

    name: str
    frame: float
    time: float


class JointEffort(TypedDict):
    """What a motion asks of the actuator of a joint, in N·m or N; `null` where there is no limit."""

    joint: str
    unit: str
    peak: float
    """Without sign."""
    time: float
    """Of the peak, in s."""
    limit: float | None
    rms: float
    """The root mean square of the whole motion."""
    continuous: float | None
    """What the actuator bears for any time, as the root mean square."""


class MotionEffort(TypedDict):
    """What a motion asks of actuators."""

    joints: list[JointEffort]


class NearestLinks(TypedDict):
    """Where on a motion two links, or a link and a shape of the workspace, are nearest to each other."""

    links: list[str]
    distance_m: float
    """Negative where they are in each other."""
    time: float
    """In s."""
    points: list[list[float]]
    """Of each the place nearest to the other, in m, in the frame of the description."""
    margin_m: float
    """What counts as a collision (`collision.margin_m`)."""
    posture: list[float]
    """Where all joints are then, in rad or m; those that it does not move where the description begins."""


class ListedMotion(TypedDict):
    """A motion; `max_speed` where it can be played, else `reason`."""

    name: str
    file: str
    ok: bool
    duration: float
    """In s."""
    frame_rate: float
    frames: int
    joints: list[str]
    holds: list[str]
    """The joints that it leaves where they are."""
    markers: list[ListedMarker]
    warnings: list[str]
    max_speed: NotRequired[float]
    effort: NotRequired[MotionEffort]
    """Where the configuration asks for it (`effort`)."""
    nearest: NotRequired[NearestLinks]
    """Where the configuration asks for it (`collision`)."""
    uploaded: NotRequired[bool]
    """Whether it lies in the folder for uploads, so that it may be deleted."""
    reason: NotRequired[str]


class MotionsReport(TypedDict):
    """The motions of a robot."""

    motions: list[ListedMotion]
    more: NotRequired[int]
    """How many are not listed; they can be played, too."""
    problems: NotRequired[list[str]]
    """Folders and files that could not be read the last time; what they held before stays."""


class LeaseReport(TypedDict):
    """Who is in control of a robot."""

    required: bool
    """Whether only who is in control may command it."""
    holder: str | None
    """Who is in control; null: no client."""
    epoch: int | None
    """Grows with each holder; null where no lease is required."""
    expires_at: float | None
    """Unix time in s at which control is lost if it is not renewed; renewals are not all reported."""
    ttl_s: float
    """How long a lease lasts without being renewed."""
    takeover: bool
    """Whether another client may take it."""


ReservationPhase = Literal["reserved", "committed", "ready", "playing", "ended", "released"]


class ReservationReport(TypedDict):
    """How far a robot is with a start of its group; all null before the first."""

    start: str | None
    """The start's id."""
    phase: ReservationPhase | None
    """`ready`: on the first row, for its time; `ended`: the motion ended well; `released`: it did not."""
    start_at: float | None
    """Unix time in s at which the first row is due; null until that is committed."""
    reason: str | None
    """Why it was released."""
    expires_at: float | None
    """Unix time in s at which it is released if nothing is committed; null from then on."""


class KeptPose(TypedDict):
    """A pose that was kept while the robot was taught; joints in rad or m."""

    name: str
    joints: dict[str, float]


class DraftReport(TypedDict):
    """What was taught last; it is kept until the robot is taught again, or the daemon ends."""

    duration_s: float
    rows: int
    """Ticks that were recorded."""
    poses: int


class TeachingReport(TypedDict):
    """What a robot is being taught by hand, and what it was taught last."""

    mode: Literal["released", "gravity"] | None
    """Null while nobody moves it by hand."""
    since_utc: str | None
    """When that began: ISO 8601, in UTC."""
    duration_s: float
    """Since then."""
    poses: list[KeptPose]
    draft: DraftReport | None
    """Null before the first time, and while the robot is taught."""
    message: str
    """Why it is not taught any more, and whether the robot holds."""
    holds: bool | None
    """Whether it held when that ended; false also where nobody knows. Null before, and while it is taught."""


class LatenessHistogram(TypedDict):
    """How often which lateness came."""

    up_to_s: list[float]
    """The bounds."""
    counts: list[int]
    """Of the ticks up to each bound and beyond the one before; at last, of those beyond all."""
    sum_s: float


class TickTiming(TypedDict):
    """How ticks were timed."""

    ticks: int
    tick_rate_hz: float
    lateness_s: Spread
    jitter_s: Spread
    """By how much the time between two ticks differed from the period."""
    write_s: Spread
    """Spent in the driver."""
    read_s: Spread
    """Spent in the driver."""
    missed_deadlines: int
    skipped_rows: int
    lateness_histogram: LatenessHistogram


class GoalDrift(Spread):
    """How far ticks were from their appointed times, in s; `first` and `last` have a sign."""

    first: float
    """Of the first row."""
    last: float
    """Of the last tick that counts; positive where it came late."""


class GoalTiming(TickTiming):
    """How the ticks of a goal were timed."""

    drift_s: GoalDrift | None
    """By Unix time; null where no `start_at` appointed the start, or no tick counts."""


class ClockReport(TypedDict):
    """How well the machine's clock is synchronised."""

    synchronised: bool
    estimated_error_s: float | None
    """Null where nothing estimates it."""
    max_error_s: float | None
    """If its source is right; null where it is not known."""
    source: str | None
    """`chrony: ` with an address or a name, or `kernel`."""
    machine: str | None
    """The same for all robots of one machine; another after its next boot."""


class ServoErrors(TypedDict):
    """What went wrong with each joint's actuator since the daemon's start, as far as its driver counts it."""

    missed: list[int]
    """Questions without a sound answer in time."""
    damaged: list[int]
    """Answers with a wrong checksum or length, which are missed as well."""
    reported: list[int]
    """Errors that it has reported of itself."""
    restarts: list[int]
    """How often it has restarted by itself."""


class DiagnosticsReport(TickTiming):
    """The timing of a second, and what the driver reports; arrays are by joint, null where unknown."""

    missed_deadlines_total: int
    """Since the driver was opened."""
    driver_errors: int
    """Since the driver was opened."""
    temperature_c: Numbers
    voltage_v: Numbers
    records_lost: int
    """Ticks that the daemon was too slow to read."""
    clock: ClockReport
    errors: ServoErrors


Follows = Literal["queue", "hold", "release", "park"]


class WorstError(TypedDict):
    """The joint that was furthest from its setpoint."""

    joint: str
    value: float
    """How far, in its unit."""
    unit: Unit


class PeakEffort(TypedDict):
    """The joint that worked hardest for what it may."""

    joint: str
    value: float
    """Its largest effort, without sign, in its unit."""
    unit: EffortUnit


class GoalResult(TypedDict):
    """How a goal ended."""

    goal_id: str
    motion: str
    code: ResultCode
    message: str
    """For people: what happened, and why."""
    transaction: str | None
    """That of the request."""
    asked_by: str | None
    """Who asked for it, for people; null where that is not known."""
    played_s: float | None
    """Null where it had not begun."""
    details: dict[str, Any]
    """The facts behind the code: joint, value, limit, unit, time; `reached_goal`, `final_error`."""
    warnings: list[str]
    """What was found of it as it began, and what was changed so that it could be played."""
    beside: bool
    """Whether it played beside others, or was added to them."""
    timing: GoalTiming | None
    """Null where it had not begun."""
    worst_error: WorstError | None
    """On the motion, ways towards it apart; null where it was not on it, or no feedback came."""
    peak_effort: PeakEffort | None
    """Likewise; by share of the joint's limit, of joints that have one if there are any."""
    recording: str | None
    """The recording in which it is; null where it was not recorded."""
    follows: Follows | None
    """What the robot then does by itself."""


class ResultReport(GoalResult):
    """How a goal ended, as it is reported."""

    sequence: int
    """Counts the results of the robot since the daemon started, from 1."""
    stamp_utc: str
    """When it was reported: ISO 8601, in UTC."""


EventKind = Literal[
    "marker",
    "warning",
    "driver",
    "fault",
    "deadline_missed",
    "suspended",
    "torque",
    "stream_lost",
    "servo_errors",
    "back",
    "not_parked",
    "not_sought",
    "fault_refused",
    "queue_moved",
    "blend_dropped",
    "lease_lost",
    "lease_taken",
    "start_released",
    "check_failed",
    "check_passed",
    "displaced",
    "rested",
    "teaching",
    "recording",
    "follow_timeout",
    "leader_lost",
]


class EventReport(TypedDict):
    """Something that happened; from `marker` on only of a marker that a motion has passed."""

    kind: EventKind
    message: str
    details: NotRequired[dict[str, Any]]
    """Of a check that fails: `check`, joint or actuator, value, limit, unit, `code` and `state`."""
    marker: NotRequired[str]
    """Its name."""
    payload: NotRequired[Any]
    """What its file has there."""
    goal_id: NotRequired[str]
    loop: NotRequired[int]
    """The pass."""
    lateness_s: NotRequired[float]
    """From when its setpoint was due until it was written."""
    holder: NotRequired[str]
    """Who was in control."""
    taker: NotRequired[str | None]
    """Who took it; null where the lease has run out."""
    start: NotRequired[str]
    """The start of a group for which the robot is not reserved any more."""


class Quantities(TypedDict):
    """By joint, in rad or m, per second, in N·m or N; null where there is none."""

    position: Numbers
    velocity: Numbers
    effort: Numbers


class ContactReport(TypedDict):
    """What touches in a simulation, when it did so with the largest force; in the world's frame."""

    bodies: list[str]
    """The two that touch: links, `floor`, bodies of the scene."""
    position: list[float]
    """Where: x, y, z in m; of several points, their centre by force."""
    force: list[float]
    """That of the first on the second: x, y, z in N."""


class TelemetryReport(TypedDict):
    """One sample; over a WebSocket it comes as an array of numbers (docs/http.md)."""

    stamp_s: float
    """By the machine's monotonic clock."""
    frame: float
    """Of the file."""
    reference: Quantities
    feedback: Quantities
    error: Quantities
    """Reference less feedback."""
    contacts: NotRequired[list[ContactReport]]
    """What has touched since the sample before; only of a robot whose driver knows it."""


Why = Literal["request", "motion", "always", "teaching"]
"""What asked for a recording."""


class RecordingReport(TypedDict):
    """What is recorded now; the numbers are those of the file that is written."""

    recording: bool
    file: str | None
    """Its name, in the folder for recordings."""
    why: Why | None
    since_utc: str | None
    """When the file began: ISO 8601, in UTC."""
    ticks: int
    gaps: int
    """How many times ticks are missing between two that are there."""
    bytes: int
    problem: str | None
    """Why the last recording could not go on; null once one goes on again."""


Subject = Literal[
    "availability",
    "state",
    "description",
    "motions",
    "lease",
    "reservation",
    "teaching",
    "result",
    "event",
    "telemetry",
    "diagnostics",
    "recording",
    "samples",  # telemetry at the pace of pages, whatever that of `telemetry` is
]
REPORTS: Mapping[Subject, type] = {
    "availability": AvailabilityReport,
    "state": StateReport,
    "description": DescriptionReport,
    "motions": MotionsReport,
    "lease": LeaseReport,
    "reservation": ReservationReport,
    "teaching": TeachingReport,
    "result": ResultReport,
    "event": EventReport,
    "telemetry": TelemetryReport,
    "diagnostics": DiagnosticsReport,
    "recording": RecordingReport,
}
"""The dictionary of each subject of a robot's reports, over every transport."""
SUBJECTS: frozenset[Subject] = frozenset(REPORTS)
STREAMED: frozenset[Subject] = frozenset({"telemetry", "diagnostics"})
"""Of these only the moment matters: a listener that is too slow misses the oldest."""
RETAINED: frozenset[Subject] = SUBJECTS - STREAMED - {"result", "event"}
"""Of these the last report lasts: listeners that come later get it."""
