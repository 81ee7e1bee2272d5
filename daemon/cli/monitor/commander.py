"""What keys ask of a robot, whether it was answered, and the question before anything that may move."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from motiond.client import NoAnswer, Refused
from motiond.text import printable

from ...api import STOPS, VERBS, RequestError
from ..stop_here import does_then, unreached

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

ANSWER_S = 3.0
"""After so long without an answer, this is shown loudly; one may still come."""
MOST_UNANSWERED = 32
VERB_OF = {"s": "stop", "e": "estop", "p": "pause", "r": "resume"}
ASKED_FIRST = frozenset({"resume"})
OTHER_KEYS = frozenset({"q", "next", "back"})
"""What these do is not the commander's."""
DOES_NOTHING = "does nothing; s stops, e halts at once, q quits"
MOVING = frozenset({"approaching", "playing"})
SHOWN_S = 10.0
"""So long it stays that something was accepted, or that a key does nothing: later it would seem new."""


@dataclass(slots=True)
class Sent:
    """One request, and what became of it."""

    robot: str
    verb: str
    since_s: float
    said: str = ""  # of its end
    said_s: float = 0.0
    is_bad: bool = False  # the robot may not do what was asked
    is_late: bool = False
    is_over: bool = False  # the robot is halted since, so that no stop is wanted any more

    @property
    def stops(self) -> bool:
        """Whether it was to make the robot stop."""
        return VERBS[self.verb].stops

    @property
    def halts(self) -> bool:
        """Whether the robot was to move no longer."""
        return self.stops or self.verb == "pause"

    @property
    def is_accepted(self) -> bool:
        """Whether the robot does what was asked."""
        return bool(self.said) and not self.is_bad


