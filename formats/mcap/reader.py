"""A recording to motions: the joint states of a topic to one, or each of its trajectories to one.

What motiond has recorded itself is read by `goals`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from motiond.text import listed, nearest, printable, quoted

from ..errors import BadText, Problems, Where
from ..io.joint_names import check_joint_names
from ..model.motion import Motion
from ..model.timing import DEFAULT_RATE_HZ, LATEST_S, NS, frames_at
from .container import MAGIC, read_recording, records_in, refuse_others, refusing_damage
from .decoding import (
    ENCODINGS,
    STATE,
    Point,
    State,
    StateDecoder,
    Trajectory,
    decode_trajectory,
    kind_of,
)
from .goals import load_own
from .joining import join
from .ticks import is_own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..arrays import Floats
    from ..io.source import ReadOptions, Source
    from .container import Channel, Message, Recording

NAME, SUFFIXES = "mcap", (".mcap",)
PART = ".part"
"""Behind the suffix of a recording that is not finished."""

# The number of a message in its topic, its time in ns, and what it says.
Stamped = tuple[int, int, State]
MOST_TRAJECTORIES = 1_000
COMPONENTS = {"velocities": "JointVelocity", "accelerations": "JointAcceleration", "effort": "JointEffort"}


def sniff(head: bytes) -> bool:
    """Whether a file that begins like this is MCAP."""
    return head.startswith(MAGIC)


def load(data: bytes, source: Source) -> list[Motion]:
    """Read the motions of a topic, `source.options.topic` where there are several.

    Of a recording of motiond, each goal that was played is one (`goals`).

    Raises `FormatError` with every problem found.
    """
    problems = Problems(source.name)
    refuse_others(data, problems)
    records = partial(records_in, memoryview(data)[len(MAGIC) :])
    stem = printable(source.path.name.removesuffix(PART).removesuffix(SUFFIXES[0]))
    with refusing_damage(problems):
        if is_own(records(), len(data)):
            return load_own(records(), len(data), _without_map(source.options), stem, problems)
    recording = read_recording(data, _is_of_joints, problems)
    topic = _topic(recording, source.options.topic, problems)
    if not recording.is_whole:
        _warn_cut(recording, problems)
    messages = [message for message in recording.messages if message.channel.topic == topic]
    messages.sort(key=lambda message: message.log_time)
    kinds = {kind_of(message.channel.schema) for message in messages}
    if len(kinds) > 1:
        reason = f"its messages are {listed(sorted(kinds))}"
        raise problems.fail(0, f"topic {quoted(topic)} is ambiguous", reason, "filter it: `mcap filter`")
    if kinds == {STATE}:
        return [_motion_of_states(_stamped(messages, problems), topic, stem, problems)]
    return _motions_of_trajectories(messages, topic, stem, problems)


def _without_map(options: ReadOptions) -> ReadOptions:
    """Return options without the topic of a map that is for the motions of others."""
    is_of_map = options.map is not None and not options.map.must_fit and options.topic == options.map.topic
    return replace(options, map=None, topic=None) if is_of_map else options


def _is_of_joints(channel: Channel) -> bool:
    return channel.encoding in ENCODINGS and kind_of(channel.schema) != ""


def _topic(recording: Recording, wanted: str | None, problems: Problems) -> str:
    """Return the topic to read: the one that is wanted, or the only one of joints."""
    counts: dict[str, int] = {}
    for channel, count in recording.counts.items():
        if _is_of_joints(channel):
            counts[channel.topic] = counts.get(channel.topic, 0) + count
    if wanted in counts:
        return str(wanted)
    shown = listed([f"{printable(topic)} ({count} messages)" for topic, count in counts.items()])
    if wanted is not None:
        hint = nearest(wanted, counts) or "choose one with `--topic`, or `topic:` in a motion map"
        reason = f"topics of joints are {shown}" if counts else _no_joints(recording)
        raise problems.fail(0, f"has no joints in topic {quoted(wanted)}", reason, hint)
    if not counts:
        hint = "record JointState or JointTrajectory: `ros2 bag record -s mcap /joint_states`"
        raise problems.fail(0, "has no messages of joints", _no_joints(recording), hint)
    if len(counts) > 1:
        first = printable(next(iter(counts)))
        hint = f"choose one: `--topic {first}`, or `topic: {first}` in a motion map"
        raise problems.fail(0, f"has {len(counts)} topics of joints", shown, hint)
    return next(iter(counts))


def _no_joints(recording: Recording) -> str:
    topics = [
        printable(f"{channel.topic} ({channel.schema or 'no schema'}, {channel.encoding})")
        for channel in recording.counts
    ]
    cut = "" if recording.is_whole else "it was cut short; "
    return f"{cut}its topics are {listed(topics)}" if topics else f"{cut}it has no messages"


def _warn_cut(recording: Recording, problems: Problems) -> None:
    first = min(message.log_time for message in recording.messages)
    seconds = (recording.last_time - first) / NS
    reason = f"what is whole ends {seconds:.3f} s after the first message of joints"
    problems.warn(0, "was cut short", reason, "`mcap recover` makes a whole file of it")


def _motion_of_states(states: Iterator[Stamped], topic: str, stem: str, problems: Problems) -> Motion:
    joined = join(states, problems)
    times, frame_rate = frames_at(joined.times)
    return Motion(
        name=stem,
        joint_names=joined.joints,
        frame_rate=frame_rate,
        times=times,
        positions=joined.positions,
        components=joined.components,
        metadata={"format": NAME, "topic": topic, "start_ns": joined.start_ns},
        warnings=problems.oddities,
    )


def _stamped(messages: list[Message], problems: Problems) -> Iterator[Stamped]:
    """Return every state with its number and time: its stamp, or when it was logged where none is stamped."""
    decoders = {encoding: StateDecoder(encoding) for encoding in ENCODINGS}
    states: list[Stamped] = []
    for number, message in enumerate(messages):
        try:
            state = decoders[message.channel.encoding](message.data)
        except BadText as bad:
            problems.add(0, f"message {number} {bad.problem}", bad.reason, bad.hint)
            continue
        states.append((number, message.log_time, state))
    problems.raise_if_any()
    if not any(state.stamp for _, _, state in states):
        return iter(states)
    return ((number, state.stamp, state) for number, _, state in states)


def _motions_of_trajectories(
    messages: list[Message], topic: str, stem: str, problems: Problems
) -> list[Motion]:
    trajectories = _decoded(messages, problems)
    if len(trajectories) > 1 and all(len(one.points) == 1 for _, _, one in trajectories):
        return [_motion_of_states(_commands(trajectories), topic, stem, problems)]
    if len(trajectories) > MOST_TRAJECTORIES:
        what = f"has {len(trajectories)} trajectories in topic {quoted(topic)}"
        raise problems.fail(0, what, f"{MOST_TRAJECTORIES} are read", "filter it: `mcap filter`")
    found = []
    for number, _, (_, joints, points) in trajectories:
        try:
            if check_joint_names(joints, Where(problems, 0)):
                found.append((joints, *_arrays(joints, points)))
        except BadText as bad:
            problems.add(0, f"message {number} {bad.problem}", bad.reason, bad.hint)
    problems.raise_if_any()
    if not found:
        what = f"has no points in topic {quoted(topic)}"
        raise problems.fail(0, what, "all its trajectories are empty", "choose another")
    motions = []
    for number, (joints, at, positions, components) in enumerate(found, 1):
        times, frame_rate = frames_at(at, DEFAULT_RATE_HZ)
        motions.append(
            Motion(
                name=f"{stem}_{number}" if len(found) > 1 else stem,
                joint_names=joints,
                frame_rate=frame_rate,
                times=times,
                positions=positions,
                components=components,
                metadata={"format": NAME, "topic": topic},
                warnings=problems.oddities,
            )
        )
    return motions


def _decoded(messages: list[Message], problems: Problems) -> list[tuple[int, int, Trajectory]]:
    """Return every trajectory that has points, with its number and when it was logged."""
    trajectories: list[tuple[int, int, Trajectory]] = []
    for number, message in enumerate(messages):
        try:
            trajectory = decode_trajectory(message.data, message.channel.encoding)
        except BadText as bad:
            problems.add(0, f"message {number} {bad.problem}", bad.reason, bad.hint)
            continue
        if trajectory.points:
            trajectories.append((number, message.log_time, trajectory))
    problems.raise_if_any()
    return trajectories


def _commands(trajectories: list[tuple[int, int, Trajectory]]) -> Iterator[Stamped]:
    """Return trajectories of one point each as where the joints shall be, and when.

    So are robots commanded that follow another one, or a hand.
    """
    has_stamps = any(trajectory.stamp for _, _, trajectory in trajectories)
    for number, logged, (stamp, joints, (point,)) in trajectories:
        at = (stamp if has_stamps else logged) + point.time
        yield number, at, State(at, joints, point.positions, point.velocities, point.effort)


def _arrays(joints: tuple[str, ...], points: list[Point]) -> tuple[Floats, Floats, dict[str, Floats]]:
    """Return the times of points in s, their positions, and what else all of them have."""
    times = np.array([point.time / NS for point in points])
    if np.abs(times).max() > LATEST_S:
        raise BadText(f"has a point at {np.abs(times).max():g} s", "no clock shows that", "correct it")
    if not (np.diff(times) > 0).all():
        row = int(np.flatnonzero(np.diff(times) <= 0)[0]) + 1
        reason = f"it is at {times[row]:.9g} s after {times[row - 1]:.9g} s"
        raise BadText(f"has point {row} out of order", reason, "times increase from point to point")
    wrong = next((row for row, point in enumerate(points) if point.positions.size != len(joints)), None)
    if wrong is not None:
        reason = f"it has {points[wrong].positions.size} positions of {len(joints)} joints"
        raise BadText(f"has a point {wrong} that is incomplete", reason, "each joint has one")
    positions = np.array([point.positions for point in points])
    if not np.isfinite(positions).all():
        raise BadText("has a position that is not finite", "positions are finite", "leave it out")
    series = {component: [getattr(point, key) for point in points] for key, component in COMPONENTS.items()}
    whole = {
        component: np.array(rows)
        for component, rows in series.items()
        if all(row.size == len(joints) for row in rows)
    }
    return times, positions, whole
