"""The contract of every driver: what the stream process may ask of actuators, and what it gets.

In come commands for all actuators at once, out go their states. A driver lives in the stream process;
each of its calls is bounded in time, and `read`, `write` and `halt` allocate and log only when they fail.

    Exception
    └── DriverError             anything a driver could not do; names the port, family or actuator
        ├── DriverConfigError   its options are wrong; nothing was opened
        ├── DriverTimeout       no answer in time (also a TimeoutError)
        └── CommunicationLost   the bus or a module is gone
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]


class DriverError(Exception):
    """A driver could not do what was asked.

    Attributes
    ----------
    where : str
        The port, the family and name, or the actuator.
    """

    def __init__(self, where: str, what: str, why: str = "", mend: str = "") -> None:
        super().__init__(f"{where}: " + "; ".join(part for part in (what, why, mend) if part))
        self.where = where


class DriverConfigError(DriverError):
    """The options of a driver are wrong; nothing was opened."""


class DriverTimeout(DriverError, TimeoutError):
    """No answer in time."""


class CommunicationLost(DriverError):
    """The bus or a module is gone."""


class DriverOptions(BaseModel):
    """What stands under `driver:` in the configuration, besides `type`; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ActuatorState:
    """What the actuators report, filled in place by `Driver.read`; NaN where nothing is known.

    Attributes
    ----------
    position, velocity, effort : ndarray, shape (actuators,)
        In rad, rad/s, N·m (or m, m/s, N), on the actuator's side of any reduction.
    temperature_c : ndarray, shape (actuators,)
        Of the motor winding, in degrees Celsius.
    stamp_s : ndarray, shape (actuators,)
        Monotonic time at which each actuator's feedback was received.
    """

    __slots__ = ("effort", "position", "stamp_s", "temperature_c", "velocity")

    def __init__(self, count: int) -> None:
        self.position: Floats = np.full(count, np.nan)
        self.velocity: Floats = np.full(count, np.nan)
        self.effort: Floats = np.full(count, np.nan)
        self.temperature_c: Floats = np.full(count, np.nan)
        self.stamp_s: Floats = np.full(count, np.nan)


class ActuatorCommand:
    """What the actuators shall do; NaN leaves that quantity of that actuator uncommanded.

    Attributes
    ----------
    position, velocity, effort : ndarray, shape (actuators,)
        In rad, rad/s, N·m (or m, m/s, N), on the actuator's side of any reduction.
    """

    __slots__ = ("effort", "position", "velocity")

    def __init__(self, count: int) -> None:
        self.position: Floats = np.full(count, np.nan)
        self.velocity: Floats = np.full(count, np.nan)
        self.effort: Floats = np.full(count, np.nan)


class Driver(ABC):
    """Actuators behind one bus, network or simulation.

    Parameters
    ----------
    actuators : sequence of str
        The actuators to drive, in the order of every array.
    options : DriverOptions
        An instance of this class's `Options`.
    now : callable
        Gives monotonic time in seconds; a virtual clock gives virtual time.
    """

    Options: ClassVar[type[DriverOptions]] = DriverOptions
    actuators: tuple[str, ...]
    max_rate_hz: float

    def __init__(
        self, actuators: Sequence[str], options: DriverOptions, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.actuators = tuple(actuators)
        self.options = options
        self.now = now

    @abstractmethod
    def open(self) -> None:
        """Find and connect every actuator, or none; torque stays as it was.

        Raises
        ------
        DriverError
            Naming the port or module and the reason; nothing stays open.
        """

    @abstractmethod
    def read(self, state: ActuatorState) -> None:
        """Fill `state` with the newest feedback, without waiting for more than a fraction of a period."""

    @abstractmethod
    def write(self, command: ActuatorCommand) -> None:
        """Send one setpoint to all actuators."""

    @abstractmethod
    def enable(self) -> None:
        """Switch torque on, with the goal of each actuator first set to its measured position."""

    @abstractmethod
    def disable(self) -> None:
        """Switch torque off."""

    @abstractmethod
    def halt(self) -> None:
        """Stop moving at once and hold, in any state, any number of times; ends with `enable` or `disable`.

        The loop calls this instead of `write` in every tick while the emergency stop is latched.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the bus; any number of times, also after a failed `open`."""