class Commander:
    """Sends what keys ask for.

    `question` is what somebody has to agree to, `last` the latest request as long as it is news, `alarm` a
    stop that was not accepted, until one is or the robot is halted, and `notice` that a key does nothing.
    """

    def __init__(
        self,
        ask: Callable[[str, str], Coroutine[Any, Any, dict[str, Any]]],
        changed: Callable[[], None],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.question: tuple[str, str] | None = None
        self.last: Sent | None = None
        self.alarm: Sent | None = None
        self.notice = ""
        self._notice_s = 0.0
        self._states: dict[str, str] = {}
        self._ask = ask
        self._changed = changed
        self._is_question_shown = False
        self._now = now
        self._waiting: dict[asyncio.Task[None], Sent] = {}

    def press(self, key: str, robot: str | None) -> None:
        """Take a key, a letter in either case: Caps Lock keeps no stop from a robot.

        A stop is sent at once, whatever else goes on. Only a `y` after the question was shown agrees to it:
        one that came before was meant for something else.
        """
        typed, key = key, key.lower()
        question, self.question = self.question, None
        self.notice = ""
        verb = VERB_OF.get(key)
        if question is not None and key == "y" and self._is_question_shown:
            self._send(*question)
        elif verb in ASKED_FIRST and robot is not None:
            self.question, self._is_question_shown = (robot, verb), False
        elif verb is not None and robot is not None:
            self._send(robot, verb)
        elif verb is not None:
            reason = "no robot is known yet, and nothing was sent"
            self.last = Sent("any robot", verb, self._now(), reason, is_bad=True)
        elif question is None and key not in OTHER_KEYS:
            self.notice, self._notice_s = f"{_called(typed)} {DOES_NOTHING}", self._now()

    def heed(self, robot: str, state: str) -> None:
        """Take a state that a robot has just reported: it may end what is shown of a stop.

        A robot that is halted needs no other stop, and one that moves again obeys no earlier one.
        """
        before = self._states.get(robot, state)
        self._states[robot] = state
        if state == "estopped":
            self._end_stops_of(robot)
        last = self.last
        is_begun = state in MOVING and before not in MOVING
        if is_begun and last is not None and last.robot == robot and last.is_accepted and last.halts:
            self.last = None

    def _end_stops_of(self, robot: str) -> None:
        """Take back that a robot, which is halted, does not stop; also what is still under way ends so."""
        for sent in (*self._waiting.values(), self.last, self.alarm):
            if sent is not None and sent.robot == robot and sent.stops:
                sent.is_over = True
        if self.last is not None and self.last.is_over and self.last.is_bad:
            self.last = None
        if self.alarm is not None and self.alarm.is_over:
            self.alarm = None

    def drop_old(self) -> None:
        """Drop what has been shown for long enough."""
        now_s = self._now()
        if self.last is not None and self.last.is_accepted and now_s - self.last.said_s > SHOWN_S:
            self.last = None
        if now_s - self._notice_s > SHOWN_S:
            self.notice = ""

    def note_shown(self) -> None:
        """Remember that everything has been shown."""
        self._is_question_shown = True

    def _send(self, robot: str, verb: str) -> None:
        sent = Sent(robot, verb, self._now())
        if sum(one.stops == sent.stops for one in self._waiting.values()) >= MOST_UNANSWERED:
            return  # as many of them are on their way
        self.last = sent
        task = asyncio.create_task(self._follow(sent), name=f"monitor.{verb}")
        self._waiting[task] = sent
        task.add_done_callback(self._waiting.pop)

    async def _follow(self, sent: Sent) -> None:
        asking = asyncio.create_task(self._ask(sent.robot, sent.verb), name="monitor.ask")
        try:
            if not (await asyncio.wait((asking,), timeout=ANSWER_S))[0]:
                sent.is_late = True
                self._judge(sent, is_bad=True)
            self._judge(sent, is_bad=False, said=_accepted(sent.verb, await asking))
        except (RequestError, Refused) as error:
            self._judge(sent, is_bad=True, said=_refusal(sent, error))
        except NoAnswer as error:
            self._judge(sent, is_bad=True, said=str(error))
        finally:
            asking.cancel()

    def _judge(self, sent: Sent, *, is_bad: bool, said: str = "") -> None:
        sent.said, sent.said_s, sent.is_bad = printable(said), self._now(), is_bad
        if sent.is_over and is_bad:
            self.last = None if self.last is sent else self.last
        elif sent.stops and is_bad:
            self.alarm = sent
        elif sent.stops and self.alarm is not None and self.alarm.robot == sent.robot:
            self.alarm = None
        self._changed()

    async def finish(self) -> None:
        """Wait until every stop is answered, or has had its time; give up all else."""
        stops = [task for task, sent in self._waiting.items() if sent.stops and not sent.is_late]
        if stops:
            await asyncio.wait(stops, timeout=ANSWER_S)
        for task in self._waiting:
            task.cancel()
        if self._waiting:
            await asyncio.wait([*self._waiting])

    def words(self, sent: Sent) -> str:
        """Report what became of a request."""
        verb, robot = sent.verb, sent.robot
        if sent.said:
            if sent.is_bad and sent.stops:
                return f"{verb.upper()} OF {robot} HAS FAILED: {sent.said}"
            return f"{robot}: {verb} {'failed: ' if sent.is_bad else ''}{sent.said}"
        if sent.is_late:
            loud = (
                f"{verb.upper()} OF {robot} IS NOT ANSWERED"
                if sent.stops
                else f"{robot}: {verb} is not answered"
            )
            waited_s = self._now() - sent.since_s
            return f"{loud} for {waited_s:.0f} s; use the robot's own switch"
        return f"{robot}: {verb} is sent"


def _called(key: str) -> str:
    return f"key '{key}'" if len(key) == 1 else "this key"


def _accepted(verb: str, data: dict[str, Any]) -> str:
    if verb not in STOPS:
        return f"accepted; {data.get('state')}"
    return f"accepted; {unreached(data) or does_then(verb, data)}"


def _refusal(sent: Sent, error: RequestError | Refused) -> str:
    """Return the first problem, without its subject where that is what the request was to."""
    for problem in error.problems[:1]:
        parts = problem if isinstance(problem, dict) else problem._asdict()
        message = "; ".join(filter(None, map(parts.get, ("problem", "reason", "hint"))))
        is_about_it = parts.get("subject") in {None, "", sent.robot, f"{sent.robot}/{sent.verb}"}
        return message if is_about_it else f"{parts['subject']}: {message}"
    return str(error)
