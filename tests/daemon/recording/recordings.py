"""Records of a ring, and what other libraries read of a recording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import orjson
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from motiond.daemon.clock import ClockState
from motiond.daemon.ipc.ring import COLUMN, Record, slices
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.recording import RecordingAbout, RecordingWriter

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats.arrays import Floats

JOINTS = ("hip", "left knee", "lift")
BEGAN_S = 1_795_000_000.0
OFFSET_S = BEGAN_S - 100.0  # the machine has run for 100 s
PERIOD_S = 0.001
PARTS = slices(len(JOINTS))
APPROACH = [(State.IDLE, 0)] * 3 + [(State.APPROACHING, 1)] * 4
PLAYED = [(State.PLAYING, 1)] * 10 + [(State.IDLE, 1)] * 5
REST = [(State.IDLE, 0)] * 8
Reports = Sequence[tuple[Literal["state", "event", "result"], dict[str, Any], float]]
"""Each with the time in s, from the beginning, at which it was published."""


def about(**changed: Any) -> RecordingAbout:
    parts: dict[str, Any] = {
        "robot": "arm",
        "daemon": "bench",
        "driver": "sim",
        "version": "0.2.0",
        "joints": JOINTS,
        "units": ("rad", "rad", "m"),
        "unix_less_monotonic_s": OFFSET_S,
        "began_unix_s": BEGAN_S,
        "clock": ClockState(synchronised=True, estimated_error_s=0.0001, source="chrony: 10.0.0.1"),
        "why": "request",
        "name": "wave",
    }
    return RecordingAbout(**(parts | changed))


def records(count: int, first: int = 0, joints: int = len(JOINTS), seed: int = 1) -> Floats:
    """Return records of a robot that plays, with noise for all of its numbers; shape (count, width)."""
    noise = np.random.default_rng(seed + first)
    record = Record(joints)
    rows = np.tile(record.data, (count, 1))
    rows[:, len(COLUMN) :] = noise.normal(size=(count, rows.shape[1] - len(COLUMN)))
    ticks = first + np.arange(count)
    rows[:, COLUMN["sequence"]] = ticks
    rows[:, COLUMN["deadline_s"]] = rows[:, COLUMN["setpoint_s"]] = 100.0 + ticks * PERIOD_S
    rows[:, COLUMN["lateness_s"]] = 1e-5
    rows[:, COLUMN["state"]] = STATES.index(State.PLAYING)
    rows[:, [COLUMN["torque"], COLUMN["goal"], COLUMN["loop"]]] = 1
    rows[:, COLUMN["frame"]] = ticks
    return rows


def ticks(phases: Sequence[tuple[State, int]], **columns: Any) -> Floats:
    """Return records of a robot in these states, each with the goal that it has."""
    rows = records(len(phases))
    rows[:, COLUMN["state"]] = [STATES.index(state) for state, _ in phases]
    rows[:, COLUMN["goal"]] = [goal for _, goal in phases]
    rows[:, COLUMN["moved"]] = np.nan
    for name, values in columns.items():
        rows[:, COLUMN[name]] = values
    return rows


def write(
    path: Path,
    rows: Floats,
    reports: Reports = (),
    attached: Mapping[str, bytes] | None = None,
    *,
    is_finished: bool = True,
    **changed: Any,
) -> Path:
    """Write a recording in three batches, and return its file; `changed` is of what it says of itself."""
    writer = RecordingWriter(path, about(**changed), unix_time=lambda: BEGAN_S)
    for name, content in (attached or {}).items():
        writer.attach(name, content)
    for batch in np.array_split(rows, 3):
        writer.add(batch)
        writer.cut()
    for subject, data, time_s in reports:
        writer.add_report(subject, data, round(BEGAN_S * 1e9) + round(time_s * 1e9))
    if is_finished:
        return writer.finish("asked to")
    writer.abandon()
    return writer.part


class Read(NamedTuple):
    """What mcap and mcap-ros2-support read of a file."""

    profile: str
    messages: dict[str, list[Any]]
    stamps: dict[str, list[int]]
    numbers: dict[str, list[int]]
    metadata: dict[str, dict[str, str]]
    attachments: dict[str, bytes]


def read(path: Path) -> Read:
    with path.open("rb") as stream:
        reader: Any = make_reader(stream)
        decoder: Any = DecoderFactory()
        found = Read(reader.get_header().profile, {}, {}, {}, {}, {})
        for schema, channel, message in reader.iter_messages():
            decoded = decoder.decoder_for(channel.message_encoding, schema)(message.data)
            is_json = channel.topic.startswith("/motiond/")
            found.messages.setdefault(channel.topic, []).append(
                orjson.loads(decoded.data) if is_json else decoded
            )
            found.stamps.setdefault(channel.topic, []).append(message.log_time)
            found.numbers.setdefault(channel.topic, []).append(message.sequence)
        found.metadata.update({one.name: one.metadata for one in reader.iter_metadata()})
        found.attachments.update({one.name: one.data for one in reader.iter_attachments()})
    return found
