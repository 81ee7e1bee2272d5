"""A robot on virtual time that follows targets, and what its setpoints have to keep."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.daemon.ipc import messages
from motiond.daemon.ipc.messages import OFF
from motiond.daemon.ipc.ring import COLUMN, slices
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.stream.engine.pursuit import FollowLimits
from motiond.daemon.trajectory.ramp import FULL_RAMP
from tests.daemon.stream.test_loop import JOINTS, WAYS
from tests.daemon.stream.watched import Robot

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

RATE_HZ = 200.0
UNIX_S = 1_764_000_000.0
LOWER, UPPER = [-1.0, -1.5], [1.2, 1.5]
VELOCITY, ACCELERATION = [1.0, 2.0], [8.0, 6.0]
STOP_S = 0.5
BOUNDS = replace(
    WAYS,
    lower=[*LOWER],
    upper=[*UPPER],
    velocity_limit=[*VELOCITY],
    acceleration_limit=[*ACCELERATION],
    clock_acceleration=FULL_RAMP / STOP_S,
)


class Followed(Robot):
    """A robot whose joints can be moved by targets.

    - `unix_s`: the Unix time at which its clock shows 0
    """

    rate_hz = RATE_HZ
    goal_id = "follow-1"

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, **options: Any) -> None:
        setup = {"ways": BOUNDS} | options.pop("setup", {})
        super().__init__(folder, setup=setup, **options)
        patch.setattr(time, "time", self.unix)
        self.enable()

    def unix(self) -> float:
        """Return the Unix time that it is."""
        return UNIX_S + self.clock.now()

    def follow(self, **changes: Any) -> None:
        """Begin to follow, and forget what was before."""
        values: dict[str, Any] = {
            "goal_id": self.goal_id,
            "joints": [0, 1],
            "mode": "position",
            "rate_hz": self.rate_hz,
            "timeout_s": 0.2,
            "path_tolerance": [OFF] * len(JOINTS),
            "start": self.loop.player.position.tolist(),
        }
        self.notices.clear()
        self.reader.take()
        self.channel.send(messages.Follow(**(values | changes)), number=7)
        self.step()

    def target(
        self, *positions: float | None, sent_at: float | None = None, goal_id: str | None = None
    ) -> None:
        taken_at = self.unix()
        target = messages.Target(goal_id or self.goal_id, [*positions], None, sent_at, taken_at)
        self.channel.send(target)

    def velocity(self, *velocities: float | None) -> None:
        self.channel.send(messages.Target(self.goal_id, None, [*velocities], None, self.unix()))

    def passing(self, positions: Sequence[float], velocities: Sequence[float]) -> None:
        """Send a target that moves on by itself."""
        self.channel.send(messages.Target(self.goal_id, [*positions], [*velocities], None, self.unix()))

    def chunk(
        self,
        rows: np.ndarray[Any, Any],
        period_s: float = 0.02,
        begins_at: float | None = None,
        sent_at: float | None = None,
    ) -> None:
        own = FollowLimits(self.loop.setup, self.driver.limits).own
        curve, clipped = own.path(np.arange(len(rows)) * period_s, rows)
        chunk = messages.Chunk(self.goal_id, begins_at, sent_at, self.unix(), clipped, curve.as_bytes())
        self.send(chunk)

    def send(self, *commands: messages.Command) -> None:
        for command in commands:
            self.channel.send(command)

    def end(self) -> None:
        self.send(messages.FollowStop(self.goal_id))

    def come_to_rest(self) -> messages.Ended:
        """Let it come to rest, and return how its goal has ended."""
        self.step_until(self.ended)
        (ended,) = self.ends()
        assert self.state() in {State.IDLE, State.ESTOPPED, State.FAULT}
        return ended

    def events_of(self, kind: str) -> list[str]:
        return [event.message for event in self.events(kind)]

    def facts(self) -> messages.Followed:
        notice: messages.Followed = self.notices_of(messages.Followed)[-1]
        return notice

    def setpoints(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return what the ring has since the last call, by name; `state` is by name, too."""
        rows = self.reader.take()
        vectors = {name: rows[:, part] for name, part in slices(len(JOINTS)).items()}
        states = np.array([STATES[int(one)] for one in rows[:, COLUMN["state"]]])
        return vectors | {"state": states, "deadline_s": rows[:, COLUMN["deadline_s"]]}


def assert_within(
    positions: np.ndarray[Any, Any], period_s: float, bounds: messages.WayBounds = BOUNDS
) -> None:
    """Hold setpoints, shape (ticks, joints), to limits by their differences alone."""
    velocity = np.diff(positions, axis=0) / period_s
    acceleration = np.diff(velocity, axis=0) / period_s
    assert (positions >= np.array(bounds.lower, float) - 1e-9).all()
    assert (positions <= np.array(bounds.upper, float) + 1e-9).all()
    assert (np.abs(velocity) <= np.array(bounds.velocity_limit) * 1.000_001).all()
    assert (np.abs(acceleration) <= 1.02 * np.array(bounds.acceleration_limit)).all()
