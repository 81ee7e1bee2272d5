"""The faults that simulated actuators can have: names, parameters, and the effects of each."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from pydantic import BeforeValidator, Field

from motiond.text import nearest, quoted

from ..base import DriverOptions
from ..options import Finite, NotNegative, OptionProblem, OptionsError, Positive, check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base import Booleans, Floats

Seconds = Annotated[float, Field(gt=0, le=60)]
Probability = Annotated[float, Field(gt=0, le=1)]


@dataclass(slots=True)
class FaultEffects:
    """What all present faults together do to a robot.

    `stuck`, `stopped`, `unpowered`: joints that do not move, actuators with their m-stop pressed, actuators
    without power. `grip`: the most effort, in N·m or N, that a slipping joint transmits; infinite for others.
    `turns`: by how many turns an actuator without power will measure wrongly once power is back.
    `heating_c_per_s`, `hottest_c`: how fast actuators get hot, in °C/s, and how hot, in °C. `lost`, `stale`:
    actuators whose feedback is NaN, and those whose feedback stays as it was.
    """

    count: int
    stuck: Booleans = field(init=False)
    stopped: Booleans = field(init=False)
    unpowered: Booleans = field(init=False)
    lost: Booleans = field(init=False)
    stale: Booleans = field(init=False)
    grip: Floats = field(init=False)
    turns: Floats = field(init=False)
    heating_c_per_s: Floats = field(init=False)
    hottest_c: Floats = field(init=False)
    loss: Floats = field(init=False)
    delay_s: float = 0.0
    jitter_s: float = 0.0
    deaf: bool = False
    cut: bool = False

    def __post_init__(self) -> None:
        self.stuck, self.stopped, self.unpowered, self.lost, self.stale = np.zeros((5, self.count), bool)
        self.turns, self.heating_c_per_s, self.hottest_c, self.loss = np.zeros((4, self.count))
        self.grip = np.full(self.count, np.inf)

    @property
    def disturbs_wire(self) -> bool:
        """Whether commands or feedback do not arrive as they are sent."""
        late = self.delay_s > 0 or self.jitter_s > 0
        return late or self.deaf or bool((self.lost | self.stale | self.unpowered | (self.loss > 0)).any())


class Fault(DriverOptions):
    """Something that goes wrong. `marks`: which of `FaultEffects` its actuators have."""

    marks: ClassVar = ""
    fault: str
    at_s: NotNegative = Field(
        default=0.0, description="When it begins: after the first opening, or after it was asked for."
    )
    for_s: Positive | None = Field(default=None, description="How long it lasts; null: until cleared.")

    @property
    def who(self) -> str:
        """Which actuator it concerns, for messages: ` of elbow`, or nothing if it is all of them."""
        return ""

    def happen(self) -> None:
        """Do what happens once, when the fault begins."""

    def add_to(self, effects: FaultEffects, place: slice) -> None:
        """Add what is wrong while the fault lasts, for the actuators at `place`."""
        if self.marks:
            getattr(effects, self.marks)[place] = True

    def __str__(self) -> str:
        lasting = "" if self.for_s is None else f" for {self.for_s:g} s"
        return f"{self.fault}{self.who}{lasting}"


class ActuatorFault(Fault):
    """Something that goes wrong with one actuator, or with all of them."""

    actuator: str | None = Field(default=None, description="Which one; null: all.")

    @property
    def who(self) -> str:
        """Which actuator it concerns, for messages: ` of elbow`, or nothing if it is all of them."""
        return "" if self.actuator is None else f" of {self.actuator}"


class LostFeedback(ActuatorFault):
    """Feedback is not a number."""

    fault: Literal["lost_feedback"]
    marks: ClassVar = "lost"


class StaleFeedback(ActuatorFault):
    """Feedback and its stamps stand still."""

    fault: Literal["stale_feedback"]
    marks: ClassVar = "stale"


class Delay(Fault):
    """Commands and feedback arrive later, in their order."""

    fault: Literal["delay"]
    delay_s: Annotated[float, Field(ge=0, le=10)] = Field(default=0.0, description="One way.")
    jitter_s: Annotated[float, Field(ge=0, le=10)] = Field(default=0.0, description="At most so much more.")

    def add_to(self, effects: FaultEffects, place: slice) -> None:  # noqa: ARG002 - a bus has no places
        """Add up the delays."""
        effects.delay_s += self.delay_s
        effects.jitter_s += self.jitter_s


class PacketLoss(ActuatorFault):
    """Commands and feedback get lost at random."""

    fault: Literal["packet_loss"]
    probability: Probability = Field(description="Of each command and each feedback.")

    def add_to(self, effects: FaultEffects, place: slice) -> None:
        """Combine the probability with those of other losses."""
        effects.loss[place] = 1 - (1 - effects.loss[place]) * (1 - self.probability)


class Stuck(ActuatorFault):
    """A joint does not move, however hard its motor pushes."""

    fault: Literal["stuck"]
    marks: ClassVar = "stuck"


class Displaced(ActuatorFault):
    """A joint is elsewhere at once, as if it had been pushed; also beyond a stop."""

    fault: Literal["displaced"]
    by: Finite = Field(description="How far, in rad or m.")
    for_s: None = None


class MovedByHand(ActuatorFault):
    """A hand moves a joint smoothly, wherever it gives way: without torque, or guided."""

    fault: Literal["hand"]
    to: Finite = Field(description="Where to, in rad or m.")
    for_s: Positive = Field(default=1.0, description="How long the way takes.")


class Slipping(ActuatorFault):
    """A joint slips on its motor, as a worn coupling does."""

    fault: Literal["slipping"]
    effort: NotNegative = Field(default=0.0, description="The most that gets through, in N·m or N.")

    def add_to(self, effects: FaultEffects, place: slice) -> None:
        """Limit the effort that gets through."""
        effects.grip[place] = np.minimum(effects.grip[place], self.effort)


class Overheating(ActuatorFault):
    """A motor winding gets hot, and cools in a minute or two afterwards, or when it is cleared."""

    fault: Literal["overheating"]
    temperature_c: Annotated[float, Field(ge=25, le=300)] = Field(default=100.0, description="How hot.")
    rate_c_per_s: Positive = Field(default=20.0, description="How fast, in °C/s.")

    def add_to(self, effects: FaultEffects, place: slice) -> None:
        """Raise the temperature to aim for, and the rate."""
        effects.hottest_c[place] = np.maximum(effects.hottest_c[place], self.temperature_c)
        effects.heating_c_per_s[place] = np.maximum(effects.heating_c_per_s[place], self.rate_c_per_s)


class MStop(ActuatorFault):
    """An m-stop is pressed: no torque, also once it is released, until torque is switched on again."""

    fault: Literal["m_stop"]
    marks: ClassVar = "stopped"


class PowerCycle(ActuatorFault):
    """Power goes and comes back; then torque is off and the position is whole turns off."""

    fault: Literal["power_cycle"]
    marks: ClassVar = "unpowered"
    for_s: Positive = Field(default=0.5, description="How long there is no power.")
    turns: int = Field(default=1, ge=-100, le=100, description="How far the position is off afterwards.")

    def add_to(self, effects: FaultEffects, place: slice) -> None:
        """Cut the power."""
        super().add_to(effects, place)
        effects.turns[place] = self.turns


class TorqueDrop(ActuatorFault):
    """An actuator drops its torque by itself, as one does that is overloaded, until torque is switched on."""

    fault: Literal["torque_drop"]
    for_s: None = None


class Overload(ActuatorFault):
    """An actuator drops its torque, and keeps that as an error until it is cleared or restarted."""

    fault: Literal["overload"]
    for_s: None = None


class Reset(ActuatorFault):
    """An actuator restarts by itself and has forgotten what it was set to; torque on sets it again."""

    fault: Literal["reset"]
    for_s: None = None


class WatchdogTrip(ActuatorFault):
    """An actuator's watchdog trips: it holds where it is, deaf to setpoints until torque is switched on."""

    fault: Literal["watchdog_trip"]
    for_s: None = None


