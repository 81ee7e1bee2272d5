"""Starts a motion on all robots of a group at one appointed time, or on none.

All robots are reserved at once; where one refuses, or does not answer, all are released. Else all are
committed to one time, and each confirms that; where one does not, all are cancelled. The coordinator may die
at any moment (docs/decisions/all-or-none.md): reservations expire, and committed robots watch each other.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any, Literal
from uuid import uuid4

from motiond.client import NoAnswer
from motiond.local import LONGEST_HOLDER, own_holder
from motiond.text import echoed, listed, nearest, shortened

from ...api import RequestError
from .appointment import Appointment, Prepared, appoint
from .conversation import ANSWER_S, conversing
from .outcomes import Outcomes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping

    from ...config.mqtt import MqttSettings
    from .conversation import Conversation

EXPIRES_S = 10.0
FRESH_S = 7.0
"""A commit is sent so long after the first reservation at most."""
TOKEN_BYTES = 16
LEAST_ANSWER_S = 0.2
RELEASE_S = 2.0
Failures = dict[str, RequestError | NoAnswer]


@dataclass(frozen=True, slots=True)
class GroupPlay:
    """What a group is to play.

    `options` has keys of `play` besides the motion, `start_at` and `on_busy`; `motions` has the motions of
    members that play another one, by robot. The first row is due at the Unix time `start_at`, or `start_in` s
    from now on; without either as soon as all can be there. `asked_by` is who asks, for people; without it
    the user of this program.
    """

    group: str
    motion: str
    options: Mapping[str, Any] = field(default_factory=dict)
    motions: Mapping[str, str] = field(default_factory=dict)
    on_member_failure: Literal["stop", "continue"] = "stop"
    start_at: float | None = None
    start_in: float | None = None
    asked_by: str = field(default_factory=lambda: own_holder("fleet play"))


@asynccontextmanager
async def coordinating(settings: MqttSettings, play: GroupPlay) -> AsyncIterator[Coordinator]:
    """Connect to the broker for one start; at the end return control of the members.

    Raises
    ------
    NoAnswer
        If the broker cannot be reached.
    """
    async with conversing(settings, own_holder("fleet play")) as conversation:
        yield Coordinator(conversation, play)


class Coordinator:
    """One start of a group.

    Attributes
    ----------
    start_at : float or None
        Unix time of the first row, once it is appointed.
    is_committed : bool
        Whether commits have been sent; from then on members are stopped, not released.
    may_be_reserved : bool
        Whether members may still be reserved, for at most `EXPIRES_S`, that no commit will start.
    """

    def __init__(self, conversation: Conversation, play: GroupPlay) -> None:
        self.id = uuid4().hex[:16]
        self.outcomes = Outcomes(conversation, self.id)
        self.start_at: float | None = None
        self.is_committed = False
        self.may_be_reserved = False
        self.conversation = conversation
        self._play = play
        self._motions: dict[str, str] = {}
        self._prepared: dict[str, Prepared] = {}
        self._tokens: dict[str, str] = {}
        self._asked_s = asyncio.get_running_loop().time()

    @property
    def members(self) -> list[str]:
        """The robots that take part, once all have been prepared."""
        return sorted(self._motions)

    def accepted(self) -> dict[str, Any]:
        """Return what is answered once all have confirmed."""
        return {"start": self.id, "start_at": self.start_at, "robots": self.members}

    async def begin(self) -> None:
        """Reserve all members and commit them, until all have confirmed that; or release all of them.

        Raises
        ------
        RequestError
            If no robot plays.
        NoAnswer
            If there is no broker, or no longer.
        """
        await self.conversation.look_around(
            "reservation", "result", "diagnostics", "description", "availability"
        )
        self._check_members(self.conversation.roster.must_have(self._play.group))
        self.may_be_reserved = True
        try:
            await self._prepare_all()
            self._refuse_absent(self._motions)
            appointment = self._appointed()
        except BaseException:
            await self._release()
            raise
        await self._commit(appointment)

    def _check_members(self, members: list[str]) -> None:
        """Refuse a motion for a robot that is not in the group, and absent members."""
        for robot in self._play.motions:
            if robot not in members:
                plays = f"is to play {echoed(self._play.motions[robot])}"
                problem = f"'{echoed(robot)}' {plays}, and is no robot of the group"
                hint = nearest(robot, members) or "correct it"
                raise RequestError(
                    "UNKNOWN_ROBOT", self._play.group, problem, f"its robots are {listed(members)}", hint
                )
        self._refuse_absent(members)

    def _refuse_absent(self, members: Iterable[str]) -> None:
        """Refuse a start with an absent member, by its daemon's last report."""
        roster = self.conversation.roster
        absences = {robot: roster.absence(robot) for robot in members}
        hint = "start it, or take the robot out of the group; `motiond forget` clears one that is gone"
        failures: Failures = {
            robot: RequestError("OFFLINE", robot, "not there", reason, hint)
            for robot, reason in absences.items()
            if reason
        }
        if failures:
            raise _refusal(self._play.group, failures)

    # -- reserve --------------------------------------------------------------------------------------------

    async def _prepare_all(self) -> None:
        """Prepare all members, also one that is first seen meanwhile.

        A broker that keeps the order of messages has reported all members when the first has answered.
        """
        loop, roster = asyncio.get_running_loop(), self.conversation.roster
        began_s = loop.time()
        while new := [it for it in roster.must_have(self._play.group) if it not in self._motions]:
            self._motions |= {robot: self._play.motions.get(robot, self._play.motion) for robot in new}
            answers = await _ask_each({robot: self._prepare(robot) for robot in new})
            if failures := _failures(answers):
                raise _refusal(self._play.group, failures)
        if loop.time() - began_s > FRESH_S:
            problem, reason = "it takes too long to prepare all", f"a reservation lasts {EXPIRES_S:g} s"
            hint = "try again when the network is quiet"
            raise RequestError("TIMEOUT", self._play.group, problem, reason, hint)
        self.outcomes.follow(dict(sorted(self._motions.items())))

    async def _prepare(self, robot: str) -> None:
        """Prepare one, and note what it needs and what its clock shows."""
        request = {**self._play.options, "motion": self._motions[robot], "start": self.id}
        request["asked_by"] = shortened(self._play.asked_by, LONGEST_HOLDER)
        # Known here also where no answer comes, and to no other client before the commit.
        token = self._tokens[robot] = secrets.token_urlsafe(TOKEN_BYTES)
        request["token_sha256"] = sha256(token.encode()).hexdigest()
        sent = time.time()
        answer = await self.conversation.ask(robot, "fleet/prepare", {**request, "expires_s": EXPIRES_S})
        received = time.time()
        ready_in_s = _time_in(robot, answer, "ready_in_s")
        there = _time_in(robot, answer, "expires_at") - EXPIRES_S
        self._prepared[robot] = Prepared(ready_in_s, (there - received, there - sent))

    async def _release(self) -> Failures:
        """Take all out of the start; return which members have not confirmed it, and why.

        Where it does not arrive, reservations expire.
        """
        failures = _failures(await _ask_each({robot: self._release_one(robot) for robot in self._tokens}))
        self.may_be_reserved = bool(failures)
        return failures

    async def _release_one(self, robot: str) -> None:
        request = {"start": self.id, "token": self._tokens[robot]}
        try:
            await self.conversation.ask(robot, "fleet/release", request, RELEASE_S)
        except RequestError as error:
            if error.code != "NOT_RESERVED":
                raise

    # -- commit ---------------------------------------------------------------------------------------------

    def _appointed(self) -> Appointment:
        start_in = self._play.start_in
        if start_in is not None:
            start_in -= asyncio.get_running_loop().time() - self._asked_s
        group, start_at = self._play.group, self._play.start_at
        return appoint(group, self._prepared, time.time(), start_at=start_at, start_in=start_in)

    async def _commit(self, appointment: Appointment) -> None:
        """Commit all; where one has not confirmed it before the first approach begins, cancel all."""
        self.is_committed = True  # before it is sent, so that an interrupt stops what may have begun
        self.start_at = appointment.start_at
        request = {
            "start": self.id,
            "robots": self.members,
            "start_at": appointment.start_at,
            "on_member_failure": self._play.on_member_failure,
        }
        within_s = max(LEAST_ANSWER_S, min(ANSWER_S, appointment.within_s))
        asking = {
            robot: self.conversation.ask(
                robot, "fleet/commit", request | {"token": self._tokens[robot]}, within_s
            )
            for robot in self.members
        }
        if failures := _failures(await _ask_each(asking)):
            raise _refusal(self._play.group, failures, await self._release())

    async def stop(self) -> list[str]:
        """Ask all members to stop softly; return a line for each that has not confirmed it."""
        asked = (self.conversation.ask(robot, "stop", {}) for robot in self.members)
        answers = await asyncio.gather(*asked, return_exceptions=True)
        return [
            str(answer)
            if isinstance(answer, RequestError | NoAnswer)
            else f"{robot}: not stopped; {answer!r}"
            for robot, answer in zip(self.members, answers, strict=True)
            if isinstance(answer, BaseException)
        ]


