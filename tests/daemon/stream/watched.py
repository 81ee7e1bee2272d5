"""Robots on virtual time whose actuators can be pushed, heated and lost, and ways into each state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.states import State
from motiond.daemon.stream.engine.execution import Phase
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.drivers.registry import make_driver
from tests.daemon.stream.test_loop import JOINTS, START, UNLIMITED, Bench, setup_of

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.drivers.base import Driver

LIMITS = replace(UNLIMITED, temperature_c=80.0, stale_s=0.25, stall_s=0.5)
END = [0.6, 0.8]
RATE_HZ = 100.0
FAR = np.linspace(START, END, 300)


class Robot(Bench):
    """A loop on virtual time; its driver is a simulated one unless another is given.

    `always`: what each `begin` gives beside its own.
    """

    rate_hz = RATE_HZ

    def __init__(
        self,
        folder: Path,
        *,
        limits: messages.CheckLimits = LIMITS,
        driver: Driver | None = None,
        clock: VirtualClock | None = None,
        setup: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        clock = clock or VirtualClock(100.0)
        initial = {"initial": dict(zip(JOINTS, START, strict=True))}
        driver = driver or make_driver("sim", initial | options, JOINTS, clock.now)
        self.always: dict[str, Any] = {}
        super().__init__(folder, setup_of(limits=limits, **(setup or {})), driver, clock)

    @property
    def position(self) -> np.ndarray[Any, Any]:
        """Where the simulated joints are."""
        position: np.ndarray[Any, Any] = self.driver._plant.position.copy()  # type: ignore[attr-defined]
        return position

    def inject(self, *faults: dict[str, Any]) -> None:
        for fault in faults:
            self.channel.send(messages.Inject(fault))

    def way(self, duration_s: float) -> np.ndarray[Any, Any]:
        """Return rows from where the robot holds to far away, or at rest for no duration."""
        return np.linspace(self.loop.player.position, END, round(duration_s * self.rate_hz))

    def rest(self, duration_s: float) -> np.ndarray[Any, Any]:
        """Return rows that stay where the robot holds."""
        return np.repeat(self.loop.player.position[np.newaxis], round(duration_s * self.rate_hz), axis=0)

    def begin(self, rows: np.ndarray[Any, Any] = FAR, **play: Any) -> None:
        self.play(rows, **(play | self.always))

    def run_for(self, duration_s: float) -> None:
        until_s = self.clock.now() + duration_s
        while self.clock.now() < until_s and not self.loop.lost:
            self.loop.step()
            self.hear()

    def events(self, kind: str) -> list[Any]:
        return [notice for notice in self.notices_of(messages.Happened) if notice.kind == kind]

    def leave(self) -> None:
        """End what plays, as it is in shared memory, and close everything."""
        if self.loop.player.execution is not None and not self.loop.lost:
            self.channel.send(messages.Estop())
            self.step(2)
        self.driver.close()
        self.close()


# -- states -----------------------------------------------------------------------------------------------


def approaching(robot: Robot) -> None:
    robot.begin(robot.way(3.0), approach=robot.rest(4.0))
    robot.step(5)
    assert robot.state() is State.APPROACHING


def waiting(robot: Robot) -> None:
    robot.begin(robot.way(3.0), start_s=robot.clock.now() + 20.0)
    robot.step(5)
    assert robot.loop.player.waits


def playing(robot: Robot) -> None:
    robot.begin(robot.way(3.0))
    robot.step(5)
    assert robot.state() is State.PLAYING


def settling(robot: Robot) -> None:
    robot.begin(robot.rest(0.02), goal_tolerance=[1e-4] * 2)
    robot.step(20)
    assert robot.loop.player.phase is Phase.SETTLE


def pausing(robot: Robot) -> None:
    robot.begin(robot.way(9.0), clock_acceleration=1.0)
    robot.step(5)
    robot.channel.send(messages.Pause())
    robot.step()
    assert robot.state() is State.PAUSING


def paused(robot: Robot) -> None:
    robot.begin(robot.way(3.0))
    robot.run_for(0.1)
    robot.channel.send(messages.Pause())
    robot.step_until(lambda: robot.state() is State.PAUSED)
    robot.run_for(0.6)
    assert robot.state() is State.PAUSED


def stopping(robot: Robot) -> None:
    pausing(robot)
    robot.channel.send(messages.Stop())
    robot.step()
    assert robot.state() is State.STOPPING


def holding(robot: Robot) -> None:
    robot.run_for(0.6)
    assert (robot.state(), robot.loop.player.torque) == (State.IDLE, True)


def estopped(robot: Robot) -> None:
    robot.channel.send(messages.Estop())
    robot.run_for(0.7)
    assert robot.state() is State.ESTOPPED


def faulty(robot: Robot) -> None:
    """Let one write fail: the driver goes on to hold where the halt has found the joints."""

    def fail(_command: object) -> None:
        raise ZeroDivisionError

    vars(robot.driver)["write"] = fail
    robot.step(3)
    del vars(robot.driver)["write"]
    robot.run_for(0.7)
    assert (robot.state(), robot.loop.player.torque) == (State.FAULT, True)


def released(robot: Robot) -> None:
    robot.channel.send(messages.Disable())
    robot.run_for(0.6)
    assert not robot.loop.player.torque


STATES = {
    "approaching": approaching,
    "waiting for start_at": waiting,
    "playing": playing,
    "settling": settling,
    "pausing": pausing,
    "paused": paused,
    "stopping": stopping,
    "holding": holding,
    "estopped": estopped,
    "fault": faulty,
    "released": released,
}
