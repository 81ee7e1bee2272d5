"""What robots report and what lasts, as models: of them the OpenAPI and AsyncAPI documents are made.

They are for readers and for tests, which hold every message to them. What is reported is not checked again.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

StateName = Literal[
    "offline", "idle", "approaching", "playing", "pausing", "paused", "stopping", "estopped", "fault"
]


class Told(BaseModel):
    """Something that is reported or answered; where later versions tell more, nothing that is here goes."""


class Availability(Told):
    """Whether a robot takes requests."""

    state: Literal["online", "offline"]


class Displaced(Told):
    """The joint that was moved furthest from where it was held."""

    joint: str
    value: float
    """How far, in its unit."""
    unit: Literal["rad", "m"]


class Status(Told):
    """What a robot does now; from `frame` on only with a goal."""

    state: StateName
    torque: bool
    """Whether any actuator holds by what it reports, whoever has switched it on; where it reports nothing, by
    what motiond has asked of it."""
    loose: list[str] = []
    """The actuators that do not hold while others do."""
    estop_latched: bool
    message: str
    """Why it is offline or in fault, or which check fails."""
    displaced: Displaced | None = None
    """While it goes back to where it held, as something has moved it: what was moved furthest."""
    motion: str | None
    goal_id: str | None
    queued: int
    """How many motions wait."""
    frame: float = 0.0
    """Of the file."""
    time: float = 0.0
    """In s, at speed 1."""
    duration: float = 0.0
    """In s, at speed 1."""
    progress: float = 0.0
    """Of the pass, 0 to 1."""
    speed: float = 1.0
    loop: int = 1
    """The pass that plays."""
    loops: int | None = None
    """How many there are; null: for ever."""
    start_at: float | None = None
    """Unix time in s at which the first row is due; null where it was not appointed."""


class State(Status):
    """What a robot does, as it is reported."""

    sequence: int
    """Counts the states that the robot has reported since the daemon started, from 1."""
    stamp_utc: str
    """When it was reported: ISO 8601, in UTC."""


class Joint(Told):
    """A joint and its limits, in rad or m; null where there is none."""

    name: str
    unit: Literal["rad", "m"]
    lower: float | None
    upper: float | None
    velocity: float | None
    acceleration: float | None
    effort: float | None
    limited_by: dict[str, str]
    """Where the limits come from that an actuator sets, by `lower`, `upper`, `velocity`, …"""


class Rates(Told):
    """Ticks per second."""

    idle_hz: float
    max_hz: float | None
    """The highest rate at which the driver takes setpoints; null until it is open."""


class Tolerances(Told):
    """How far each joint may be from its setpoints, in its unit; null where nothing is checked."""

    path: dict[str, float | None]
    goal: dict[str, float | None]


class Description(Told):
    """What a robot is."""

    joints: list[Joint]
    actuators: list[str]
    model: str | None
    """The name of its description; null where the configuration lists joints alone."""
    driver: str
    poses: dict[str, dict[str, float]]
    """Joint positions by the names of poses, in rad or m."""
    groups: list[str]
    """Those that it can be started together with."""
    tolerances: Tolerances
    hottest_c: float | None
    """The temperature beyond which a motion is stopped, in °C; null where none is checked."""
    upload: bool
    """Whether motions may be uploaded and deleted."""
    formats: dict[str, list[str]]
    rates: Rates
    version: str


class ListedMarker(Told):
    """A named place on a motion."""

    name: str
    frame: float
    time: float


class ListedMotion(Told):
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
    max_speed: float = 1.0
    uploaded: bool = False
    """Whether it lies in the folder for uploads, so that it may be deleted."""
    reason: str = ""


class MotionList(Told):
    """The motions of a robot."""

    motions: list[ListedMotion]
    more: int = 0
    """How many are not listed, and can be played all the same."""
    problems: list[str] = []
    """Folders and files that could not be read the last time; what they held before stays."""


class Lease(Told):
    """Who is in control of a robot."""

    required: bool
    """Whether only who is in control may command it."""
    holder: str | None
    """Who is in control; null: nobody."""
    epoch: int | None
    """Grows with each holder; null where no lease is required."""
    expires_at: float | None
    """Unix time in s at which control is lost if it is not renewed, as far as it was told."""
    ttl_s: float
    """How long a lease lasts without being renewed."""
    takeover: bool
    """Whether another client may take it."""


ReservationPhase = Literal["reserved", "committed", "ready", "playing", "released"]


class Reservation(Told):
    """For which start of its group a robot is reserved; all null while it is for none."""

    start: str | None
    """The start's id."""
    phase: ReservationPhase | None
    """`ready`: on the first row, for its time; `released`: let go before the motion ended well."""
    start_at: float | None
    """Unix time in s at which the first row is due; null until that is committed."""
    reason: str | None
    """Why it was released."""
    expires_at: float | None
    """Unix time in s at which it is let go if nothing is committed; null from then on."""
