"""Random hands on simulated joints with weight, and on emulated servos: what they may force, and what not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.drivers.dynamixel.driver import DynamixelDriver
from motiond.drivers.dynamixel.emulator.chain import EmulatedChain
from motiond.drivers.dynamixel.emulator.servo import EmulatedServo
from motiond.drivers.dynamixel.models import models_by_name
from motiond.drivers.dynamixel.options import DynamixelOptions
from motiond.drivers.options import check
from motiond.drivers.registry import make_driver
from motiond.drivers.weights import Gravity, Weights
from tests.daemon.stream.test_loop import JOINTS, UNLIMITED, WAYS, Bench, setup_of
from tests.drivers.serial_bus.memory_port import MemoryPort

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from motiond.drivers.base import Driver, Floats

pytestmark = pytest.mark.slow

HANDS = 20
LOWER, UPPER = np.array([-1.0, -1.5]), np.array([1.2, 1.5])
FASTEST, ACCELERATION = np.array([2.0, 3.0]), np.array([15.0, 15.0])
BOUNDS = replace(
    WAYS,
    lower=LOWER.tolist(),
    upper=UPPER.tolist(),
    velocity_limit=FASTEST.tolist(),
    acceleration_limit=ACCELERATION.tolist(),
)
LIMITS = replace(UNLIMITED, stale_s=0.25)
BODIES = [
    {"actuator": "shoulder", "axis": [0, 1, 0], "mass": 0.5, "com": [0.15, 0, 0]},
    {
        "actuator": "elbow",
        "carried_by": "shoulder",
        "pose": [[1, 0, 0, 0.3], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        "axis": [0, 1, 0],
        "mass": 0.3,
        "com": [0.15, 0, 0],
    },
]
MODEL = models_by_name()["XM430-W350"]
CONSTANT = 1.8
LUNGE = 0.02
"""In rad: how far a joint may go beyond its setpoint while its actuator brakes it."""


class Time:
    """The loop's clock, as ports in memory want it."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock

    def __call__(self) -> float:
        return self._clock.now()

    def sleep(self, duration_s: float) -> None:
        self._clock.sleep_until(self._clock.now() + duration_s)


def path(u: float) -> float:
    return u**3 * (10.0 - u * (15.0 - 6.0 * u))


class Servos:
    """Emulated servos with weight, and a hand that turns them."""

    def __init__(self, clock: VirtualClock) -> None:
        self._time = Time(clock)
        self.servos = [EmulatedServo(number, MODEL, {"return_delay": 0}) for number in (1, 2)]
        weights = Weights("test", check("gravity", Gravity, {"bodies": BODIES}), JOINTS)
        assert MODEL.current_unit_a is not None
        unit_nm = CONSTANT * MODEL.current_unit_a
        for place, one in enumerate(self.servos):
            one.weigh = partial(self._current, weights, place, unit_nm)
        port = MemoryPort(EmulatedChain(self.servos, self._time), self._time)  # type: ignore[arg-type]
        port.delay_s = 0.0005
        options = {
            "ports": [{"port": port.path, "baud_rate": 1_000_000, "ids": {"shoulder": 1, "elbow": 2}}],
            "torque_constant_nm_per_a": CONSTANT,
            "gravity": {"bodies": BODIES},
        }
        self.driver: Driver = DynamixelDriver(
            JOINTS, DynamixelOptions.model_validate(options), clock.now, port.open
        )
        self._hands: list[tuple[int, float, float, float, float]] = []

    def _current(self, weights: Weights, place: int, unit_nm: float, _ticks: float) -> float:
        """Return the current that carries a joint where all of them are."""
        return -float(weights(self.position())[place]) / unit_nm

    def position(self) -> Floats:
        return np.array([(one.position_ticks - MODEL.zero_ticks) * MODEL.rad_per_tick for one in self.servos])

    def take(self, joint: int, to: float, for_s: float) -> None:
        begin = float(self.position()[joint])
        self._hands.append((joint, begin, to, self._time(), for_s))

    def move(self) -> None:
        """Turn the shafts until the next tick."""
        speeds: list[float | None] = [None, None] if self._hands else [0.0, 0.0]  # held, to begin with
        for joint, begin, to, begun_s, for_s in self._hands:
            ends = (self._time() + ahead_s - begun_s for ahead_s in (0.0, 0.01))
            here, there = (path(min(1.0, max(0.0, at / for_s))) for at in ends)
            if self._time() - begun_s < for_s:
                speeds[joint] = (to - begin) * (there - here) / 0.01 / MODEL.rad_per_tick
        for one, speed in zip(self.servos, speeds, strict=True):
            one.hand_ticks_s = speed


class Simulated:
    """Simulated joints with weight, and the fault `hand`."""

    def __init__(self, clock: VirtualClock) -> None:
        options = {"gravity": {"bodies": BODIES}, "effort_limit": 20.0}
        self.driver: Driver = make_driver("sim", options, JOINTS, clock.now)

    def take(self, joint: int, to: float, for_s: float) -> None:
        self.driver.inject({"fault": "hand", "actuator": JOINTS[joint], "to": to, "for_s": for_s})

    def move(self) -> None:
        """The simulation moves it."""


