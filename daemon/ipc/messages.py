"""The messages between the daemon and a stream process: it sends commands, the process sends notices.

Every message is a frozen dataclass whose fields are JSON-ready, or dataclasses of such, or the bytes of a
curve. Every command but `Setup`, `Heartbeat`, `Target` and `Chunk` carries a number, which ascends; a notice
of what has changed (`Changed`) carries the number of the last command that was obeyed.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

import orjson

from ..trajectory import Passes

OFF = -1.0
"""The tolerance of a joint that has none, and the time of a wait for ever."""
FURTHEST_S = 60.0
"""A chunk that begins later has a wrong time: while it waits, nobody would have to send another."""
MOST_ROWS, MOST_VALUES = 1000, 6000
"""Of a `Chunk`, which has to fit in one packet: rows, and positions in all of them."""
LINE_END = b"\n"
"""JSON has none but at its end."""
HURRY = signal.SIGUSR1
"""Beside `Shutdown`: ends a process that still opens its driver and receives no command yet."""


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """What the checks of a stream process allow; None where there is no check."""

    effort: list[float | None]  # for each joint, in N·m or N
    effort_s: float | None  # how long a joint may be beyond it
    temperature_c: float | None
    stale_s: float | None  # the greatest age of an actuator's feedback
    # how long a joint may stand still while it is more than `stall_error` from its setpoint
    stall_s: float | None
    stall_error: list[float]  # for each joint, in rad or m
    may_stall: list[bool]  # for each joint: whether that is no fault, as of a gripper that holds something


@dataclass(frozen=True, slots=True)
class WayBounds:
    """Bounds of the ways that a stream process plans itself, back to where a robot held.

    - `velocity`, `acceleration`, `jerk`: for each joint
    - `clock_acceleration`: in 1/s: how fast the clock's rate may change on such a way
    - `start_tolerance`: for each joint, in rad or m: what has moved no further has not been moved
    - `lower`, `upper`, `velocity_limit`, `acceleration_limit`: for each joint: its limits; None where there
      is none
    - `leaders`: for each joint: the number of the one that it follows; its own where it follows none
    - `multipliers`: for each joint: how far it goes, of the way of that one; 1 where it follows none
    - `turn`: for each joint: how far it goes in one turn of the one that it follows; 0 where that has an end
    """

    velocity: list[float]
    acceleration: list[float]
    jerk: list[float]
    clock_acceleration: float
    start_tolerance: list[float]
    lower: list[float | None]
    upper: list[float | None]
    velocity_limit: list[float | None]
    acceleration_limit: list[float | None]
    leaders: list[int]
    multipliers: list[float]
    turn: list[float]


@dataclass(frozen=True, slots=True)
class CollisionSetup:
    """What may be near a robot's links while it follows targets, and how near they may come.

    - `world`: the robot and what stands around it, as a document for MuJoCo, by zlib in Base64
    - `joints`: name, column, factor and offset of each joint of the document, as `daemon/physics` has them
    - `left_out`: names of links whose distance is of no interest, or which touch always
    """

    world: str
    joints: list[tuple[str, int, float, float]]
    left_out: list[tuple[str, str]]
    margin_m: float


@dataclass(frozen=True, slots=True)
class Setup:
    """The first command: everything the stream process needs to know; brings the ring's descriptor."""

    robot: str
    driver: str
    options: dict[str, Any]
    joints: list[str]
    units: list[str]
    actuators: list[str]
    transmission: dict[str, list[float]]
    idle_rate_hz: float
    max_lateness_s: float
    max_skip_s: float
    limits: CheckLimits
    ways: WayBounds
    priority: int | None
    core: int | None
    lock_memory: bool
    clock: Literal["real", "virtual"] = "real"
    # the robot stops softly when no command came for so long; None where nobody sends heartbeats
    daemon_timeout_s: float | None = None
    contact_slots: int = 0  # of a record: how many contacts it has room for
    collision: CollisionSetup | None = None  # None where nobody looks how near links come while it follows


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The daemon still serves requests; nothing is to be done."""


@dataclass(frozen=True, slots=True)
class Enable:
    """Switch torque on, holding where the joints are."""

    expires_at: float | None = None  # as of `Play`


@dataclass(frozen=True, slots=True)
class Disable:
    """Switch torque off; only at rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """Play an approach and then passes over a motion; brings the descriptors of three tracks.

    The tracks are the approach, the motion, and the way from its last row back to its first (`Route`).

    - `start`: the setpoint from which the approach was planned; refused if it is not the present one
    - `clock_acceleration`: in 1/s: how fast the clock's rate may change on the motion at that speed
    - `path_tolerance`, `goal_tolerance`: for each joint; `OFF` where there is none
    - `goal_time_s`: how long to wait for the goal tolerance; `OFF` for ever
    - `passes`: over the motion's track
    - `offset`: the row of the plan that is the first of the motion's track
    - `markers`: places that are reported as they are passed, in rows of the plan, ascending
    - `start_s`: monotonic time at which the first row is due; None for as soon as possible
    - `from_beyond`: whether joints may be far outside their limits; what was moved then goes straight on, as
      slowly
    - `expires_at`: Unix time in s after which it does not begin; None for never
    - `turned`: what is added to the rows of the motion and of the way back: whole turns of joints that turn
      without end; empty for nothing
    - `beside`: whether it plays beside what plays, on other joints
    - `weight`, `ramp_s`: of one that is added to what plays beside it: its share, and how long that takes to
      come and to go; None for one that is not added
    - `takes_over`: whether it begins from what moves, without a rest before; where that cannot be, nothing
      happens but an event. Its `start` does not count, nor do its approach and `turned` without `as_foreseen`
    - `as_foreseen`: whether it takes over where that was foreseen for it (`Foresee`), by its approach; it is
      obeyed then, or by the next command if one comes before, and does not begin
    """

    goal_id: str
    motion: str
    speed: float
    start: list[float]
    clock_acceleration: float
    path_tolerance: list[float]
    goal_tolerance: list[float]
    goal_time_s: float
    passes: Passes
    offset: int = 0
    markers: list[float] = field(default_factory=list)
    start_s: float | None = None
    from_beyond: bool = False
    expires_at: float | None = None
    turned: list[float] = field(default_factory=list)
    beside: bool = False
    weight: float | None = None
    ramp_s: float = 0.0
    takes_over: bool = False
    as_foreseen: bool = False


