"""Starts a motion on all robots of a group at one appointed time, or on none.

All are prepared at once; where one refuses, or does not answer, all are let go. Else one message commits all
of them. The coordinator may die at any moment: reservations expire by themselves, and what is committed is
the members' own.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

import aiomqtt

from motiond.text import listed, nearest

from ...api import FLEET, RequestError
from ...client.connection import NoAnswer
from ...client.session import holder_of
from ...mqtt.topics import ANY_ROBOT
from .appointment import Appointment, Prepared, appoint
from .leases import Leases
from .outcomes import Watch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .conversation import Conversation

EXPIRES_S = 10.0
FRESH_S = 7.0
"""Of so long ago a reservation may be for a commit; it is renewed before."""
PREPARE_TRIES = 3
TOKEN_BYTES = 16
RELEASE_S = 2.0
SETTLE_S = 15.0
"""So long it is waited for what becomes of members that were stopped, as not all have accepted."""


@dataclass(frozen=True, slots=True)
class GroupPlay:
    """What a group is to play.

    Attributes
    ----------
    group : str
    motion : str
    how : dict
        Keys of `play` besides the motion, `start_at` and `on_busy`.
    motions : mapping of str to str
        The motions of members that play another one, by robot.
    on_member_failure : {'stop', 'continue'}
        What the others do where one fails after the first row.
    start_at, start_in : float or None
        When the first row is due: Unix time, or from now on, in s; as soon as all can be there where both are
        None.
    """

    group: str
    motion: str
    how: Mapping[str, Any] = field(default_factory=dict)
    motions: Mapping[str, str] = field(default_factory=dict)
    on_member_failure: Literal["stop", "continue"] = "stop"
    start_at: float | None = None
    start_in: float | None = None


class Coordinator:
    """One start of a group.

    Parameters
    ----------
    conversation : Conversation
    asked : GroupPlay
    fresh_s : float
        Of so long ago a reservation may be for a commit.

    Attributes
    ----------
    id : str
        By which members know the start.
    leases : Leases
        Control of the members, which ends when this context is left.
    watch : Watch
        What becomes of them.
    start_at : float or None
        Unix time in s of the first row, once it is committed.
    is_committed : bool
        Whether the commit is on its way; from then on members are stopped, not let go.
    may_be_reserved : bool
        Whether members may be reserved that nobody will start: until the broker has confirmed that they are
        let go, or `EXPIRES_S` later.
    """

    def __init__(self, conversation: Conversation, asked: GroupPlay, fresh_s: float = FRESH_S) -> None:
        self._fresh_s = fresh_s
        self.id = uuid4().hex[:16]
        self.leases = Leases(conversation, holder_of("fleet play"))
        self.watch = Watch(conversation, self.id)
        self.start_at: float | None = None
        self.is_committed = False
        self.may_be_reserved = False
        self._conversation = conversation
        self._asked = asked
        self._motions: dict[str, str] = {}
        self._prepared: dict[str, Prepared] = {}
        self._tokens: dict[str, str] = {}
        self._asked_s = asyncio.get_running_loop().time()

    @property
    def members(self) -> list[str]:
        """Who takes part, once all have been prepared."""
        return sorted(self._motions)

    async def begin(self) -> None:
        """Prepare all members and commit them, until all have accepted that; or let all of them go.

        Raises
        ------
        RequestError
            If nobody plays: the group is not known, a member refuses (`MEMBER_REFUSED`, with each member's
            reason), or the appointed time cannot be kept.
        NoAnswer
            If there is no broker, or no longer.
        """
        topics = self._conversation.topics
        reports = (topics.report(ANY_ROBOT, subject) for subject in ("reservation", "result"))
        answers = (topics.response(ANY_ROBOT, verb) for verb in ("fleet/prepare", "stop"))
        await self._conversation.subscribe(*reports, *answers, topics.pulse())
        await self._conversation.look_around("description", "availability")
        self._refuse_strangers(self._conversation.roster.must_have(self._asked.group))
        self.may_be_reserved = True
        try:
            await self._prepare_all()
            self._refuse_absent(self._motions)
            appointment = self._appointed()
        except BaseException:
            await self._let_go()
            raise
        await self._commit(appointment)
        await self._agreed()

    def _refuse_strangers(self, members: list[str]) -> None:
        """Refuse a motion for somebody who is no member."""
        for robot in self._asked.motions:
            if robot not in members:
                problem = f"'{robot}' is to play {self._asked.motions[robot]}, and is no robot of the group"
                hint = nearest(robot, members) or "correct it"
                raise RequestError(
                    "UNKNOWN_ROBOT", self._asked.group, problem, f"its robots are {listed(members)}", hint
                )
        self._refuse_absent(members)

    def _refuse_absent(self, members: Iterable[str]) -> None:
        """Refuse to go on without a member whose daemon says that it is not there."""
        roster = self._conversation.roster
        absences = {robot: roster.absence(robot) for robot in members}
        hint = "start it, or take the robot out of the group; `motiond forget` clears one that is gone"
        failures: dict[str, RequestError | NoAnswer] = {
            robot: RequestError("OFFLINE", robot, "not there", reason, hint)
            for robot, reason in absences.items()
            if reason
        }
        if failures:
            raise refusal(self._asked.group, failures)

    # -- prepare --------------------------------------------------------------------------------------------

    async def _prepare_all(self) -> None:
        """Prepare whoever is a member, also one that is heard of only now; anew if that has taken long.

        A broker that keeps the order of what it delivers has told of all members when the first has answered.
        """
        loop, roster = asyncio.get_running_loop(), self._conversation.roster
        for _ in range(PREPARE_TRIES):
            began_s = loop.time()
            self._motions.clear()
            while new := [one for one in roster.must_have(self._asked.group) if one not in self._motions]:
                self._motions |= {robot: self._asked.motions.get(robot, self._asked.motion) for robot in new}
                await self._prepare(new)
            if loop.time() - began_s < self._fresh_s:
                self.watch.follow(dict(sorted(self._motions.items())))
                return
        problem, reason = "it takes too long to prepare all", f"a reservation lasts {EXPIRES_S:g} s"
        raise RequestError(
            "TIMEOUT", self._asked.group, problem, reason, "try again when the network is quiet"
        )

    async def _prepare(self, robots: list[str]) -> None:
        """Prepare some at once.

        All answers are waited for also where one is a refusal: a release must not overtake what it is for.
        """
        answers = await asyncio.gather(*map(self._prepare_one, robots), return_exceptions=True)
        failures: dict[str, RequestError | NoAnswer] = {}
        for robot, answer in zip(robots, answers, strict=True):
            if isinstance(answer, RequestError | NoAnswer):
                failures[robot] = answer
            elif isinstance(answer, BaseException):
                raise answer
            else:
                self._prepared[robot] = answer
        if failures:
            raise refusal(self._asked.group, failures)

    async def _prepare_one(self, robot: str) -> Prepared:
        """Prepare one, and return what it needs, and what its clock says."""
        request = {**self._asked.how, "motion": self._motions[robot], "start": self.id}
        if robot in self._tokens:
            request["token"] = self._tokens[robot]
        # It is known here also where no answer comes, and to nobody else before the commit.
        token = self._tokens[robot] = secrets.token_urlsafe(TOKEN_BYTES)
        request["token_sha256"] = sha256(token.encode()).hexdigest()
        sent = time.time()
        answer = await self.leases.ask(robot, "fleet/prepare", {**request, "expires_s": EXPIRES_S})
        received = time.time()
        ready_in_s = self._time_in(robot, answer, "ready_in_s")
        there = self._time_in(robot, answer, "expires_at") - EXPIRES_S
        return Prepared(ready_in_s, (there - received, there - sent))

    def _time_in(self, robot: str, answer: Mapping[str, Any], key: str) -> float:
        told = answer.get(key)
        if not isinstance(told, int | float) or not isfinite(told) or told < 0.0:
            problem, reason = f"its answer has {key} {told!r}", "it must be a time in s"
            raise RequestError("INTERNAL", robot, problem, reason, "look at the daemon's log")
        return float(told)

    async def _let_go(self) -> None:
        """Let all reservations go; where that does not arrive, they expire."""
        with suppress(NoAnswer, aiomqtt.MqttError):
            release = {"start": self.id, "tokens": self._tokens}
            number = self._conversation.send(FLEET, "release", release, EXPIRES_S)
            await self._conversation.delivered(number, RELEASE_S)
            self.may_be_reserved = False

    # -- commit ---------------------------------------------------------------------------------------------

    def _appointed(self) -> Appointment:
        start_in = self._asked.start_in
        if start_in is not None:
            start_in -= asyncio.get_running_loop().time() - self._asked_s
        group, start_at = self._asked.group, self._asked.start_at
        return appoint(group, self._prepared, time.time(), start_at=start_at, start_in=start_in)

    async def _commit(self, appointment: Appointment) -> None:
        """Send the one message by which all start."""
        commit = {
            "start": self.id,
            "robots": self.members,
            "tokens": {robot: self._tokens[robot] for robot in self.members},
            "start_at": appointment.start_at,
            "ready_in_s": appointment.ready_in_s,
            "on_member_failure": self._asked.on_member_failure,
        }
        self.is_committed = True  # before it is sent, so that who is interrupted stops what may have begun
        number = self._conversation.send(FLEET, "commit", commit, appointment.within_s)
        self.start_at = appointment.start_at
        wait_s = self.watch.expect_commit(appointment.within_s)
        try:
            await self._conversation.delivered(number, wait_s)
        except aiomqtt.MqttError as error:
            problem = "the broker has not confirmed the start"
            reason = f"its members play, or none does; {error}"
            raise NoAnswer(f"{self._asked.group}: {problem}; {reason}; ask `motiond fleet status`") from error

    async def _agreed(self) -> None:
        """Wait until all members have accepted the commit; stop all where one has not."""
        if await self.watch.accepted():
            return
        await self.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S):
                while not await self.watch.next():
                    pass
        raise refusal(
            self._asked.group,
            {
                one.robot: RequestError("NOT_RESERVED", one.robot, "let go", one.message)
                for one in self.watch.ends()
            },
        )

    async def stop(self) -> list[str]:
        """Ask all members to stop softly; return for each that has not taken it what to say."""
        asked = (self._conversation.stop(robot) for robot in self.members)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return [
            str(answer)
            if isinstance(answer, RequestError | NoAnswer)
            else f"{robot}: not stopped; {answer!r}"
            for robot, answer in zip(self.members, answers, strict=True)
            if isinstance(answer, BaseException)
        ]


def refusal(group: str, failures: Mapping[str, RequestError | NoAnswer]) -> RequestError:
    """Return that nobody plays, with a line for each member that is why."""
    names = sorted(failures)
    verb = "does" if len(names) == 1 else "do"
    head = f"{group}: nobody plays; {listed(names)} {verb} not start; fix what stands below and play again"
    lines = "\n".join((head, *(str(failures[name]) for name in names)))
    members = {
        name: {"code": getattr(failures[name], "code", "OFFLINE"), "error": str(failures[name])}
        for name in names
    }
    return RequestError.of("MEMBER_REFUSED", lines, {"members": members})
