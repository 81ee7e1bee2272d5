"""The ticks of motiond's own recordings, chunk by chunk, and what the robot did in them.

Such a file has a JointState of each tick in `/reference` and in `/joint_states`, numbered by the tick and
stamped with the time that its setpoint is for; and in `/motiond/phase`, wherever what the robot does changes,
JSON in a String (docs/recording.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import orjson

from motiond.text import printable, quoted

from ..errors import BadText
from ..io.ros2 import Topic
from ..model.timing import NS
from .container import CHANNEL, CHUNK, METADATA, Recording
from .decoding import StateBatch, decode_text
from .joining import LATEST_NS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ..arrays import Booleans, Floats, Integers
    from .container import Message, Record

PREFIX = "/motiond/"
OWN, END = "motiond", "motiond-end"
"""Records of metadata: at the beginning, and at the end."""
# At rest a tick is much like the one before: chunks pack well.
MOST_TIMES_OF_TICKS = 1_000
NUMBERS = 0xFFFF_FFFF
"""The numbers of ticks are counted modulo one more than that."""
MOST_COUNTED = 1 << 53
MOST_NOTED, MOST_AHEAD = 200_000, 100_000
IDLE, PLAYING, TEACHING = "idle", "playing", "teaching"
ON_A_MOTION = frozenset({PLAYING, "following"})
"""States in which a robot goes along rows of a goal, or after its targets."""
ON_ITS_WAY = ON_A_MOTION | {"approaching", "pausing", "paused", "stopping"}
"""States of a robot that plays."""


class Phase(NamedTuple):
    """What the robot does from a tick on.

    - `first`: that tick's place in the file, from 0; -1 where it is not known
    - `time_ns`: as it is stamped
    - `beside`: whether goals play beside the one whose state this is
    """

    time_ns: int
    tick: int
    state: str
    torque: bool
    goal: int
    loop: int
    frame: float
    period_s: float | None
    moved: float | None
    first: int = -1
    beside: bool = False

    def is_on_its_way(self) -> bool:
        """Whether a goal is played that is not beside others."""
        return self.goal > 0 and self.state in ON_ITS_WAY

    def is_moving(self) -> bool:
        """Whether any goal is played."""
        return self.beside or self.is_on_its_way()


class Gap(NamedTuple):
    """Ticks that are missing; how many is 0 where nobody knows."""

    time_ns: int
    first_tick: int
    ticks: int
    reason: str


class Report(NamedTuple):
    """What was reported, as it was published."""

    time_ns: int
    subject: str
    data: dict[str, Any]


class Ticks(NamedTuple):
    """Ticks that follow each other.

    - `first`: the place in the file of the first one, from 0
    - `stamps`: in ns since 1970, shape (n,); `numbers`: as the stream process counts, shape (n,)
    - `phases`: which of the phases of the file each is in, shape (n,); -1 before the first
    - `values`: by topic: positions, velocities and efforts, shape (n, 3, joints)
    """

    first: int
    stamps: Integers
    numbers: Integers
    phases: Integers
    values: dict[str, Floats]

    @property
    def places(self) -> Integers:
        """The place of each in the file, shape (n,)."""
        return self.first + np.arange(self.stamps.size)

    def where(self, phases: Iterable[Phase], holds: Callable[[Phase], bool]) -> Booleans:
        """Return which ticks are in a phase of which something holds, shape (n,)."""
        # The last stands for ticks before the first phase.
        return np.array([*map(holds, phases), False])[self.phases]


def is_own(records: Iterable[Record], size: int) -> bool:
    """Whether a recording is one of motiond, by its metadata or by its topics.

    Raises `BadText`, or another error of a damaged file.
    """
    recording = Recording(lambda _: False, size, MOST_TIMES_OF_TICKS)
    chunks = 0
    for opcode, content in records:
        chunks += opcode == CHUNK
        if opcode in {METADATA, CHANNEL} or (opcode == CHUNK and chunks == 1):
            for _ in recording.read([(opcode, content)]):
                pass
        if OWN in recording.metadata or any(one.topic == Topic.PHASE for one in recording.channels.values()):
            return True
    return False


@dataclass(slots=True)
class OwnRecording:
    """A recording of motiond while it is read: `ticks` first, then all else.

    `topics`: of the ticks, those that are wanted. `count`: of the ticks so far.
    """

    recording: Recording
    topics: tuple[str, ...]
    joints: tuple[str, ...] = ()
    count: int = 0
    phases: list[Phase] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    reports: list[Report] = field(default_factory=list)
    # phases whose first tick has not come yet, by its number and stamp
    _announced: dict[tuple[int, int], Phase] = field(default_factory=dict)
    _batches: dict[str, StateBatch] = field(default_factory=dict)

    @classmethod
    def of(cls, size: int, topics: tuple[str, ...], subjects: Iterable[str] = ()) -> OwnRecording:
        """Return one of a file of so many bytes."""
        wanted = {*topics, Topic.PHASE, Topic.GAP, *(PREFIX + subject for subject in subjects)}
        recording = Recording(lambda channel: channel.topic in wanted, size, MOST_TIMES_OF_TICKS)
        return cls(recording, topics)

    @property
    def about(self) -> dict[str, str]:
        """What the file says of itself."""
        return self.recording.metadata.get(OWN, {})

    def units(self) -> dict[str, str]:
        """Return the unit of each joint, where the file states it."""
        stated = {joint: self.about.get(f"unit {joint}") for joint in self.joints}
        return {joint: unit for joint, unit in stated.items() if unit in {"rad", "m"}}

    def continuous(self) -> list[str]:
        """Return the joints that turn without end, where the file states it."""
        return [joint for joint in self.joints if self.about.get(f"continuous {joint}") == "true"]

    def ticks(self, records: Iterable[Record]) -> Iterator[Ticks]:
        """Return the ticks that have a message in each topic, some at a time; their phases are known by then.

        Raises `BadText`, or another error of a damaged file.
        """
        held: dict[str, list[Message]] = {topic: [] for topic in self.topics}
        for _ in self.recording.read(records):
            before, held = held, {topic: [] for topic in self.topics}
            for message in self.recording.take_messages():
                topic = message.channel.topic
                if message.log_time > LATEST_NS:
                    what = f"has a message at {message.log_time / NS:g} s"
                    raise BadText(what, "no clock shows that", "copy the file again")
                if topic in held:
                    held[topic].append(message)
                else:
                    self._note(message)
            yield from self._joined(before)
            held = {topic: before[topic] + held[topic] for topic in self.topics}
        yield from self._joined(held)

    def _joined(self, held: dict[str, list[Message]]) -> Iterator[Ticks]:
        """Return the ticks that messages make, and take these; those stay that not all topics have yet."""
        least = min(map(len, held.values()))
        taken = {topic: messages[:least] for topic, messages in held.items()}
        for topic, messages in held.items():
            del messages[:least]
            if len(messages) > MOST_AHEAD:
                what = f"has {len(messages)} ticks more in {topic} than in the other topic"
                raise BadText(what, "each tick has a message in both", f"choose one: `--topic {topic}`")
        if not least:
            return
        first, *others = ([message.number for message in messages] for messages in taken.values())
        if any(numbers != first for numbers in others):
            what = f"has other ticks in {self.topics[0]} than in {self.topics[1]}"
            raise BadText(what, "each tick has a message in both", "copy the file again")
        stamps = np.array([message.log_time for message in taken[self.topics[0]]], np.int64)
        numbers = np.array(first, np.int64)
        values = {
            topic: self._batch(topic)([message.data for message in messages])
            for topic, messages in taken.items()
        }
        self.joints = self._batch(self.topics[0]).names
        yield Ticks(self.count, stamps, numbers, self._phases_of(stamps, numbers), values)
        self.count += least

    def _phases_of(self, stamps: Integers, numbers: Integers) -> Integers:
        """Return which phase each tick is in, shape (n,); -1 before the first."""
        begins = np.zeros(stamps.size, np.int64)
        now = len(self.phases) - 1
        times = np.array([time_ns for _, time_ns in self._announced], np.int64)
        for at in np.flatnonzero(np.isin(stamps, times)).tolist():
            phase = self._announced.pop((int(numbers[at]), int(stamps[at])), None)
            if phase is not None:
                self.phases.append(phase._replace(first=self.count + at))
                begins[at] = 1
        return now + np.cumsum(begins)

    def _batch(self, topic: str) -> StateBatch:
        return self._batches.setdefault(topic, StateBatch(topic))

    def _note(self, message: Message) -> None:
        topic, stamp = message.channel.topic, message.log_time
        if len(self.phases) + len(self._announced) + len(self.gaps) + len(self.reports) >= MOST_NOTED:
            reason = f"{MOST_NOTED} of them are read"
            raise BadText("holds too many phases, gaps and reports", reason, "filter it: `mcap filter`")
        try:
            data = orjson.loads(decode_text(message.data))
            if topic == Topic.PHASE:
                phase = _phase(stamp, data)
                self._announced[phase.tick & NUMBERS, stamp] = phase
            elif topic == Topic.GAP:
                reason = printable(str(data["reason"]))
                self.gaps.append(Gap(stamp, _count(data["first_tick"]), _count(data["ticks"]), reason))
            else:
                self.reports.append(Report(stamp, topic.removeprefix(PREFIX), dict(data)))
        except (BadText, KeyError, OverflowError, TypeError, ValueError) as error:
            reason = f"it is not as motiond writes it ({error!r})"
            raise BadText(f"has a message in {quoted(topic)} that cannot be read", reason) from error


def _count(value: Any) -> int:
    """Return a count. Raises `ValueError` if it is none that a double holds exactly."""
    count = int(value)
    if not 0 <= count < MOST_COUNTED:
        raise ValueError(f"{value} is no count")
    return count


def _phase(stamp: int, data: dict[str, Any]) -> Phase:
    period_s, moved = data.get("period_s"), data.get("moved")
    return Phase(
        stamp,
        _count(data["tick"]),
        str(data["state"]),
        bool(data["torque"]),
        _count(data["goal"]),
        _count(data["loop"]),
        float(data["frame"]),
        None if period_s is None else float(period_s),
        None if moved is None else float(moved),
        beside=bool(data.get("beside", False)),
    )