@dataclass(frozen=True, slots=True)
class Foresee:
    """Report where the robot will be in a time, for a goal that is to take over there (`Foreseen`)."""

    goal_id: str
    in_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Let a motion that plays flow into another; brings the descriptors of three tracks.

    The tracks are the blend, the motion, and the way from its last row back to its first. The blend begins so
    many rows before the end of the last pass that plays now as it has steps from row to row, and ends on that
    row of the next motion. It is dropped, with an event, where it comes too late.

    - `before`: the goal that plays
    - `speed_limit`: the highest rate of the clock that the blend was checked for
    - `play`: the goal that follows; its approach, `start` and `start_s` do not count
    """

    before: str
    speed_limit: float
    play: Play


@dataclass(frozen=True, slots=True)
class Unchain:
    """Let a motion end by itself instead of flowing into a goal, unless it has, or is too near its end."""

    goal_id: str


@dataclass(frozen=True, slots=True)
class Pause:
    """Slow down on the path and wait there; `goal_id` is that of what plays beside others, or None."""

    goal_id: str | None = None


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on along the path; `goal_id` as of `Pause`."""

    expires_at: float | None = None  # as of `Play`
    goal_id: str | None = None


@dataclass(frozen=True, slots=True)
class Speed:
    """Play the motion at another speed."""

    speed: float
    clock_acceleration: float  # in 1/s: how fast the clock's rate may change at that speed
    goal_id: str | None = None  # whose; what follows it keeps its own. None for whatever plays