class LifetimeExpiry(Fault):
    """Commands do not arrive, though feedback does, so that the actuators release after a while."""

    fault: Literal["lifetime_expiry"]

    def add_to(self, effects: FaultEffects, place: slice) -> None:  # noqa: ARG002 - it is of them all
        """Let no command arrive."""
        effects.deaf = True


class Blocks(Fault):
    """The driver's next call returns only after a while, in real time."""

    fault: Literal["blocks"]
    for_s: Seconds = Field(description="For how long.")

    def happen(self) -> None:
        """Sleep."""
        time.sleep(self.for_s)


class Crash(Fault):
    """The process ends at once, without any cleaning up."""

    fault: Literal["crash"]
    for_s: None = None

    def happen(self) -> None:
        """Abort the process."""
        os.abort()


class BusLost(Fault):
    """The bus is gone: every call fails, and no command arrives."""

    fault: Literal["bus_lost"]

    def add_to(self, effects: FaultEffects, place: slice) -> None:  # noqa: ARG002 - it is of them all
        """Cut the bus."""
        effects.cut = True


class Clear(Fault):
    """Ends every fault that has begun, and cools the actuators; what is still to come comes."""

    fault: Literal["clear"]
    for_s: None = None


AnyFault: TypeAlias = (
    LostFeedback | StaleFeedback | Delay | PacketLoss | Stuck | Displaced | MovedByHand | Slipping
    | Overheating | MStop | PowerCycle | TorqueDrop | Overload | Reset | WatchdogTrip | LifetimeExpiry
    | Blocks | Crash | BusLost | Clear
)  # fmt: skip
FAULTS: Mapping[str, type[Fault]] = dict(
    sorted((get_args(kind.model_fields["fault"].annotation)[0], kind) for kind in get_args(AnyFault))
)


def make_fault(where: str, fault: Mapping[str, Any]) -> Fault:
    """Make a fault from a mapping. Raises OptionsError with every unknown key and every wrong value."""
    name = fault.get("fault")
    if not isinstance(name, str) or name not in FAULTS:
        known = f"there are {', '.join(FAULTS)}"
        what = (
            f"there is no fault {quoted(str(name))}"
            if "fault" in fault
            else "a fault needs its name under 'fault'"
        )
        raise OptionsError([OptionProblem(where, ("fault",), what, known, nearest(str(name), FAULTS))])
    return check(f"{where}: fault {name}", FAULTS[name], fault)


def place_of(where: str, fault: Fault, actuators: Sequence[str]) -> slice:
    """Return the place in the arrays of the actuators that a fault concerns.

    Raises OptionsError if there is no actuator of that name.
    """
    name = fault.actuator if isinstance(fault, ActuatorFault) else None
    if name is None:
        return slice(None)
    if name not in actuators:
        what, known = (
            f"fault {fault.fault}: there is no actuator '{name}'",
            f"there are {', '.join(actuators)}",
        )
        raise OptionsError([OptionProblem(where, ("actuator",), what, known, nearest(name, actuators))])
    place = actuators.index(name)
    return slice(place, place + 1)


def _checked_by_name(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    try:
        return make_fault("", value)
    except OptionsError as error:
        raise ValueError(str(error).removeprefix(": ")) from error


ScriptedFault: TypeAlias = Annotated[
    Annotated[AnyFault, Field(discriminator="fault")], BeforeValidator(_checked_by_name)
]
"""A fault as an option: a mapping with its name under `fault`."""
