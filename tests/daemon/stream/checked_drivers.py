"""Each driver on virtual time, with ways to make the checks of the engine fail at its second actuator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.drivers.composite.driver import CompositeDriver
from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.options import HebiOptions
from motiond.drivers.registry import make_driver
from motiond.drivers.testing.clock import Clock
from tests.daemon.stream.test_loop import JOINTS, START
from tests.drivers.dynamixel.bench import XM430, servo
from tests.drivers.dynamixel.bench import Bench as EmulatedBus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from motiond.drivers.base import Driver

PUSH = 0.3  # rad
HOT_C = 90.0


class SharedClock(VirtualClock):
    """Virtual time of a loop and of a driver with a clock for tests; it can oversleep once.

    Parameters
    ----------
    clock : Clock
        The driver's.
    """

    oversleep_s = 0.0

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        super().__init__(clock())

    @property
    def time_s(self) -> float:
        return self.clock.now_s

    @time_s.setter
    def time_s(self, value: float) -> None:
        self.clock.now_s = value

    def _late(self, deadline_s: float) -> float:
        late_s, self.oversleep_s = deadline_s + self.oversleep_s, 0.0
        return late_s

    def sleep_until(self, deadline_s: float) -> None:
        super().sleep_until(self._late(deadline_s))

    def listen_until(self, fd: int, deadline_s: float) -> None:
        super().listen_until(fd, self._late(deadline_s))


class Simulated:
    """Simulated actuators, as one driver or as the parts of a composite."""

    def __init__(self, kind: str) -> None:
        clock = Clock()
        self.clock = SharedClock(clock)
        common = {"position_state_following_offset": 0.001}
        options: Mapping[str, Any] = common | {"initial": dict(zip(JOINTS, START, strict=True))}
        if kind == "composite":
            parts = {
                joint: {"type": "sim", "actuators": [joint], "initial": {joint: start}, **common}
                for joint, start in zip(JOINTS, START, strict=True)
            }
            options = {"parts": parts}
        self.driver: Driver = make_driver(kind, options, JOINTS, clock)
        self.actuators = JOINTS

    def _inject(self, fault: str, **more: float) -> None:
        self.driver.inject({"fault": fault, "actuator": "elbow", **more})

    def heat(self) -> None:
        self._inject("overheating", rate_c_per_s=1e4)

    def strain(self) -> None:
        self.push()  # away from its setpoint, it pushes back

    def stale(self) -> None:
        self._inject("stale_feedback")

    def push(self) -> None:
        driver: Any = self.driver
        if isinstance(driver, CompositeDriver):
            driver = driver._parts[-1].driver
        driver._plant.position[-1] += PUSH
        self._inject("stuck")

    def close(self) -> None: ...


def _stay(duration_s: float) -> None: ...


class Emulated:
    """DYNAMIXEL servos on an emulated bus in this process."""

    def __init__(self, _kind: str, **options: Any) -> None:
        ticks = [XM430.zero_ticks + place / XM430.rad_per_tick for place in START]
        servos = [servo(number, ticks=place) for number, place in enumerate(ticks, 1)]
        self.bus = EmulatedBus(servos, command_lifetime_s=2.0, **options)
        self.clock = SharedClock(self.bus.clock)
        self.driver: Driver = self.bus.driver
        self.actuators = self.bus.names
        self._elbow = servos[1]

    def _set(self, register: str, value: int) -> None:
        self._elbow.set(register, value)

    def heat(self) -> None:
        self._set("present_temperature", round(HOT_C))

    def strain(self) -> None:
        self._set("present_current", 1000)

    def stale(self) -> None:
        self._elbow.mute = True

    def push(self) -> None:
        self._elbow._move = _stay  # type: ignore[method-assign]
        self._elbow.turn_to(self._elbow.position_ticks + PUSH / XM430.rad_per_tick)

    def close(self) -> None:
        self.bus.__exit__()


class Imitated:
    """HEBI modules that fail as real ones do, behind the vendor's messages."""

    def __init__(self, _kind: str) -> None:
        pytest.importorskip("hebi", reason="hebi-py is not installed")
        from tests.drivers.hebi.fake_hebi import FakeLookup, FakeModule  # noqa: PLC0415 - needs hebi-py

        clock = Clock()
        modules = [FakeModule(joint, position=place) for joint, place in zip(JOINTS, START, strict=True)]
        lookup = FakeLookup(modules, clock)
        options = HebiOptions.model_validate({"families": "Arm"})
        self.driver: Driver = HebiDriver(JOINTS, options, clock, lambda _: lookup)
        self.clock, self.actuators, self._elbow = SharedClock(clock), JOINTS, modules[1]

    def heat(self) -> None:
        self._elbow.temperature_c = HOT_C

    def strain(self) -> None:
        self._elbow.effort = 20.0

    def stale(self) -> None:
        self._elbow.lost = True

    def push(self) -> None:
        self._elbow.position += PUSH
        self._elbow.jammed = True

    def close(self) -> None: ...


DRIVERS: dict[str, Callable[..., Any]] = {
    "sim": Simulated,
    "hebi": Imitated,
    "dynamixel": Emulated,
    "composite": Simulated,
}
