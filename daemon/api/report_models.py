"""What robots report, as models, by subject; those of what lasts are `lasting_models`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from .lasting_models import Availability, Description, Lease, MotionList, Reservation, State, Told


class Spread(Told):
    """How some durations are spread, in s."""

    p50: float
    p99: float
    max: float


class Histogram(Told):
    """How often which lateness came."""

    up_to_s: list[float]
    """The bounds."""
    counts: list[int]
    """Of the ticks up to each bound and beyond the one before; at last, of those beyond all."""
    sum_s: float


class Timing(Told):
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
    lateness_histogram: Histogram


class Drift(Spread):
    """How far ticks were from their appointed times, in s; `first` and `last` have a sign."""

    first: float
    """Of the first row."""
    last: float
    """Of the last tick that counts; positive where it came late."""


class GoalTiming(Timing):
    """How the ticks of a goal were timed."""

    drift_s: Drift | None
    """By Unix time; null where no `start_at` appointed the start, or no tick counts."""


class Clock(Told):
    """How well the machine's clock is synchronised."""

    synchronised: bool
    estimated_error_s: float | None
    """Null where nobody estimates it."""
    max_error_s: float | None
    """If its source is right; null where nobody knows."""
    source: str | None
    """`chrony: ` with an address or a name, or `kernel`."""
    machine: str | None
    """The same for all robots of one machine; another after its next boot."""


class Diagnostics(Timing):
    """The timing of a second, and what the driver says of itself; arrays are by joint, null where unknown."""

    missed_deadlines_total: int
    """Since the driver was opened."""
    driver_errors: int
    """Since the driver was opened."""
    temperature_c: list[float | None]
    voltage_v: list[float | None]
    records_lost: int
    """Ticks that the daemon was too slow to read."""
    clock: Clock


class Result(Told):
    """How a goal ended."""

    goal_id: str
    motion: str
    code: Literal[
        "SUCCESSFUL",
        "INVALID_GOAL",
        "INVALID_JOINTS",
        "PATH_TOLERANCE_VIOLATED",
        "GOAL_TOLERANCE_VIOLATED",
        "CANCELED",
        "PREEMPTED",
        "ESTOP",
        "HARDWARE_FAULT",
        "COMM_LOST",
        "DEADLINE_MISSED",
    ]
    message: str
    """For people: what happened, and why."""
    transaction: str | None
    """That of the request."""
    played_s: float | None
    """Null where it had not begun."""
    details: dict[str, Any]
    """The facts behind the code: joint, value, limit, unit, time; `reached_goal`, `final_error`."""
    timing: GoalTiming | None
    """Null where it had not begun."""
    follows: Literal["queue", "hold", "release", "park"] | None
    """What the robot then does by itself."""
    sequence: int
    """Counts the results of the robot since the daemon started, from 1."""
    stamp_utc: str
    """When it was reported: ISO 8601, in UTC."""


class Event(Told):
    """Something that happened; from `marker` on only of a marker that a motion has passed."""

    kind: Literal[
        "marker",
        "warning",
        "driver",
        "fault",
        "deadline_missed",
        "suspended",
        "torque",
        "stream_lost",
        "back",
        "not_parked",
        "not_sought",
        "fault_refused",
        "queue_moved",
        "lease_lost",
        "lease_taken",
        "start_released",
        "check_failed",
        "check_passed",
        "displaced",
        "rested",
    ]
    message: str
    details: dict[str, Any] = Field(default={})
    """Of a check that fails: `check`, joint or actuator, value, limit, unit, `code` and `state`."""
    marker: str = ""
    """Its name."""
    payload: Any = None
    """What its file says there."""
    goal_id: str = ""
    loop: int = 1
    """The pass."""
    lateness_s: float = 0.0
    """From when its setpoint was due until it was written."""
    holder: str = ""
    """Who was in control."""
    taker: str | None = None
    """Who took it; null where the lease has run out."""
    start: str = ""
    """The start of a group for which the robot is not reserved any more."""


class Quantities(Told):
    """By joint, in rad or m, per second, in N·m or N; null where there is none."""

    position: list[float | None]
    velocity: list[float | None]
    effort: list[float | None]


class Telemetry(Told):
    """One sample; over a WebSocket it comes as an array of numbers (docs/http.md)."""

    stamp_s: float
    """By the machine's monotonic clock."""
    frame: float
    """Of the file."""
    reference: Quantities
    feedback: Quantities
    error: Quantities
    """Reference less feedback."""


REPORT_MODELS: dict[str, type[Told]] = {
    "availability": Availability,
    "state": State,
    "description": Description,
    "motions": MotionList,
    "lease": Lease,
    "reservation": Reservation,
    "result": Result,
    "event": Event,
    "telemetry": Telemetry,
    "diagnostics": Diagnostics,
}
"""By subject."""