@dataclass(frozen=True, slots=True)
class Seek:
    """Go to another row of the motion's track, from the pause; brings the descriptor of the approach."""

    goal_id: str
    row: int
    # the setpoint from which the approach was planned; refused if it is not the present one
    start: list[float]
    goes_on: bool  # play on from there; otherwise wait there
    expires_at: float | None = None  # as of `Play`
    turned: list[float] = field(default_factory=list)  # as of `Play`, from this pass on


@dataclass(frozen=True, slots=True)
class Teach:
    """Let a robot at rest be moved by hand, until `Stop`.

    - `mode`: `released` with torque off, so that it drops where nobody holds it; `gravity` with actuators
      that carry its weight
    """

    mode: Literal["released", "gravity"]
    expires_at: float | None = None  # as of `Play`


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """Follow targets, until `FollowStop` or `Stop`, or until no more of them come.

    - `joints`: the numbers of those that are moved, in the order of targets' values; the others hold
    - `rate_hz`: setpoints per second
    - `timeout_s`: without a target for so long it stops softly; counted from the end of what is to be played
    - `path_tolerance`: for each joint of the robot; `OFF` where there is none
    - `start`: the setpoint that was held when it was asked for; refused if it is not the present one
    - `catches_up`: whether it goes to its targets within the bounds of approaches, until it has reached them
    - `expires_at`: as of `Play`
    """

    goal_id: str
    joints: list[int]
    mode: Literal["position", "velocity"]
    rate_hz: float
    timeout_s: float
    path_tolerance: list[float]
    start: list[float]
    catches_up: bool = False
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Where the joints of a `Follow` are to go, or how fast, by its mode.

    Where they are to go, velocities say how fast the target itself moves on until the next one comes; without
    them it stands.

    One without either is refused and counted: it stands for one with a value that is no finite number.

    - `positions`, `velocities`: in rad or m, or that per s; None leaves a joint's target as it is
    - `sent_at`: Unix time in s; one that is older than the last is dropped. None where it is not known
    - `taken_at`: Unix time in s at which the daemon took it
    """

    goal_id: str
    positions: list[float | None] | None
    velocities: list[float | None] | None
    sent_at: float | None
    taken_at: float


@dataclass(frozen=True, slots=True)
class Chunk:
    """A curve for the joints of a `Follow`, which replaces what has not been played, from its begin on.

    It comes as it is to be played, so that no tick has to work it out. What is no curve of the followed
    joints is refused and counted, as of `Target`.

    - `begins_at`: Unix time in s, at most 60 s from now; None for now. What has passed is not played
    - `sent_at`, `taken_at`: as of `Target`
    - `clipped`: whether rows were beyond a limit, and clipped to it
    - `curve`: as of `Spline.as_bytes`, times in s from its begin; at most of `MOST_ROWS` and `MOST_VALUES`
    """

    goal_id: str
    begins_at: float | None
    sent_at: float | None
    taken_at: float
    clipped: bool = False
    curve: bytes = b""


@dataclass(frozen=True, slots=True)
class FollowStop:
    """Stop following softly, and end the goal well; nothing changes where another is followed, or none."""

    goal_id: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop softly and end all goals with `code`; or the goal of `goal_id` alone."""

    code: str = "CANCELED"
    message: str = "stopped on request, softly, on the path"
    details: dict[str, Any] = field(default_factory=dict)
    goal_id: str | None = None


@dataclass(frozen=True, slots=True)
class Estop:
    """Halt in the next tick and latch."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Leave `estopped`."""


@dataclass(frozen=True, slots=True)
class Recover:
    """Let errors of actuators go, by `Driver.reboot` or `Driver.clear`; also while the driver is not open."""

    actuators: list[str]
    by: Literal["reboot", "clear"]


