"""Torque, servos, and simulated faults."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from ...ipc.states import State
from .verb import CHECKED, MOST_BYTES, Name, Request, Verb

MOST_SERVOS = 253


class EnableRequest(Request):
    """Switch torque on, holding where the joints are."""


class DisableRequest(Request):
    """Switch torque off; only while no motion plays."""


class TorqueRequest(Request):
    """Switch torque on or off: `enable` and `disable` for those who have one topic for both."""

    on: bool


class TorqueAnswer(TypedDict):
    """Whether the actuators hold."""

    state: State
    torque: bool


class ServosRequest(Request):
    """What is asked of some servos, by the names of their joints or actuators."""

    servos: Annotated[list[Name], Field(min_length=1, max_length=MOST_SERVOS)]


class RebootServosRequest(ServosRequest):
    """Restart servos, by the names of their joints or actuators; only where the robot does not hold."""


class ClearServosRequest(ServosRequest):
    """Clear errors that servos keep, without a restart; only where the robot does not hold."""


class RecoveryAnswer(TypedDict):
    """Servos were restarted and answer again, or their errors were cleared."""

    actuators: list[str]
    state: State
    message: str
    """Why the robot is still offline or in fault."""


class FaultRequest(Request):
    """Let a fault of simulated actuators happen; other keys are the driver's own (docs/faults.md)."""

    model_config = ConfigDict(**{**CHECKED, "extra": "allow"})
    fault: Name
    joint: Name | None = None


class FaultAnswer(TypedDict):
    """A simulated fault was handed over."""

    fault: dict[str, Any]


ACTUATORS_VERBS = (
    Verb("enable", EnableRequest, TorqueAnswer, begins=True, interferes=True),
    Verb("disable", DisableRequest, TorqueAnswer, begins=False, interferes=True),
    Verb("torque", TorqueRequest, TorqueAnswer, begins=True, interferes=True),
    Verb("servo/reboot", RebootServosRequest, RecoveryAnswer, begins=False, interferes=True),
    Verb("servo/clear", ClearServosRequest, RecoveryAnswer, begins=False, interferes=True),
    Verb("fault", FaultRequest, FaultAnswer, begins=False, interferes=False, most_bytes=MOST_BYTES),
)
