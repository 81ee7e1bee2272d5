"""Compares feedback with the tolerances of what plays, and breaks it off, or ends it where it has settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ipc.states import ResultCode, State
from .execution import Phase

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats.arrays import Booleans, Floats

    from .execution import Execution
    from .player import Player
    from .tolerances import Excess

# Members of enums are slow to look up in every tick.
MOTION, SETTLE = Phase.MOTION, Phase.SETTLE
STOPPING = State.STOPPING


def watch_tolerances(
    player: Player,
    measured: Floats,
    forgiven: Booleans | None = None,
    verified: Callable[[], bool] = lambda: True,
) -> None:
    """Compare feedback with the tolerances, once the tick's setpoint is written.

    Parameters
    ----------
    player : Player
        Is stopped softly where a joint breaks its tolerance, and has finished where all have come near enough
        to the last row.
    measured : ndarray, shape (joints,)
    forgiven : ndarray of bool, shape (joints,), optional
        Joints that may be anywhere, as they have stalled and may.
    verified : callable
        Asked before the execution ends well; where it says no, it has ended in another way.
    """
    execution = player.execution
    if execution is None or player.state is STOPPING:
        return
    if player.phase is MOTION:
        if execution.path.any and (excess := execution.path.worst(player.position, measured, forgiven)):
            _break_off(player, execution, ResultCode.PATH_TOLERANCE_VIOLATED, excess, "path")
    elif player.phase is SETTLE and not player.slowing:
        excess = execution.goal.worst(player.position, measured, forgiven)
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
    player: Player, execution: Execution, code: ResultCode, excess: Excess, kind: str, *, waited: str = ""
) -> None:
    """Stop softly because of a joint that breaks its path or goal tolerance."""
    joint, unit = player.joints[excess.joint], player.units[excess.joint]
    time_s = player.frame / execution.rate_hz
    what = f"joint '{joint}' is {excess.far(unit)} at {time_s:.3f} s (row {player.frame:.0f}){waited}"
    tolerance = f"its {kind} tolerance is {excess.tolerance:.4g} {unit}"
    message = f"{what}; {tolerance}; look for what holds it, or raise the tolerance"
    player.stop(code, message, excess.details(joint, unit) | {"time": time_s})
