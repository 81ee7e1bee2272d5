"""The bench that a driver is held against its contract on.

In comes what only the driver's author knows: how to make one, how to break it, how to move its actuators by
hand. Out comes a `Rig`, which `motiond.drivers.testing.contract` asks for in its fixture `rig`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NoReturn

import pytest

from ..base import ActuatorCommand, ActuatorState
from .clock import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base import Driver, Floats

ACTUATORS = ("base", "shoulder", "elbow")
TICK_S = 0.01
LIFETIME_S = 0.2


class Rig(ABC):
    """A back end on a bench, with actuators that turn freely; setpoints step by up to 2 rad.

    Time passes when the rig says so: drivers get `clock`. `RealTimeRig` is for what lives on real time.

    Attributes
    ----------
    actuators : tuple of str
        Three of them.
    lifetime_s : float or None
        How long actuators hold without a setpoint; None where they hold for ever.
    settle_s : float
        How long actuators take to come to rest after a step.
    tolerance : float
        How far from the setpoint they may then be, in rad.
    halt_travel : float
        How far they may run on after `halt`, in rad.
    feedback_age_s : float
        How old feedback may be when it is read.
    timeout_s : float
        The longest real time that one call may take, whatever has become of the device.
    lost_after_s : float
        How long a device may be silent before that is an error.
    """

    actuators: tuple[str, ...] = ACTUATORS
    lifetime_s: float | None = LIFETIME_S
    settle_s = 0.5
    tolerance = 1e-6
    halt_travel = 1e-6
    feedback_age_s = 0.0
    timeout_s = 0.5
    lost_after_s = 2.0

    def __init__(self) -> None:
        self.clock = Clock()

    @abstractmethod
    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        """Give a driver that can be opened; each one that this rig gives drives the same actuators."""

    @abstractmethod
    def make_broken(self) -> Driver:
        """Give a driver whose `open` fails halfway."""

    @abstractmethod
    def push(self, driver: Driver, position: Floats) -> None:
        """Move the actuators by hand, all at once, to `position` (actuators,)."""

    def silence(self, driver: Driver) -> None:
        """Let the device take everything and answer nothing from now on; `driver` is open."""
        self.cannot(f"silence what {type(driver).__name__} talks to")

    def lose_bus(self, driver: Driver) -> None:
        """Take the bus away, as by pulling its cable; `driver` is open."""
        self.cannot(f"take the bus of {type(driver).__name__} away")

    def restore_bus(self, driver: Driver) -> None:
        """Bring back the bus that `lose_bus` took."""
        self.cannot(f"bring the bus of {type(driver).__name__} back")

    def cannot(self, what: str) -> NoReturn:
        """Skip a test that asks more of the rig than it has."""
        pytest.skip(f"{type(self).__name__} cannot {what}")

    def now(self) -> float:
        """Give the time by which feedback is stamped."""
        return self.clock()

    def wait(self, duration_s: float) -> None:
        """Let time pass."""
        self.clock.now_s += duration_s

    def position(self, driver: Driver) -> Floats:
        """Read where the actuators are: (actuators,)."""
        state = ActuatorState(len(driver.actuators))
        driver.read(state)
        return state.position.copy()

    def play(self, driver: Driver, position: Sequence[float], duration_s: float | None = None) -> Floats:
        """Command a position in every tick and give where that leads.

        Parameters
        ----------
        position : sequence of float
            One for each actuator; NaN commands nothing.
        duration_s : float, optional
            `settle_s` by default.

        Returns
        -------
        ndarray, shape (actuators,)
        """
        command = ActuatorCommand(len(driver.actuators))
        command.position[:] = position
        for _ in range(round((self.settle_s if duration_s is None else duration_s) / TICK_S)):
            driver.write(command)
            self.wait(TICK_S)
        return self.position(driver)


class RealTimeRig(Rig):
    """A rig whose time nobody can stop; its bounds leave room for a busy machine."""

    tolerance = 1e-3
    halt_travel = 0.25
    feedback_age_s = 0.5

    def now(self) -> float:
        """Give monotonic time in seconds."""
        return time.monotonic()

    def wait(self, duration_s: float) -> None:
        """Sleep."""
        time.sleep(duration_s)
