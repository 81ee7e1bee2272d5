"""What is known of one robot, and what was sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...api import RequestError
from ...ipc import messages
from ...ipc.states import ACTIVE, State
from .pending import UNSENT, Begin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...api import TeachMode
    from ...ipc.states import ResultCode
    from .goal import Goal, MotionGoal
    from .outlet import Outlet

OFFLINE = messages.Changed(State.OFFLINE, torque=False, goal_id=None, reference=None)
"""What is known of a robot that cannot be moved."""


@dataclass(slots=True, eq=False)
class Removed:
    """A goal that was taken out of the queue when what plays was to flow into it, and may have begun.

    `number` is that of the command that lets what plays end by itself; by then either has come about.
    """

    goal: Goal
    code: ResultCode
    reason: str
    number: int


class RobotFacts:
    """What is known of one robot, what plays, is about to and waits, and what was sent.

    - `robot`: the robot's name, for messages

    - `known`: what the stream process has reported last; `OFFLINE` while nothing can be moved
    - `message`: why the robot is offline or in fault
    - `failed`: the actuators that this is about, as far as that is known
    - `alarms`: checks that fail now, each with why
    - `goal`: what was sent to play, and is not known to have ended
    - `beside`: likewise, what plays beside it, each on joints of its own
    - `last`: how the last goal ended that has begun
    - `begin`: what is about to play; what waits has come after it
    - `queue`: what waits, in the order in which it would play
    - `chained`: of what waits, what the goal was sent to flow into
    - `flowed`: what has flowed into the goal
    - `teaching`: how it is taught, by what was asked for, until it is known to have ended; None otherwise
    - `untaught`: why it is not taught any more, or was not the last time
    - `latched`: whether the emergency stop is: until a reset, whatever becomes of the stream process
    - `leaving`: whether the robot is about to end
    - `sent`: the number of the last command
    - `stopped`: that of the last command which ended or released anything
    - `used`: whether anything was asked or reported since somebody has set it to False
    """

    def __init__(self, robot: str, outlet: Outlet) -> None:
        self.known = OFFLINE
        self.message = "starting"
        self.failed: Sequence[str] = ()
        self.alarms: dict[str, str] = {}
        self.goal: Goal | None = None
        self.beside: list[Goal] = []
        self.last: messages.Ended | None = None
        self.begin: Begin | None = None
        self.queue: list[Goal] = []
        self.chained: MotionGoal | None = None
        self.flowed: Goal | None = None
        self._removed: list[Removed] = []
        self.teaching: TeachMode | None = None
        self.untaught: messages.TeachingEnded | None = None
        self.latched = self.used = self.leaving = False
        self.sent = self.stopped = 0
        self._robot, self._outlet = robot, outlet
        self._lost = self._unsettled = 0
        self._awaited = ""

    @property
    def state(self) -> State:
        """The stream process's own; `offline` without one."""
        return State(self.known.state)

    @property
    def holds(self) -> list[bool]:
        """Whether each actuator holds: by what it reports, or by what was asked of it where it does not."""
        return [self.known.torque if found is None else found > 0.0 for found in self.known.found]

    @property
    def is_on(self) -> bool:
        """Whether any actuator holds, whoever has switched its torque on."""
        return any(self.holds) if self.holds else self.known.torque

    @property
    def reason(self) -> str:
        """Why it is as it is: the reason of its state, else the first check that fails; '' if all is well."""
        return self.message or next(iter(self.alarms.values()), "")

    @property
    def in_words(self) -> str:
        """What the robot does, for messages."""
        if self.state in {State.OFFLINE, State.FAULT}:
            return f"{self.state} ({self.message})" if self.message else str(self.state)
        return f"{self.state} with torque {'on' if self.is_on else 'off'}"

    @property
    def goals(self) -> list[Goal]:
        """All that plays, what plays beside others last."""
        return [self.goal, *self.beside] if self.goal else [*self.beside]

    def state_of(self, goal: Goal) -> State:
        """Return what a goal that plays does; one that was just sent is on its way."""
        known = self.known
        own = known.beside.get(goal.goal_id) if goal.is_beside else known.state
        has_begun = goal.is_beside or known.goal_id == goal.goal_id
        return State(own) if own and has_begun else State.APPROACHING

    @property
    def rate_hz(self) -> float | None:
        """Of the rows of all that plays, which is the same; None where none are played."""
        return next((goal.plan.rate_hz for goal in self.goals if goal.plan is not None), None)

    @property
    def rests(self) -> bool:
        """Whether nothing plays, waits or is about to begin, and nothing moves."""
        return not (self.goals or self.begin or self.queue) and self.state not in ACTIVE

    @property
    def stands(self) -> bool:
        """Whether the robot holds at rest."""
        return self.state is State.IDLE and self.known.torque and not self.latched

    @property
    def is_ready(self) -> bool:
        """Whether a goal could begin now: it stands, and has obeyed every command about torque and state."""
        is_free = self.goal is None and self.begin is None
        return is_free and self.stands and self.is_obeyed(self._unsettled)

    @property
    def needs_control(self) -> bool:
        """Whether something plays, or is about to, that ends with the control of whoever began it."""
        goals = (self.goal, self.begin.goal if self.begin else None)
        return any(goal is not None and goal.needs_control for goal in goals)

    def is_obeyed(self, number: int) -> bool:
        """Whether a command has been obeyed, or its stream process was lost."""
        return self.known is OFFLINE or number <= max(self.known.after, self._lost)

    def busy(self, fix: str = "") -> RequestError:
        """Return the refusal of a robot that plays, with what the client can do."""
        goal = next(iter(self.goals), None)
        is_endless = goal is not None and goal.is_endless
        fix = fix or f"stop it first, {'or replace it' if is_endless else 'replace it, or queue behind it'}"
        what = f"busy with {goal.motion if goal else 'another motion'}"
        goal_id = {"goal_id": goal.goal_id} if goal else {}
        return RequestError("BUSY", self._robot, what, "one motion plays at a time", fix, **goal_id)

    def in_the_way(self, goal: Goal) -> list[Goal]:
        """Return what plays, or is flowed into next, that a goal cannot play beside."""
        others = [*self.goals, *([self.chained] if self.chained else [])]
        return [other for other in others if other is not goal and goal.why_not_beside(other)]

    @property
    def _base_moves(self) -> bool:
        """Whether anything moves that does not play beside others."""
        only_beside = self.known.goal_id is None and bool(self.known.beside)
        return self.goal is not None or (self.state in ACTIVE and not only_beside)

    @property
    def _begin_of_base(self) -> Begin | None:
        """What is about to play alone."""
        return None if self.begin is not None and self.begin.goal.is_beside else self.begin

    @property
    def _may_be_followed(self) -> bool:
        """Whether something plays that nothing has ended yet."""
        return self.goal is not None and self._goes_on(self.goal)

    def _goes_on(self, goal: Goal) -> bool:
        """Whether a goal plays that nothing has ended yet."""
        return goal in self.goals and goal.number > self.stopped and not goal.is_stopped

    def moving(self, goal_id: str) -> Goal | None:
        """Return the goal that moves the robot, or overlaps with it, by its id; None for any other."""
        goals = (*self.goals, self.flowed, self.chained, *(removed.goal for removed in self._removed))
        return next((goal for goal in goals if goal is not None and goal.goal_id == goal_id), None)

    # -- what is sent ---------------------------------------------------------------------------------------

    def _send(self, command: messages.Command) -> int:
        return self._note_sent(self._outlet.send(command))

    def _note_sent(self, number: int) -> int:
        self.used = True
        self.sent = number or self.sent + 1
        return number or UNSENT

    def _stop(self, stop: messages.Stop) -> int:
        number = self._send(stop)
        self.stopped = self.sent
        return number

    def _settle(self, command: messages.Command, awaited: str) -> int:
        """Send what changes torque or state: nothing begins before it is obeyed."""
        self._unsettled, self._awaited = self._send(command), awaited
        return self._unsettled
