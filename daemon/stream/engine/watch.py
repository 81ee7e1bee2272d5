"""Watches a robot whenever its actuators hold, in every state, and decides what follows from what it finds.

While a goal plays, a check that fails stops it softly with the check's code, also out of a pause. A robot
that only holds goes on holding, whatever fails: to release it would drop an arm. Each failure is reported
once, when it begins, and once more when it is over (docs/explanations/checks.md).
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ipc.messages import Happened
from ...ipc.states import ResultCode, State
from ..timing import CHECK_PERIOD_S
from .checks import Checks
from .displacement import Displacement, WaysBack
from .execution import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats.arrays import Booleans, Floats

    from ...ipc.messages import Notice, Setup
    from ..timing import Schedule
    from .actuators import Actuators
    from .checks import CheckFailure
    from .execution import Excess, Execution
    from .layers import Layers
    from .player import Player
    from .pursuit import Pursuit

# Members of enums are slow to look up in every tick.
MOTION, SETTLE = Phase.MOTION, Phase.SETTLE
STOPPING, FOLLOWING = State.STOPPING, State.FOLLOWING


def watch_tolerances(
    player: Player,
    measured: Floats,
    forgiven: Booleans | None = None,
    verified: Callable[[], bool] = lambda: True,
    reference: Floats | None = None,
) -> None:
    """Compare feedback with the tolerances, once the tick's setpoint is written.

    `reference` (joints,): that setpoint, where it is not the player's own.
    """
    reference = player.position if reference is None else reference
    execution = player.execution
    if execution is None or player.state is STOPPING:
        if player.state is FOLLOWING and (pursuit := player.pursuit) is not None and pursuit.path.any:
            excess = pursuit.path.worst(reference, measured, forgiven)
            if excess is not None:
                _break_off(player, pursuit, ResultCode.PATH_TOLERANCE_VIOLATED, excess, "path")
        return
    if player.phase is MOTION:
        if execution.path.any and (excess := execution.path.worst(reference, measured, forgiven)):
            _break_off(player, execution, ResultCode.PATH_TOLERANCE_VIOLATED, excess, "path")
    elif player.phase is SETTLE and not player.slowing:
        excess = execution.goal.worst(reference, measured, forgiven)
        if excess is not None:
            _settle(player, execution, excess)
        elif verified():
            player.finish()


def _settle(player: Player, execution: Execution, excess: Excess) -> None:
    """Break the execution off where the joints have had their time and are not near enough."""
    if player.settled_ticks < execution.goal_ticks:
        return
    waited = f", {player.settled_ticks / execution.rate_hz:.3f} s after the last row"
    _break_off(player, execution, ResultCode.GOAL_TOLERANCE_VIOLATED, excess, "goal", waited=waited)


def _break_off(
    player: Player,
    execution: Execution | Pursuit,
    code: ResultCode,
    excess: Excess,
    kind: str,
    *,
    waited: str = "",
) -> None:
    """Stop softly because of a joint that breaks its path or goal tolerance."""
    joint, unit = player.joints[excess.joint], player.units[excess.joint]
    time_s = player.frame / execution.rate_hz
    what = f"joint '{joint}' is {excess.far(unit)} at {time_s:.3f} s (row {player.frame:.0f}){waited}"
    tolerance = f"its {kind} tolerance is {excess.tolerance:.4g} {unit}"
    message = f"{what}; {tolerance}; look for what holds it, or raise the tolerance"
    player.stop(code, message, excess.details(joint, unit) | {"time": time_s})


class Hold(Enum):
    """How the actuators hold: not at all, on a way, at a setpoint, or where a halt found them."""

    NONE = 0
    MOVING = 1
    HELD = 2
    HALTED = 3


NONE, MOVING, HELD, HALTED = Hold.NONE, Hold.MOVING, Hold.HELD, Hold.HALTED
PASSES = {
    "effort": "no joint is beyond its effort limit any more",
    "temperature": "no actuator is too hot any more",
    "stale": "all actuators report again",
    "position": "all joints have a measured position again",
    "stall": "all joints are where they are held again",
}


class Watch:
    """The watch over one robot."""

    def __init__(
        self,
        setup: Setup,
        layers: Layers,
        actuators: Actuators,
        schedule: Schedule,
        *,
        report: Callable[[Notice], None],
        verified: Callable[[], bool],
    ) -> None:
        limits = setup.limits
        self.checks = Checks(limits, setup.joints, setup.units, setup.actuators)
        self._player, self._layers = layers.base, layers
        self._actuators, self._schedule = actuators, schedule
        self._report, self._verified = report, verified
        self.ways = WaysBack(setup, actuators.driver.limits)
        self._may_stall = any(limits.may_stall)
        self._displacement = Displacement(
            setup.ways.start_tolerance, limits.stall_error, limits.may_stall, np.array(setup.ways.leaders)
        )
        looks = math.ceil(schedule.idle_period_s / CHECK_PERIOD_S)
        self._checks_at_rest = range(min(self.checks.count, max(1, looks)))
        self._unknown, self._nothing = np.full(len(setup.joints), np.nan), np.zeros(len(setup.joints))
        self._kind, self._moving = Hold.NONE, layers.driven
        self._was_loose = True

    def look(self, now_s: float) -> None:
        """Check what was read in this tick; without torque there is nothing to watch but a hand."""
        player, schedule = self._player, self._schedule
        if not player.torque:
            self._kind, self._was_loose = NONE, True
            if player.in_hand:
                actuators = self._actuators
                self._judge(self.checks.check_feedback(actuators.record, actuators.stamps_s, now_s))
        elif not player.active and (player.halted or not self._layers.any):
            self._note(HALTED if player.halted else HELD, now_s)
            for _ in self._checks_at_rest:
                self._check(now_s)
        elif schedule.index % schedule.ticks_per_check:
            self._watch_tolerances()
        else:
            self._note(HELD if player.rests else MOVING, now_s)
            if not self._check(now_s):
                self._watch_tolerances()

    def start_holding(self) -> None:
        """Forget where the robot has held: torque is switched on where the joints are."""
        self._kind = NONE

    def start_motion(self) -> None:
        """Give joints their time again, as the robot is about to move."""
        self.checks.start(self._actuators.measured, self._schedule.clock.now())

    def _watch_tolerances(self) -> None:
        forgiven = self.checks.forgiven if self._may_stall else None
        if self._layers.any:
            self._watch_layers(forgiven)
        else:
            watch_tolerances(self._player, self._actuators.measured, forgiven, self._verified)

    def _watch_layers(self, forgiven: Booleans | None) -> None:
        """Hold each goal to its tolerances at its own joints; where one breaks them, all goals stop."""
        layers, reference = self._layers, self._actuators.record["reference_position"]
        added = None if layers.addition is None else layers.addition.player
        for player, of_others in layers.parts():
            if player is added and player.phase is SETTLE:  # it ends once its weight has gone
                continue
            may = of_others if forgiven is None else of_others | forgiven
            was = player.state
            watch_tolerances(player, self._actuators.measured, may, self._verified, reference)
            if player.state is STOPPING and was is not STOPPING:
                layers.stop(ResultCode.CANCELED, "stopped, as a joint of a goal beside it broke a tolerance")

    def _check(self, now_s: float) -> bool:
        """Make the next check, and do what follows from it; return whether it fails."""
        return self._judge(self.checks.next_check(self._actuators.record, self._actuators.stamps_s, now_s))

    def _judge(self, failure: CheckFailure | None) -> bool:
        """Do what follows from a check; return whether it fails."""
        player = self._player
        while self.checks.passed:
            check = self.checks.passed.pop()
            self._report(Happened("check_passed", PASSES[check], {"check": check}))
        if failure is None:
            return False
        if failure.is_new:
            found = {"code": failure.code, "state": player.state}
            self._report(Happened("check_failed", failure.message, failure.details | found))
        if self._layers.active:
            goes = player.execution is not None or player.pursuit is not None
            place = {"time": player.frame * self._schedule.period_s} if goes else {}
            self._layers.stop(failure.code, failure.message, failure.details | place)
        return True

    def _note(self, kind: Hold, now_s: float) -> None:
        """Learn where the joints are while the setpoint stands still."""
        displacement = self._displacement
        if kind is not self._kind or self._layers.driven is not self._moving:
            self._change(kind, now_s)
        if kind is not MOVING:
            measured = self._actuators.measured
            displacement.look(self._player.position, measured, now_s, bounded=kind is HELD)
            if kind is HALTED and displacement.settled:
                self.checks.held = self._held_by_halt()

    def _held_by_halt(self) -> Floats:
        """Return how far from the setpoint a halt holds each joint; NaN where an actuator has let go."""
        ordinary, actuators = self._displacement.ordinary, self._actuators
        return np.where(actuators.loose_joints, np.nan, ordinary) if actuators.loose else ordinary

    def _change(self, kind: Hold, now_s: float) -> None:
        if NONE is self._kind or HALTED in {kind, self._kind}:
            self.start_motion()
        if self._was_loose:  # what failed before has ended with the torque, and is not told to pass
            self._was_loose = False
            self.checks.forget()
        self._kind, self._moving = kind, self._layers.driven
        self.checks.rests = kind is not MOVING and not self._layers.any
        # A halt holds the joints where it finds them, and not at the setpoint.
        self.checks.held = self._unknown if kind is HALTED else self._nothing
        self._displacement.start(now_s)

    def displaced(self) -> Floats | None:
        """Return from where to begin, shape (joints,), if joints were moved from where they are held."""
        if self._kind is not HELD:
            return None
        moving = self._moving | self._layers.driven  # those that have just come to rest are looked at later
        return self._displacement.begin_from(self._player.position, self._actuators.measured, moving)

    def moved(self, joints: Booleans) -> dict[str, Any] | None:
        """Return which of some joints at rest, shape (joints,), was moved furthest, and how far.

        None where none is further from its setpoint than an error that may hold it there.
        """
        held, measured = self._actuators.record["reference_position"], self._actuators.measured
        moved = self._displacement.far(held, measured) & joints
        return self.ways.describe(np.where(moved, measured, held), held) if moved.any() else None
