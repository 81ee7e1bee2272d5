"""What a session reaches beyond itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ...api import Follows, Subject
    from ...ipc import messages
    from .goal import Goal, MotionGoal
    from .goal_planner import WayOver
    from .pending import Seek


class Outlet(Protocol):
    """What a session reaches beyond itself. Nothing here waits, or calls the session.

    `begin`, `seek` and `park_goal` raise RequestError where there is no way, or nobody takes the command.
    """

    def refuse_late(self, goal: Goal) -> None:
        """Raise RequestError where nobody waits for a goal to begin any more."""

    def send(self, command: messages.Command) -> int:
        """Send a command and return its number; 0 if nobody takes it."""

    def is_looked_at(self, goal: Goal, start: list[float], row: int | None = None) -> bool:
        """Whether where a goal leads has been looked at: from a setpoint, or to a row.

        Where not, `RobotSession.go_on` is called once it has.
        """

    def begin(self, goal: Goal, start: list[float]) -> tuple[int, dict[str, Any]]:
        """Send a goal that begins at a setpoint; return the command's number, and what its answer holds."""

    def chain(self, before: MotionGoal, goal: MotionGoal) -> int:
        """Send what a goal flows into, at its end; return the command's number; raises RequestError."""

    def foresee(self, goal: Goal) -> bool:
        """Ask from where a goal is to take over what moves, if its way has to be looked at before.

        `RobotSession.hand_over` is called once it has. Returns whether it has to be; raises RequestError.
        """

    def take_over(self, goal: Goal, over: WayOver | None = None) -> int:
        """Send a goal that is to begin from what moves; return the command's number; raises RequestError.

        `over`: the way that was looked at; None where the stream process plans it.
        """

    def flow(self, goal: Goal) -> None:
        """Take that a goal has begun without a rest, as the one before flows into it or is taken over."""

    def seek(self, seek: Seek, start: list[float]) -> int:
        """Send the way from a setpoint to a place; return the command's number."""

    def park_goal(self, option: str) -> Goal:
        """Return a goal that goes to the pose `park`, as an option of the configuration asks for."""

    def end(self) -> None:
        """Let the stream process stop softly and end, and start no other."""

    def warn(self, message: str) -> None:
        """Write to the log."""

    def report(self, subject: Subject, data: dict[str, Any]) -> None:
        """Publish a report."""

    def report_state(self) -> None:
        """Publish what the robot does now."""

    def report_result(self, goal: Goal, ended: messages.Ended, follows: Follows | None) -> None:
        """Publish how a goal ended, and what the robot then does by itself."""

    def end_teaching(self, ended: messages.TeachingEnded) -> None:
        """Publish why the robot is not taught any more."""

    def wake(self) -> None:
        """Let those look again who wait for a change."""
