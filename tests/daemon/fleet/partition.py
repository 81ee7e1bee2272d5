"""Daemons of one start on virtual time, at a broker that delivers late, and that some of them may lose."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import orjson

from motiond.daemon.api import CommitRequest
from motiond.daemon.fleet.member.group_start import CONFIRM_S, GroupStart
from motiond.daemon.fleet.member.heard import Daemons

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    Then = Literal["stop", "continue"]

START, DAEMONS = "s1", ("d1", "d2", "d3")
COMMITTED_S, APPROACH_S, LASTS_S = 0.1, 0.2, 3.0
"""When all have heard the commit, and how long approaches and the motion take."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a start is given, in s.

    Attributes
    ----------
    latency_s : (float, float)
        How long each message takes, from and to.
    ready_in_s, waits_s : float
        What the commit says, and when the first row is due.
    confirm_s : float
        So long after the first row all have to be known to play.
    """

    latency_s: tuple[float, float] = (0.001, 0.008)
    ready_in_s: float = 1.0
    waits_s: float = 2.5
    confirm_s: float = CONFIRM_S


USUAL = Terms()


class FakeReservation:
    """Stands in for a robot's reservation, with what the stream process would do."""

    def __init__(self, robot: str, approach_s: float, waits_s: float) -> None:
        self.robot = robot
        self._waits_s = waits_s
        self.listeners: list[Callable[[dict[str, Any]], None]] = []
        self.began_s: float | None = None
        self.ended_s: float | None = None
        self.reason = ""
        self._approach_s = approach_s
        self._phase: str | None = "committed"
        self._goes = False

    def phase_of(self, _start: str) -> str | None:
        return self._phase

    def begin(self, _start: str) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(self._approach_s, self._enter, "ready")
        loop.call_at(self._waits_s, self._play)

    def go(self, _start: str) -> None:
        self._goes = True

    def break_off(self, _start: str, reason: str, _member: str | None = None) -> None:
        if self._phase is not None:
            self._end("released", reason)

    def _play(self) -> None:
        if self._phase == "ready" and self._goes:
            self.began_s = asyncio.get_running_loop().time()
            self._enter("playing")
            asyncio.get_running_loop().call_later(LASTS_S, self._finish)
        elif self._phase is not None:
            self._end("released", "it was not told to go on")

    def _finish(self) -> None:
        if self._phase == "playing":
            self._end(None, "")

    def _enter(self, phase: str) -> None:
        if self._phase is not None:
            self._phase = phase
            self._tell(phase, None)

    def _end(self, phase: str | None, reason: str) -> None:
        self.ended_s, self.reason, self._phase = asyncio.get_running_loop().time(), reason, None
        self._tell(phase, reason)

    def _tell(self, phase: str | None, reason: str | None) -> None:
        for listener in self.listeners:
            listener({"start": START if phase else None, "phase": phase, "reason": reason})


@dataclass
class Cut:
    """A daemon that is away from the broker, from one time to another, in s.

    Attributes
    ----------
    dies : bool
        Whether it is killed then; else it lives, and knows that nothing comes.
    has_will : bool
        Whether the broker tells the others that the daemon is broken.
    is_told : bool
        Whether it tells them that the connection for starts has broken.
    """

    daemon: str
    from_s: float
    to_s: float = inf
    dies: bool = False
    has_will: bool = False
    is_told: bool = False

    def holds(self, daemon: str, at_s: float) -> bool:
        return daemon == self.daemon and self.from_s <= at_s < self.to_s


@dataclass
class Outcome:
    """What became of a start.

    Attributes
    ----------
    began_s, ended_s : dict of str to float
        When each robot that came to its first row began and ended.
    why : dict of str to str
        Why each was let go.
    """

    began_s: dict[str, float] = field(default_factory=dict)
    ended_s: dict[str, float] = field(default_factory=dict)
    reason: dict[str, str] = field(default_factory=dict)


