"""What was heard, through the broker, of the robots that start together: the daemon's own among them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from motiond.text import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_DAEMONS = 10_000
LONGEST_STATE = 60


class Failure(NamedTuple):
    """That a robot does not play with the others.

    Attributes
    ----------
    member : str
        The robot.
    why : str
    has_played : bool
        Whether it had come to its first row, as far as that is known.
    """

    member: str
    reason: str
    has_played: bool


@dataclass(slots=True)
class _Member:
    """One robot of a start.

    Attributes
    ----------
    committed, ready, agrees, playing : bool
        Whether it was heard to have come so far; `agrees` is that its daemon knows that all are ready.
    ended : bool
        Whether it was heard to have played to its end.
    is_reserved : bool
        Whether the robot itself, besides its daemon, was heard to be committed at least.
    may_have_played : bool
        Whether it was ready when the connection was lost.
    daemon : str or None
        Whose robot it is.
    heard_s : float
        When its daemon's pulse told of it last.
    why : str
        Why it does not play with the others; '' where it does.
    """

    committed: bool = False
    ready: bool = False
    agrees: bool = False
    playing: bool = False
    ended: bool = False
    is_reserved: bool = False
    may_have_played: bool = False
    daemon: str | None = None
    heard_s: float = -inf
    reason: str = ""

    def reach(self, phase: str) -> None:
        """Take note of how far it has come; what lies before that, it has done."""
        self.ended |= phase == "ended"
        self.playing |= self.ended or phase == "playing"
        self.ready |= self.playing or phase == "ready"
        self.committed |= self.ready or phase == "committed"


class Daemons:
    """Which daemons are at the broker."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}

    def hear(self, daemon_id: str, data: dict[str, Any]) -> None:
        """Take note of a daemon's availability."""
        if daemon_id in self._states or len(self._states) < MOST_DAEMONS:
            self._states[daemon_id] = shortened(str(data.get("state")), LONGEST_STATE)

    def state(self, daemon_id: str | None) -> str | None:
        """Return what a daemon says of itself, or its last will; None where nothing was heard."""
        return self._states.get(daemon_id or "")

    def forget(self) -> None:
        """Begin anew on a new connection."""
        self._states.clear()


class Members:
    """The robots of one start.

    Parameters
    ----------
    start : str
    robots : sequence of str
    daemons : Daemons
    """

    def __init__(self, start: str, robots: Sequence[str], daemons: Daemons) -> None:
        self._start = start
        self._members = {robot: _Member() for robot in robots}
        self._daemons = daemons

    def __contains__(self, robot: str) -> bool:
        return robot in self._members

    def hear(self, robot: str, data: dict[str, Any]) -> None:
        """Take note of what one of them reports of its reservation."""
        member, phase = self._members[robot], str(data.get("phase"))
        if data.get("start") != self._start:
            # That it is not reserved for a third start is told in between.
            if member.is_reserved and phase != "released":
                member.ended |= member.playing or member.may_have_played
                member.reason = member.reason or ("" if member.ended else "it is not reserved any more")
            return
        if phase == "released":
            member.reason = member.reason or str(data.get("reason"))
            return
        member.reach(phase)
        member.is_reserved |= member.committed

    def hear_pulse(self, daemon_id: str, data: dict[str, Any], now_s: float) -> None:
        """Take note of what a daemon tells of its robots; where it is no pulse, of nothing."""
        robots, reasons = data.get("robots"), data.get("reasons")
        for robot, phase in robots.items() if isinstance(robots, dict) else ():
            member = self._members.get(robot)
            if member is None or member.daemon not in {None, daemon_id}:
                continue
            member.daemon, member.heard_s = daemon_id, now_s
            member.agrees |= data.get("agrees") is True
            if phase == "released":
                told = reasons.get(robot) if isinstance(reasons, dict) else None
                member.reason = member.reason or str(told or "it was let go")
            else:
                member.reach(str(phase))

    def not_committed(self) -> list[str]:
        """Return of whom it was not heard that they are committed, and there."""
        return self._without(lambda one: one.committed and self._is_there(one))

    def not_ready(self) -> list[str]:
        """Return of whom it was not heard that they are ready, and there."""
        return self._without(lambda one: one.ready and self._is_there(one))

    def not_agreed(self) -> list[str]:
        """Return of whom it was not heard that their daemons know that all are ready."""
        return self._without(lambda one: one.agrees)

    def not_playing(self) -> list[str]:
        """Return of whom it was not heard that they have come to their first row."""
        return self._without(lambda one: one.playing)

    def silent(self, since_s: float) -> list[str]:
        """Return of whom no pulse has told since a time."""
        return self._without(lambda one: one.heard_s >= since_s)

    def of(self, daemon_id: str) -> list[str]:
        """Return which of them are known to be a daemon's."""
        return self._without(lambda one: one.daemon != daemon_id)

    def _without(self, holds: Callable[[_Member], bool]) -> list[str]:
        return [name for name, one in self._members.items() if not holds(one)]

    def _is_there(self, member: _Member) -> bool:
        return member.daemon is not None and not self._why_gone(member)

    def failures(self) -> list[Failure]:
        """Return who does not play with the others, and why."""
        return [
            Failure(name, reason, one.playing or one.may_have_played)
            for name, one in self._members.items()
            if not one.ended and (reason := one.reason or self._why_gone(one))
        ]

    def _why_gone(self, member: _Member) -> str:
        state = self._daemons.state(member.daemon)
        return "" if state in {None, "online"} else f"its daemon is {state}"

    def lose_connection(self) -> None:
        """Take note that nothing is heard: what was heard holds; who was ready may play, and end."""
        for member in self._members.values():
            member.may_have_played |= member.ready
