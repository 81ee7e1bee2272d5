"""What the contract suite needs for one back end and only the driver's author knows.

A `Rig` makes a driver, breaks it, and moves its actuators by hand. `motiond.drivers.testing.contract` takes
it from the fixture `rig`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NoReturn

import pytest

from ..base import ActuatorCommand, ActuatorState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base import Driver, Floats


class Clock:
    """A monotonic clock that only tests move.

    Attributes
    ----------
    now_s : float
        The time, to be set.
    """

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        """Return the time in seconds."""
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Let time pass."""
        self.now_s += duration_s


ACTUATORS = ("base", "shoulder", "elbow")
TICK_S = 0.01
LIFETIME_S = 0.2


class Rig(ABC):
    """A back end with actuators that turn freely; setpoints step by up to 2 rad.

    Time passes only when the suite says so: give drivers `clock`. `RealTimeRig` is for back ends on real
    time.

    Attributes
    ----------
    actuators : tuple of str
        Three names.
    lifetime_s : float or None
        How long actuators hold without a setpoint, in s; None forever.
    settle_s : float
        How long actuators take to come to rest after a step, in s.
    tolerance : float
        How far from the setpoint they may rest, in rad.
    halt_travel : float
        How far they may still move after `halt`, in rad.
    guided_travel : float
        How far guided actuators may move by themselves while they settle, or until they are held, in rad.
    feedback_age_s : float
        How old feedback may be when it is read, in s.
    timeout_s : float
        The longest that one call may take by `timer`, whatever the state of the device, in s.
    lost_after_s : float
        How long a device may be silent before a driver must raise, in s.
    """

    actuators: tuple[str, ...] = ACTUATORS
    lifetime_s: float | None = LIFETIME_S
    settle_s = 0.5
    tolerance = 1e-6
    halt_travel = 1e-6
    guided_travel = 1e-3
    feedback_age_s = 0.0
    timeout_s = 0.5
    lost_after_s = 2.0

    def __init__(self) -> None:
        self.clock = Clock()

    @abstractmethod
    def make(self, actuators: Sequence[str] = ACTUATORS) -> Driver:
        """Return a driver that is not open; all drivers of one rig drive the same actuators."""

    @abstractmethod
    def make_broken(self) -> Driver:
        """Return a driver whose `open` fails halfway."""

    def make_guided(self) -> Driver:
        """Return a driver that can guide its actuators, not open yet; by default that of `make`."""
        return self.make()

    def make_heavy(self) -> Driver:
        """Return a driver that is not open, whose actuators have weight, so that they fall without torque."""
        self.cannot("give actuators weight")

    @abstractmethod
    def push(self, driver: Driver, position: Floats) -> None:
        """Move the actuators to `position` (actuators,), as by hand."""

    def silence(self, driver: Driver) -> None:
        """Make the device accept everything and answer nothing from now on; `driver` is open."""
        self.cannot(f"silence what {type(driver).__name__} talks to")

    def lose_bus(self, driver: Driver) -> None:
        """Remove the bus, as by pulling its cable; `driver` is open."""
        self.cannot(f"take the bus of {type(driver).__name__} away")

    def restore_bus(self, driver: Driver) -> None:
        """Restore the bus that `lose_bus` removed."""
        self.cannot(f"bring the bus of {type(driver).__name__} back")

    def cannot(self, what: str) -> NoReturn:
        """Skip a test that needs more than the rig offers."""
        pytest.skip(f"{type(self).__name__} cannot {what}")

    def now(self) -> float:
        """Return the time by which feedback is stamped, in s."""
        return self.clock()

    def timer(self) -> float:
        """Return the time by which calls are bounded, in s: the real one, unless waiting moves `clock`."""
        return time.perf_counter()

    def wait(self, duration_s: float) -> None:
        """Let time pass."""
        self.clock.sleep(duration_s)

    def position(self, driver: Driver) -> Floats:
        """Return where the actuators are: (actuators,)."""
        state = ActuatorState(len(driver.actuators))
        driver.read(state)
        return state.position.copy()

    def play(self, driver: Driver, position: Sequence[float], duration_s: float | None = None) -> Floats:
        """Command a position in every tick, and return where the actuators are afterwards.

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
    """A rig on real time; its bounds leave room for a busy machine."""

    tolerance = 1e-3
    halt_travel = 0.25
    feedback_age_s = 0.5

    def now(self) -> float:
        """Return monotonic time in seconds."""
        return time.monotonic()

    def wait(self, duration_s: float) -> None:
        """Sleep."""
        time.sleep(duration_s)
