"""One follow: targets that come as it goes, and the joints that they move.

Each setpoint is within every limit, whatever comes (`daemon/trajectory/online.py`).
"""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ...trajectory import FULL_RAMP, OnlineGenerator, OnlineLimits, Transmission, slack_of
from .execution import Tolerances

if TYPE_CHECKING:
    from motiond.drivers import ActuatorLimits
    from motiond.formats.arrays import Floats

    from ...ipc.messages import Follow, Setup, Target

NEWEST = 1000
"""Of so many targets the latency is kept."""


class FollowLimits:
    """The limits of one robot's joints while they follow targets, shape (joints,) each.

    Where no limit of velocity is known, it is that of approaches. The jerk is at least that of approaches,
    and such that a joint can come to rest from its greatest velocity in `stop_duration_s`; so is the
    acceleration where no limit of it is known.
    """

    def __init__(self, setup: Setup, allowed: ActuatorLimits) -> None:
        ways = setup.ways
        found = Transmission.from_lists(setup.transmission).limits_of_joints(allowed)
        of_joints = {kind: values for kind, (values, _) in found.items()}
        self.lower = np.fmax(np.array(ways.lower, float), of_joints["lower"])
        self.upper = np.fmin(np.array(ways.upper, float), of_joints["upper"])
        self.slack = slack_of(self.lower, self.upper, setup.units)
        stop_s = FULL_RAMP / ways.clock_acceleration
        limit = np.fmin(np.array(ways.velocity_limit, float), of_joints["velocity"])
        self.velocity = np.where(np.isfinite(limit), limit, ways.velocity)
        limit = np.fmin(np.array(ways.acceleration_limit, float), of_joints["acceleration"])
        needed = np.maximum(ways.acceleration, 2.0 * self.velocity / stop_s)
        self.acceleration = np.where(np.isfinite(limit), limit, needed)
        self.jerk = np.maximum(ways.jerk, 4.0 * self.velocity / stop_s**2)
        self.leaders, self.turns = np.array(ways.leaders), np.array(ways.multipliers)


class Pursuit:
    """One follow: where its joints go, and what has become of its targets.

    - `goal_id`, `rate_hz`: its own
    - `path` (Tolerances): how far the feedback may be from the setpoints
    - `timeout_s`: without a target for so long it is to end
    """

    def __init__(self, follow: Follow, limits: FollowLimits, setup: Setup, position: Floats) -> None:
        self.goal_id, self.rate_hz, self.timeout_s = follow.goal_id, follow.rate_hz, follow.timeout_s
        self.path = Tolerances(follow.path_tolerance)
        self._is_by_velocity = follow.mode == "velocity"
        self._joints, self._names, self._units = follow.joints, setup.joints, setup.units
        column = {joint: index for index, joint in enumerate(follow.joints)}
        leaders, turns = limits.leaders.tolist(), limits.turns
        self._moved = [joint for joint, leader in enumerate(leaders) if leader in column and turns[joint]]
        self._columns = [column[leaders[joint]] for joint in self._moved]
        self._turns, self._begun = limits.turns[self._moved], position[self._moved]
        self._start = position[self._joints]
        self._generator = OnlineGenerator(self._joint_limits(limits), self._start, 1.0 / follow.rate_hz)
        self._sent_at = -math.inf
        self._unwritten: list[float] = []
        self._latencies: deque[float] = deque(maxlen=NEWEST)
        self._targets = self._clipped = self._dropped = self._refused = 0

    def _joint_limits(self, limits: FollowLimits) -> OnlineLimits:
        """Return what joints with targets may do, so that those in step with them keep their limits, too."""
        moved, columns, turns = self._moved, self._columns, self._turns
        ways = np.stack([end[moved] - self._begun for end in (limits.lower, limits.upper)]) / turns
        ends = np.sort(ways + self._start[columns], axis=0)
        count = len(self._joints)
        lower, upper = np.full(count, -np.inf), np.full(count, np.inf)
        np.maximum.at(lower, columns, ends[0])
        np.minimum.at(upper, columns, ends[1])
        others = [np.full(count, np.inf) for _ in range(3)]
        for bound, values in zip(others, (limits.velocity, limits.acceleration, limits.jerk), strict=True):
            np.minimum.at(bound, columns, values[moved] / np.abs(turns))
        return OnlineLimits(lower, upper, *others)

    # -- targets --------------------------------------------------------------------------------------------

    def take(self, target: Target) -> bool:
        """Go where a target leads; return whether it was taken."""
        values, others = target.positions, target.velocities
        if self._is_by_velocity:
            values, others = others, values
        wanted = np.array([] if values is None else values, dtype=float)
        passing = None if others is None else np.array(others, dtype=float)
        if not self._fits(wanted) or (
            passing is not None and (self._is_by_velocity or not self._fits(passing))
        ):
            self._refused += 1
            return False
        if not self._is_new(target.sent_at):
            return False
        generator = self._generator
        if self._is_by_velocity:
            self._clipped += generator.aim_at_velocity(wanted)
        else:
            self._clipped += generator.aim(wanted, passing)
        self._note(target.taken_at if target.sent_at is None else target.sent_at)
        return True

    def _fits(self, values: Floats) -> bool:
        return values.shape == self._start.shape and not np.isinf(values).any()

    def _is_new(self, sent_at: float | None) -> bool:
        """Whether nothing later was sent before; what has been overtaken counts as dropped."""
        if sent_at is not None:
            if sent_at < self._sent_at:
                self._dropped += 1
                return False
            self._sent_at = sent_at
        return True

    def _note(self, since: float) -> None:
        self._targets += 1
        if len(self._unwritten) < NEWEST:
            self._unwritten.append(since)

    # -- setpoints ------------------------------------------------------------------------------------------

    def move(self, ticks: int, position: Floats, velocity: Floats, *, brakes: bool) -> bool:
        """Fill in where the joints go next, shape (joints,); return whether they have braked to rest.

        `ticks`: by so many; more than 1 where deadlines were missed and are skipped.
        """
        generator, rests = self._generator, False
        for _ in range(ticks):
            if brakes:
                rests = generator.brake()
            else:
                generator.step()
        gone = (generator.position - self._start)[self._columns]
        position[self._moved] = self._begun + self._turns * gone
        position[self._joints] = generator.position
        velocity[self._moved] = self._turns * generator.velocity[self._columns]
        return rests

    # -- what is reported -----------------------------------------------------------------------------------

    def note_written(self, written_at: float) -> None:
        """Count how long targets took to the setpoint that was written then, by Unix time in s."""
        if self._unwritten:
            self._latencies.extend(written_at - since for since in self._unwritten)
            self._unwritten.clear()

    def facts(self, measured: Floats) -> dict[str, Any]:
        """Return what has become of the targets, as `Followed` has it; `measured`: shape (joints,)."""
        return {
            "targets": self._targets,
            "clipped": self._clipped,
            "dropped": self._dropped,
            "refused": self._refused,
            "latency_s": self._latency_s(),
            "lag": self._lag(measured),
        }

    def _latency_s(self) -> dict[str, float] | None:
        if not self._latencies:
            return None
        p50, p99, most = np.percentile(self._latencies, [50, 99, 100], method="higher").tolist()
        return {"p50": p50, "p99": p99, "max": most}

    def _lag(self, measured: Floats) -> dict[str, Any] | None:
        lag = self._generator.target - measured[self._joints]
        if not self._targets or not np.isfinite(lag).any():
            return None
        worst = int(np.nanargmax(np.abs(lag)))
        joint = self._joints[worst]
        return {"joint": self._names[joint], "value": float(lag[worst]), "unit": self._units[joint]}