def _time_in(robot: str, answer: Mapping[str, Any], key: str) -> float:
    value = answer.get(key)
    if not isinstance(value, int | float) or not isfinite(value) or value < 0.0:
        problem, reason = f"its answer has {key} {value!r}", "it must be a time in s"
        raise RequestError("INTERNAL", robot, problem, reason, "look at the daemon's log")
    return float(value)


async def _ask_each(asking: Mapping[str, Awaitable[object]]) -> dict[str, object]:
    """Ask robots at once, and return each one's answer or failure.

    All answers are waited for, also where one is a refusal: a release must not overtake its reservation.
    """
    answers = await asyncio.gather(*asking.values(), return_exceptions=True)
    return dict(zip(asking, answers, strict=True))


def _failures(answers: Mapping[str, object]) -> Failures:
    """Return the refusals and the missing answers; raise what is a defect."""
    failures: Failures = {}
    for robot, answer in answers.items():
        if isinstance(answer, RequestError | NoAnswer):
            failures[robot] = answer
        elif isinstance(answer, BaseException):
            raise answer
    return failures


def _refusal(group: str, failures: Failures, unconfirmed: Failures | None = None) -> RequestError:
    """Return that no robot plays, with a line for each that failed; `unconfirmed` may still begin."""
    names = sorted(failures)
    verb = "does" if len(names) == 1 else "do"
    head = f"{group}: no robot plays; {listed(names)} {verb} not start; fix this and play again"
    if unconfirmed:
        late = listed(sorted(unconfirmed))
        head = (
            f"{group}: cancelled; {listed(names)} {verb} not start, and {late} did not confirm that; "
            "look at the robots: one that begins stops unless all play"
        )
    lines = "\n".join((head, *(str(failures[name]) for name in names)))
    members = {
        name: {"code": getattr(failures[name], "code", "OFFLINE"), "error": str(failures[name])}
        for name in names
    }
    return RequestError.of("MEMBER_REFUSED", lines, {"members": members})
