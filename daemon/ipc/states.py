"""The states of a robot, the events that move it from one to another, and how a goal may end.

The table is the whole state machine: the player applies it, and the drawing in `docs/architecture.md` is held
to it by a test.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class State(StrEnum):
    """What a robot does; the order is that of the numbers in telemetry records."""

    OFFLINE = "offline"  # no stream process, or its driver is not open
    IDLE = "idle"  # holding, or released
    APPROACHING = "approaching"  # on the way to the row that is played next
    PLAYING = "playing"
    PAUSING = "pausing"  # slowing down on the path, to go on later
    PAUSED = "paused"  # at rest on the path
    STOPPING = "stopping"  # slowing down on the path, to end
    ESTOPPED = "estopped"  # halted, until reset
    FAULT = "fault"  # halted, until reset
    TEACHING = "teaching"  # moved by hand: released, or carrying its own weight
    FOLLOWING = "following"  # moved by targets that come as it goes


class Event(StrEnum):
    """What moves the state machine on."""

    PLAY = "play"
    TEACH = "teach"
    FOLLOW = "follow"
    ARRIVED = "arrived"  # at the row that is played next
    FINISHED = "finished"  # the last row is out
    PAUSE = "pause"
    RESUME = "resume"  # on the motion
    RETURN = "return"  # resume on the approach
    REPEAT = "repeat"  # a pass is over; on the way to the next
    SEEK = "seek"  # on the way to another place of the motion
    STOP = "stop"
    STOPPED = "stopped"  # the clock has come to rest
    ESTOP = "estop"
    RESET = "reset"
    FAULT = "fault"


class ResultCode(StrEnum):
    """How a goal ended."""

    SUCCESSFUL = "SUCCESSFUL"
    INVALID_GOAL = "INVALID_GOAL"
    PATH_TOLERANCE_VIOLATED = "PATH_TOLERANCE_VIOLATED"
    GOAL_TOLERANCE_VIOLATED = "GOAL_TOLERANCE_VIOLATED"
    CANCELED = "CANCELED"
    PREEMPTED = "PREEMPTED"
    ESTOP = "ESTOP"
    HARDWARE_FAULT = "HARDWARE_FAULT"
    COMM_LOST = "COMM_LOST"
    DEADLINE_MISSED = "DEADLINE_MISSED"


STATES = tuple(State)
ACTIVE = frozenset(
    {
        State.APPROACHING,
        State.PLAYING,
        State.PAUSING,
        State.PAUSED,
        State.STOPPING,
        State.TEACHING,
        State.FOLLOWING,
    }
)
TAKEN_OVER = frozenset({State.APPROACHING, State.PLAYING, State.PAUSING, State.PAUSED})
"""States in which another motion may take over without a rest."""
SLOWING = frozenset({State.PAUSING, State.PAUSED, State.STOPPING})
HALTED = frozenset({State.ESTOPPED, State.FAULT})

# Every pair that is not here leaves the state as it is.
TRANSITIONS: Mapping[tuple[State, Event], State] = {
    (State.IDLE, Event.PLAY): State.APPROACHING,
    **{(state, Event.PLAY): State.APPROACHING for state in TAKEN_OVER},
    (State.IDLE, Event.TEACH): State.TEACHING,
    (State.IDLE, Event.FOLLOW): State.FOLLOWING,
    (State.APPROACHING, Event.ARRIVED): State.PLAYING,
    (State.APPROACHING, Event.PAUSE): State.PAUSING,
    (State.PLAYING, Event.FINISHED): State.IDLE,
    (State.PLAYING, Event.REPEAT): State.APPROACHING,
    (State.PLAYING, Event.PAUSE): State.PAUSING,
    (State.PAUSING, Event.STOPPED): State.PAUSED,
    (State.PAUSING, Event.RESUME): State.PLAYING,
    (State.PAUSING, Event.RETURN): State.APPROACHING,
    (State.PAUSED, Event.RESUME): State.PLAYING,
    (State.PAUSED, Event.RETURN): State.APPROACHING,
    (State.PAUSED, Event.SEEK): State.APPROACHING,
    (State.STOPPING, Event.STOPPED): State.IDLE,
    (State.ESTOPPED, Event.RESET): State.IDLE,
    **{(state, Event.STOP): State.STOPPING for state in ACTIVE - {State.STOPPING}},
    **{(state, Event.ESTOP): State.ESTOPPED for state in ACTIVE | {State.IDLE}},
    **{(state, Event.FAULT): State.FAULT for state in ACTIVE | {State.IDLE, State.ESTOPPED}},
}