class Site:
    """One start of three robots, each with a daemon, of whom one may be cut off."""

    def __init__(self, cut: Cut | None, seed: int, then: Then, terms: Terms) -> None:
        self._begun_s = asyncio.get_running_loop().time()
        self._terms = terms
        self._cut = cut
        self._chance = random.Random(seed)
        self._commit = CommitRequest(
            start=START,
            robots=[f"robot-{one}" for one in DAEMONS],
            tokens={f"robot-{one}": START for one in DAEMONS},
            start_at=terms.waits_s,
            ready_in_s=terms.ready_in_s,
            on_member_failure=then,
        )
        self._listening: dict[str, tuple[GroupStart, Daemons]] = {}

    async def run(self) -> Outcome:
        loop, robots, tasks = asyncio.get_running_loop(), {}, {}
        for daemon in DAEMONS:
            await asyncio.sleep(self._chance.uniform(*self._terms.latency_s))
            robot, daemons = f"robot-{daemon}", Daemons()
            approach_s = APPROACH_S + self._chance.uniform(0.0, 0.1)
            robots[robot] = FakeReservation(robot, approach_s, self._begun_s + self._terms.waits_s)
            start = GroupStart(
                self._commit,
                {robot: robots[robot]},  # type: ignore[dict-item]
                daemons,
                lambda pulse, daemon=daemon: self._publish(daemon, pulse),  # type: ignore[misc]
                unix_now=self._passed_s,
                confirm_s=self._terms.confirm_s,
            )
            for other in DAEMONS:
                daemons.hear(other, {"state": "online"})
            self._listening[daemon] = start, daemons
            tasks[daemon] = asyncio.create_task(start.run())
        if self._cut is not None:
            loop.call_at(self._begun_s + self._cut.from_s, self._lose, self._cut, tasks)
            if self._cut.to_s < inf:
                regain = self._listening[self._cut.daemon][0].regain_connection
                loop.call_at(self._begun_s + self._cut.to_s, regain)
        await asyncio.wait(tasks.values())
        dead = {f"robot-{self._cut.daemon}"} if self._cut is not None and self._cut.dies else set()
        return Outcome(
            {name: one.began_s - self._begun_s for name, one in robots.items() if one.began_s is not None},
            {name: one.ended_s - self._begun_s for name, one in robots.items() if one.ended_s is not None},
            {name: one.reason for name, one in robots.items() if one.reason and name not in dead},
        )

    def _passed_s(self) -> float:
        return asyncio.get_running_loop().time() - self._begun_s

    def _lose(self, cut: Cut, tasks: dict[str, asyncio.Task[None]]) -> None:
        start, daemons = self._listening[cut.daemon]
        if cut.dies:
            tasks[cut.daemon].cancel()
            for reservation in start._ours.values():
                reservation.break_off(START, "its daemon has gone")
        else:
            daemons.forget()
            start.lose_connection()
        for other in sorted(set(DAEMONS) - {cut.daemon}):
            if cut.has_will:
                self._deliver(other, self._hear_of_its_end, cut.daemon)
            if cut.is_told:
                self._deliver(other, self._hear_will, cut.daemon)

    def _hear_will(self, listener: str, daemon: str) -> None:
        self._listening[listener][0].hear_will(daemon)

    def _hear_of_its_end(self, listener: str, daemon: str) -> None:
        start, daemons = self._listening[listener]
        daemons.hear(daemon, {"state": "broken"})
        start.look()

    def _publish(self, daemon: str, pulse: dict[str, Any]) -> None:
        if self._is_away(daemon):
            return
        told = orjson.loads(orjson.dumps(pulse))
        for listener in DAEMONS:
            self._deliver(listener, self._hear_pulse, daemon, told)

    def _deliver(self, listener: str, hear: Callable[..., None], *what: Any) -> None:
        def come() -> None:
            if listener in self._listening and not self._is_away(listener):
                hear(listener, *what)

        asyncio.get_running_loop().call_later(self._chance.uniform(*self._terms.latency_s), come)

    def _hear_pulse(self, listener: str, daemon: str, told: dict[str, Any]) -> None:
        self._listening[listener][0].hear_pulse(daemon, told)

    def _is_away(self, daemon: str) -> bool:
        return self._cut is not None and self._cut.holds(daemon, self._passed_s())


async def outcome(
    cut: Cut | None = None, seed: int = 0, then: Then = "stop", terms: Terms = USUAL
) -> Outcome:
    """Let three robots start together, and return what became of it."""
    return await Site(cut, seed, then, terms).run()
