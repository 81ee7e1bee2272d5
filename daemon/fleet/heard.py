"""What was heard, through the broker, of the robots that start together: the daemon's own among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_DAEMONS = 10_000


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
    why: str
    has_played: bool


@dataclass(slots=True)
class _Member:
    """One robot of a start.

    Attributes
    ----------
    committed, ready, playing : bool
        Whether it was heard to have come so far.
    ended : bool
        Whether it was heard to have played to its end.
    online : bool or None
        What it says of itself; None where nothing was heard.
    daemon : str or None
        Whose robot it is.
    why : str
        Why it does not play with the others; '' where it does.
    """

    committed: bool = False
    ready: bool = False
    playing: bool = False
    ended: bool = False
    online: bool | None = None
    daemon: str | None = None
    why: str = ""


class Daemons:
    """Which daemons are at the broker."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}

    def hear(self, daemon_id: str, data: dict[str, Any]) -> None:
        """Take note of a daemon's availability."""
        if daemon_id in self._states or len(self._states) < MOST_DAEMONS:
            self._states[daemon_id] = str(data.get("state"))

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

    def hear(self, robot: str, subject: str, data: dict[str, Any]) -> None:
        """Take note of what one of them reports."""
        member = self._members[robot]
        match subject:
            case "availability":
                member.online = data.get("state") == "online"
                member.daemon = str(data.get("bridge"))
            case "reservation":
                self._hear_reservation(member, data)
            case "result":
                self._hear_result(member, data)

    def _hear_reservation(self, member: _Member, data: dict[str, Any]) -> None:
        phase = data.get("phase")
        if data.get("start") != self._start:
            # That it is not reserved for a third start is told in between.
            if member.committed and phase != "released":
                member.ended |= member.playing
                member.why = member.why or ("" if member.ended else "it is not reserved any more")
            return
        if phase == "released":
            member.why = member.why or str(data.get("reason"))
        member.playing |= phase == "playing"
        member.ready |= member.playing or phase == "ready"
        member.committed |= member.ready or phase == "committed"

    def _hear_result(self, member: _Member, data: dict[str, Any]) -> None:
        details = data.get("details")
        if not isinstance(details, dict) or details.get("start") != self._start:
            return
        if data.get("code") == "SUCCESSFUL":
            member.ended = True
        else:
            member.why = member.why or f"{data.get('motion')} ended with {data.get('code')}"

    def not_committed(self) -> list[str]:
        """Return of whom it was not heard that they are committed, and there."""
        return [name for name, one in self._members.items() if not (one.committed and self._is_there(one))]

    def not_ready(self) -> list[str]:
        """Return of whom it was not heard that they are ready, and there."""
        return [name for name, one in self._members.items() if not (one.ready and self._is_there(one))]

    def _is_there(self, member: _Member) -> bool:
        return bool(member.online) and self._daemons.state(member.daemon) == "online"

    def failures(self) -> list[Failure]:
        """Return who does not play with the others, and why."""
        return [
            Failure(name, why, one.playing)
            for name, one in self._members.items()
            if not one.ended and (why := one.why or self._why_gone(one))
        ]

    def _why_gone(self, member: _Member) -> str:
        state = self._daemons.state(member.daemon)
        if state not in {None, "online"}:
            return f"its daemon is {state}"
        return "it is offline" if member.online is False else ""

    def forget(self) -> None:
        """Begin anew on a new connection; who was ready has played meanwhile, or says otherwise."""
        for member in self._members.values():
            member.online = member.daemon = None
            member.playing |= member.ready
