"""What is answered to requests, as models, with what the answer to each verb holds."""

from __future__ import annotations

from typing import Any, Literal

from .errors import ErrorCode
from .lasting_models import MotionList, StateName, Status, Told
from .report_models import Clock


class Answer(Told):
    """A request was served."""

    status: Literal["ok"]
    data: dict[str, Any]
    """By the verb, see docs/mqtt.md."""
    transaction: str | None
    """That of the request."""


class Refusal(Told):
    """A request was refused."""

    status: Literal["error"]
    code: ErrorCode
    """For programs."""
    error: str
    """For people: what is wrong, why, and how to fix it; one line for each problem."""
    data: dict[str, Any]
    """What a program may want to know besides."""
    transaction: str | None
    """That of the request, where it could be read."""


class StartDistance(Told):
    """The joint that has the longest way to the first row."""

    joint: str
    value: float
    unit: Literal["rad", "m"]


class Accepted(Told):
    """A goal was accepted; its end comes as a result. Either it begins now, or it is `queued`."""

    goal_id: str
    approach_s: float = 0.0
    """How long the way to its first row takes."""
    start_distance: StartDistance | None = None
    queued: int = 0
    """Its place in the queue."""


class Torque(Told):
    """Whether the actuators hold."""

    state: StateName
    torque: bool


class InControl(Told):
    """Who is in control of the robot; `lease` and `ttl_s` where that is the client that asked."""

    holder: str | None
    epoch: int
    expires_at: float | None
    ttl_s: float = 0.0
    """How long it lasts without being renewed, in s."""
    lease: str = ""
    """What requests have to carry."""


class OnTheWay(Told):
    """What the goal that plays does now."""

    state: StateName
    goal_id: str


class Speed(Told):
    """At what speed the goal plays from now on."""

    speed: float
    goal_id: str


class Waiting(Told):
    """A goal that waits."""

    goal_id: str
    motion: str


class Queue(Told):
    """What waits, in its order."""

    queue: list[Waiting]


class Cleared(Told):
    """The goals that do not wait any more."""

    cleared: list[str]


class Stopped(Told):
    """A stop was heard; the end of the goal comes as a result."""

    state: StateName
    goal_id: str | None
    """Null where nothing played."""
    stops_within_s: float
    reached: bool
    """Whether there are actuators to stop: false where the robot is offline."""
    message: str
    """Why they were not reached."""
    ignored: str = ""
    """What was wrong with the request."""


class Halted(Told):
    """An emergency stop was heard."""

    state: StateName
    latched: bool
    reached: bool
    """Whether there are actuators to halt: false where the robot is offline."""
    message: str
    """Why they were not reached."""
    ignored: str = ""
    """What was wrong with the request."""


class Reset(Told):
    """What the robot does now."""

    state: StateName


class Rebooted(Told):
    """Servos were restarted, and answer again."""

    actuators: list[str]
    state: StateName


class Fault(Told):
    """A simulated fault was handed over."""

    fault: dict[str, Any]


class Deleted(Told):
    """The motions that stood in the file that was removed."""

    deleted: list[str]


class Prepared(Told):
    """The robot is reserved for a start of its group."""

    start: str
    token: str | None
    """What a commit or a release of the start has to carry; null where the client has it already."""
    ready_in_s: float
    """How long before the first row a start has to be committed, in s."""
    duration_s: float | None
    """How long its passes take, in s; null where they never end."""
    expires_at: float
    """Unix time in s at which the reservation is let go if nothing is committed."""
    clock: Clock


class StartReleased(Told):
    """The robot is not reserved any more."""

    start: str


class Committed(Told):
    """The robot plays with the others as soon as all of them are heard."""

    start: str
    start_at: float


DATA_MODELS: dict[str, type[Told]] = {
    "play": Accepted,
    "goto": Accepted,
    "enable": Torque,
    "disable": Torque,
    "torque": Torque,
    "pause": OnTheWay,
    "resume": OnTheWay,
    "speed": Speed,
    "seek": OnTheWay,
    "queue": Queue,
    "queue/remove": Queue,
    "queue/move": Queue,
    "queue/clear": Cleared,
    "stop": Stopped,
    "estop": Halted,
    "reset": Reset,
    "servo/reboot": Rebooted,
    "fault": Fault,
    "lease/acquire": InControl,
    "lease/renew": InControl,
    "lease/release": InControl,
    "lease/take": InControl,
    "status": Status,
    "motions/delete": Deleted,
    "motions/reload": MotionList,
    "fleet/prepare": Prepared,
    "fleet/release": StartReleased,
}
"""What `data` of the answer holds, by verb; of a verb that is not here, any object."""

FLEET_DATA_MODELS: dict[str, type[Told]] = {"fleet/commit": Committed, "fleet/release": StartReleased}
"""The same of each robot's answer to what is asked of all that are named."""