@dataclass(frozen=True, slots=True)
class Inject:
    """Let a fault of simulated actuators happen (`Driver.inject`)."""

    fault: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shutdown:
    """Stop softly, hold, close the driver and exit."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The driver is open and the loop ticks."""

    max_rate_hz: float
    warnings: list[str]
    allowed: dict[str, Any]  # what the actuators allow, as `ActuatorLimits.as_lists` writes it
    bodies: list[str] = field(default_factory=list)  # what can touch, by the numbers in contacts


@dataclass(frozen=True, slots=True)
class Failed:
    """The driver could not be opened; the process exits."""

    message: str
    actuators: list[str] = field(default_factory=list)  # those that it is about, as far as that is known


@dataclass(frozen=True, slots=True)
class Lost:
    """The actuators are out of reach; the process looks for them until it is `Ready` again."""

    message: str
    actuators: list[str] = field(default_factory=list)  # those that it is about, as far as that is known


@dataclass(frozen=True, slots=True)
class Ended:
    """How a goal has ended."""

    goal_id: str
    code: str
    message: str
    played_s: float | None  # from the first row to the last setpoint; the approach does not count
    details: dict[str, Any] = field(default_factory=dict)  # what the code is about: joint, value, limit


HOLDS = "the robot holds"
DROPS = "the robot has no torque: go on holding it"
MAY_DROP = "nobody knows whether the robot holds: go on holding it"


@dataclass(frozen=True, slots=True)
class TeachingEnded:
    """Why a robot is not moved by hand any more; one for each `Teach`.

    - `code`: CANCELED where that was asked for, PATH_TOLERANCE_VIOLATED for a joint that was moved beyond a
      limit, another for a check or a failure, INVALID_GOAL for a `Teach` that was refused
    - `message`: says whether the robot holds, too
    - `holds`: whether it does as of then; False also where nobody knows
    - `details`: of a joint beyond a limit: `check`, `joint`, `value`, `limit` and `unit`
    """

    code: str
    message: str
    holds: bool
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changed:
    """What the robot does after a tick in which something has changed, or a command was obeyed."""

    state: str  # where only goals beside others play, that of the first of them
    torque: bool
    goal_id: str | None  # what plays; not one of `beside`
    reference: list[float] | None  # the setpoint that is held, per joint; None while torque is off
    waits: bool = False  # whether it stands on the first row, for the time at which that is due
    # while the robot goes back to where it held: the joint that was furthest away, and how far
    displaced: dict[str, Any] | None = None
    # for each actuator, 1 where its torque is on by what it reports, 0 where it is off; None where that
    # is not known, as before the first feedback
    found: list[float | None] = field(default_factory=list)
    # the goals that have ended in this tick, those included that were refused
    ended: list[Ended] = field(default_factory=list)
    # why the robot is not taught any more, as of this tick, or is not taught at all
    taught: list[TeachingEnded] = field(default_factory=list)
    # the state of each goal that plays beside others, by its id
    beside: dict[str, str] = field(default_factory=dict)
    # the number of the last command that was obeyed, or dropped where nothing could be moved; all before
    # it were as well. A command that changed nothing is acknowledged in the same way.
    after: int = 0
    # whether what plays is on its way from another motion onto its own rows
    blends: bool = False


@dataclass(frozen=True, slots=True)
class Foreseen:
    """Where the robot will be if nothing is asked for meanwhile.

    - `goal_id`: of the goal that is to take over there
    - `setpoints`: the last three by then, for each joint, the newest last; empty where that is not known
    - `period_s`: between these, and from the last to the first one of the goal
    - `reason`: why that is not known; '' where it is
    """

    goal_id: str
    setpoints: list[list[float]]
    period_s: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reached:
    """A marker of the motion was passed."""

    goal_id: str
    marker: int  # its number in `Play.markers`
    loop: int  # in which pass, counted from 1
    lateness_s: float  # from when it was due to when its setpoint was written


