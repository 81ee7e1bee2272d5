"""Reports of robots, and the bounded queue in which they wait for whoever iterates over them."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .errors import ClientError

RETAINED = frozenset(
    {"availability", "description", "motions", "state", "lease", "reservation", "recording", "teaching"}
)
"""Subjects of which the newest report is known to whoever begins to listen."""
NEWEST_ONLY = frozenset({"telemetry", "samples", "diagnostics"})
"""Subjects of which only the newest report of each robot waits for a slow reader."""
SUBJECTS = RETAINED | NEWEST_ONLY | {"result", "event"}
LONGEST_QUEUE = 1000


def refuse_unknown(subjects: Iterable[str]) -> None:
    """Refuse subjects on which no robot reports."""
    for subject in subjects:
        if subject not in SUBJECTS:
            raise ValueError(f"no report {subject!r}; there are {', '.join(sorted(SUBJECTS))}; correct it")


@dataclass(frozen=True, slots=True)
class Report:
    """What a robot reports: `data` is the JSON object that docs/mqtt.md describes by its subject."""

    robot: str
    subject: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Result:
    """How a motion ended.

    Attributes
    ----------
    code : str
        SUCCESSFUL, CANCELED, … (docs/mqtt.md).
    played_s : float or None
        How long it has played, in s.
    follows : str or None
        What the robot does next by itself: `hold`, `release`, `park`, or a motion that waited.
    asked_by : str or None
        Who asked for it.
    warnings : list of str
        What was found of it as it began, and what was changed so that it could be played.
    worst_error, peak_effort : dict or None
        The joint that was furthest from its setpoint, and the one that worked hardest for what it may:
        `joint`, `value` and `unit`.
    recording : str or None
        The file in which it was recorded.
    """

    goal_id: str
    motion: str
    code: str
    message: str
    transaction: str | None
    played_s: float | None
    details: dict[str, Any] = field(repr=False)
    timing: dict[str, Any] | None = field(repr=False)
    follows: str | None = None
    asked_by: str | None = None
    worst_error: dict[str, Any] | None = field(repr=False, default=None)
    peak_effort: dict[str, Any] | None = field(repr=False, default=None)
    recording: str | None = None
    warnings: list[str] = field(repr=False, default_factory=list)
    data: dict[str, Any] = field(repr=False, default_factory=dict)

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """Return the result that a report on the subject `result` describes."""
        values: dict[str, Any] = {key.name: data.get(key.name) for key in fields(cls)}
        return cls(**values | {"data": dict(data), "warnings": data.get("warnings") or []})

    @property
    def is_successful(self) -> bool:
        """Whether the motion was played to its end."""
        return self.code == "SUCCESSFUL"


class Stream:
    """Reports as they arrive: `async for report in stream`.

    A slow reader gets the newest report of telemetry and diagnostics, unless it wants `every` one; of all
    else 1000 wait, then the oldest are dropped. It goes on over a lost connection that is made again. It ends
    when the client is closed, and raises `ConnectionLost` where the client gives the connection up.

    Attributes
    ----------
    robot : str
        One robot's name, or `+` for all.
    subjects : frozenset of str
    dropped : int
        How many reports a slow reader has not got.
    """

    def __init__(
        self,
        robot: str,
        subjects: frozenset[str],
        forget: Callable[[Stream], None],
        *,
        data_only: bool = False,
        every: bool = False,
    ) -> None:
        self.robot = robot
        self.subjects = subjects
        self._newest_only = frozenset() if every else NEWEST_ONLY
        self.dropped = 0
        self._queue: deque[Report] = deque()
        self._arrived = asyncio.Event()
        self._failure: ClientError | None = None
        self._is_closed = False
        self._forget = forget
        self._data_only = data_only

    def put(self, report: Report) -> None:
        """Queue a report without waiting, if it belongs to this stream."""
        if report.subject not in self.subjects or self.robot not in {"+", report.robot}:
            return
        if report.subject in self._newest_only:
            for index, waiting in enumerate(self._queue):
                if (waiting.robot, waiting.subject) == (report.robot, report.subject):
                    self.dropped += 1
                    del self._queue[index]
                    break
        elif len(self._queue) >= LONGEST_QUEUE:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(report)
        self._arrived.set()

    def end(self, failure: ClientError | None = None) -> None:
        """Let it end once all that waits is read, with an exception where there is one."""
        self._failure, self._is_closed = failure, True
        self._arrived.set()

    def get_nowait(self) -> Report | None:
        """Return the next report, None where none waits."""
        return self._queue.popleft() if self._queue else None

    async def get(self) -> Report:
        """Wait for the next report.

        Raises
        ------
        StopAsyncIteration
            If the stream has been closed.
        ConnectionLost
            If the connection was given up.
        """
        while not self._queue:
            if self._is_closed:
                if self._failure is not None:
                    raise self._failure
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._queue.popleft()

    async def close(self) -> None:
        """Listen no more; any number of times."""
        self._queue.clear()
        self.end()
        self._forget(self)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        report = await self.get()
        return report.data if self._data_only else report

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