class Guided(Bench):
    """A robot that is taught by a random hand."""

    def __init__(self, folder: Path, robot: Simulated | Servos, clock: VirtualClock) -> None:
        self.robot = robot
        super().__init__(folder, setup_of(limits=LIMITS, ways=BOUNDS), robot.driver, clock)
        self.step()

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.robot.move()
            super().step()

    def teach(self, mode: Any, random: np.random.Generator) -> None:
        """Let a hand move the joints about, also too fast and too far, and stop it if nothing else does."""
        self.enable()
        self.reader.take()
        self.channel.send(messages.Teach(mode))
        self.step()
        for _ in range(random.integers(1, 5)):
            for joint in (0, 1):
                reach = UPPER[joint] - LOWER[joint]
                to = random.uniform(LOWER[joint] - 0.1 * reach, UPPER[joint] + 0.1 * reach)
                self.robot.take(joint, to, float(random.uniform(0.6, 2.0)))
            self.step(int(random.integers(10, 120)))
            if self.state() is not State.TEACHING:
                break
        self.channel.send(messages.Stop())
        self.step_until(lambda: self.state() is State.IDLE, most=400)
        self.step(100)


def check_records(records: dict[str, np.ndarray[Any, Any]], mode: str) -> None:
    """Check what a robot was told and did, from the beginning of teaching to its rest."""
    taught = records["state"] == State.TEACHING
    assert taught.any()
    assert records["reference_position"][taught].tobytes() == records["position"][taught].tobytes()
    assert (records["torque"][taught] == (mode == "gravity")).all()
    held = ~taught
    held[: int(taught.argmax())] = False
    assert (records["torque"][held] == 1).all()
    position, reference = records["position"][held], records["reference_position"][held]
    lowest, highest = np.minimum(LOWER, reference[0]), np.maximum(UPPER, reference[0])
    assert ((reference >= lowest - 1e-9) & (reference <= highest + 1e-9)).all()
    velocity = records["reference_velocity"][held]
    assert (np.abs(velocity) <= FASTEST + 1e-9).all()
    assert (np.abs(np.diff(velocity, axis=0)) <= ACCELERATION * 0.01 + 1e-9).all()
    assert (np.diff(np.abs(velocity), axis=0) <= 1e-12).all()
    assert ((position >= lowest - LUNGE) & (position <= highest + LUNGE)).all()
    assert np.ptp(position[-80:], axis=0).max() <= MODEL.rad_per_tick
    assert (records["state"][-80:] == State.IDLE).all()


@pytest.mark.parametrize("make", [Simulated, Servos])
def test_no_hand_gets_a_robot_beyond_what_it_forces_and_each_is_held_still_afterwards(
    tmp_path: Path, make: Callable[[VirtualClock], Simulated | Servos]
) -> None:
    ends = set()
    for seed in range(HANDS):
        mode = "gravity" if seed % 2 else "released"
        clock = VirtualClock(100.0)
        robot = Guided(tmp_path, make(clock), clock)
        robot.teach(mode, np.random.default_rng(seed))
        taught = [one for changed in robot.notices_of(messages.Changed) for one in changed.taught]
        assert len(taught) == 1, seed
        ends.add(taught[0].details.get("check", taught[0].code))
        assert not [one for one in robot.notices_of(messages.Happened) if one.kind == "fault"], seed
        check_records(robot.records(), mode)
        robot.driver.close()
        robot.close()
    assert ends == {"CANCELED", "position_limit", "velocity_limit"}


def test_what_is_released_falls_and_is_caught(tmp_path: Path) -> None:
    clock = VirtualClock(100.0)
    robot = Guided(tmp_path, Simulated(clock), clock)
    robot.enable()
    robot.reader.take()
    robot.channel.send(messages.Teach("released"))
    robot.step()
    robot.step_until(lambda: robot.state() is State.IDLE, most=400)
    robot.step(150)
    check_records(robot.records(), "released")
    (ended,) = [one for changed in robot.notices_of(messages.Changed) for one in changed.taught]
    assert (ended.details["check"], ended.details["joint"]) == ("position_limit", "shoulder")
    robot.driver.close()
    robot.close()


@pytest.mark.parametrize("make", [Simulated, Servos])
def test_a_robot_that_is_caught_again_and_again_does_not_sink(
    tmp_path: Path, make: Callable[[VirtualClock], Simulated | Servos]
) -> None:
    clock = VirtualClock(100.0)
    robot = Guided(tmp_path, make(clock), clock)
    robot.enable()
    robot.step(100)
    records = robot.records()
    began, sag = records["position"][-1], np.abs(records["position"][-1] - records["position"][0])
    for _ in range(20):
        robot.channel.send(messages.Teach("gravity"))
        robot.step(60)
        assert robot.state() is State.TEACHING
        robot.channel.send(messages.Stop())
        robot.step_until(lambda: robot.state() is State.IDLE, most=400)
        robot.step(60)
    went = np.abs(robot.records()["position"][-1] - began)
    assert (went <= np.maximum(sag, MODEL.rad_per_tick)).all(), (went, sag)
    robot.driver.close()
    robot.close()