@dataclass(frozen=True, slots=True)
class Followed:
    """What has become of a `Follow`'s targets so far; once a second, and in its result's details.

    - `is_behind`: whether it has yet to reach them, within the bounds of approaches
    - `targets`: how many were taken; a chunk counts as one
    - `clipped`: how many of them were beyond a limit, and clipped to it
    - `dropped`: how many were not taken, as they were older than the last
    - `refused`: how many were not taken, as they were no targets of this follow
    - `latency_s`: `p50`, `p99` and `max` of the newest, from `sent_at`, or else `taken_at`, to the setpoint
      that was written first by it; None where there is none
    - `lag`: the newest target less what is measured, at the joint where it is greatest: `joint`, `value`,
      `unit`; None where there is no target
    - `held_by`: since the last report, what has come too near to go on: `links`, two names, and `distance_m`;
      None where nothing has
    """

    goal_id: str
    is_behind: bool
    targets: int
    clipped: int
    dropped: int
    refused: int
    latency_s: dict[str, float] | None
    lag: dict[str, Any] | None
    held_by: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a `Recover`."""

    actuators: list[str]
    by: Literal["reboot", "clear"]
    error: str  # why nothing was done; '' where it was
    still: str = ""  # what the actuators of a driver that is open report afterwards


@dataclass(frozen=True, slots=True)
class Counted:
    """How often something went wrong with each actuator (`ErrorCounts.values`); once a second if more did."""

    errors: list[list[int]]


@dataclass(frozen=True, slots=True)
class Happened:
    """Something worth an event: a fault, a missed deadline."""

    kind: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)  # the facts behind the message, JSON-ready


Command: TypeAlias = (
    Setup
    | Heartbeat
    | Enable
    | Disable
    | Play
    | Foresee
    | Chain
    | Unchain
    | Pause
    | Resume
    | Speed
    | Seek
    | Teach
    | Follow
    | Target
    | Chunk
    | FollowStop
    | Stop
    | Estop
    | Reset
    | Recover
    | Inject
    | Shutdown
)
Notice: TypeAlias = (
    Ready | Failed | Lost | Changed | Foreseen | Reached | Followed | Recovered | Counted | Happened
)
_TYPES: dict[str, type[Command | Notice]] = {kind.__name__: kind for kind in get_args(Command | Notice)}
_NESTED: dict[str, type[CheckLimits | WayBounds | CollisionSetup | Passes]] = {
    "limits": CheckLimits,
    "ways": WayBounds,
    "collision": CollisionSetup,
    "passes": Passes,
}
"""Fields that are dataclasses themselves."""


def encode(message: Command | Notice, number: int = 0) -> bytes:
    """Return a message as bytes, with its number; 0 for one that has none.

    It is one line of JSON; a curve follows after its end.
    """
    values = {entry.name: getattr(message, entry.name) for entry in fields(message)}
    curve = values.pop("curve", b"")
    line = orjson.dumps([type(message).__name__, values, number], default=str)  # options may hold paths
    return line + LINE_END + curve if curve else line


def decode(data: bytes) -> tuple[Command | Notice, int]:
    """Return the message that `encode` wrote, and its number."""
    line, _, curve = data.partition(LINE_END)
    name, values, number = orjson.loads(line)
    if curve:
        values["curve"] = curve
    nested: dict[str, Any] = {key: kind(**values[key]) for key, kind in _NESTED.items() if values.get(key)}
    if "play" in values:
        passes = Passes(**values["play"]["passes"])
        nested["play"] = Play(**(values["play"] | {"passes": passes}))
    if "ended" in values:
        nested["ended"] = [Ended(**ended) for ended in values["ended"]]
        nested["taught"] = [TeachingEnded(**ended) for ended in values["taught"]]
    return _TYPES[name](**(values | nested)), number
