"""What a robot did comes back from a file unchanged, also by the libraries of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from rosbags.highlevel import AnyReader

from motiond.daemon.ipc.ring import slices
from motiond.daemon.recording import RecordingWriter

from .recordings import BEGAN_S, JOINTS, about, read, records

if TYPE_CHECKING:
    from pathlib import Path

    from motiond.formats.arrays import Floats

PARTS = slices(len(JOINTS))
START_NS = 1_795_000_000_000_000_000
MS = 1_000_000


def written(path: Path, *batches: Floats, reason: str = "asked to") -> Path:
    writer = RecordingWriter(path, about(), unix_time=lambda: BEGAN_S + 60.0)
    for batch in batches:
        writer.add(batch)
        writer.cut()
    return writer.finish(reason)


def test_every_tick_comes_back_bit_for_bit(tmp_path: Path) -> None:
    ticks = records(500)
    ticks[7, PARTS["velocity"]] = np.nan
    found = read(written(tmp_path / "run.mcap", ticks[:200], ticks[200:201], ticks[201:]))
    assert found.profile == "ros2"
    for topic, prefix in (("/joint_states", ""), ("/reference", "reference_")):
        messages = found.messages[topic]
        for quantity in ("position", "velocity", "effort"):
            values = np.array([getattr(message, quantity) for message in messages])
            assert values.tobytes() == ticks[:, PARTS[prefix + quantity]].tobytes()
        assert {tuple(message.name) for message in messages} == {JOINTS}
        assert {message.header.frame_id for message in messages} == {""}
        assert found.numbers[topic] == [*range(500)]
        assert found.stamps[topic] == [START_NS + tick * MS for tick in range(500)]
        stamps = [message.header.stamp for message in messages]
        assert [stamp.sec * 1_000_000_000 + stamp.nanosec for stamp in stamps] == found.stamps[topic]


def test_rosbags_reads_the_same(tmp_path: Path) -> None:
    ticks = records(50)
    with AnyReader([written(tmp_path / "run.mcap", ticks)]) as reader:
        states = [one for one in reader.connections if one.msgtype == "sensor_msgs/msg/JointState"]
        found: dict[str, list[Any]] = {}
        for connection, stamp, raw in reader.messages(states):
            found.setdefault(connection.topic, []).append(
                (stamp, reader.deserialize(raw, connection.msgtype))
            )
    assert [*found] == ["/reference", "/joint_states"]
    assert [stamp for stamp, _ in found["/joint_states"]] == [START_NS + tick * MS for tick in range(50)]
    positions = np.array([message.position for _, message in found["/joint_states"]])
    assert positions.tobytes() == ticks[:, PARTS["position"]].tobytes()
    assert found["/joint_states"][0][1].name == [*JOINTS]


def test_a_file_says_of_itself_what_it_is(tmp_path: Path) -> None:
    found = read(written(tmp_path / "run.mcap", records(5, first=40)))
    assert found.metadata == {
        "foxglove": {"deviceName": "arm"},
        "motiond": {
            "version": "0.2.0",
            "robot": "arm",
            "daemon": "bench",
            "driver": "sim",
            "began_utc": "2026-11-18T11:06:40.000Z",
            "first_tick": "40",
            "why": "request",
            "name": "wave",
            "clock_synchronised": "true",
            "clock_source": "chrony: 10.0.0.1",
            "clock_estimated_error_s": "0.0001",
            "unit hip": "rad",
            "unit left knee": "rad",
            "unit lift": "m",
        },
        "motiond-end": {
            "ended_utc": "2026-11-18T11:07:40.000Z",
            "ticks": "5",
            "gaps": "0",
            "reason": "asked to",
        },
    }


def test_ticks_that_are_missing_are_a_gap(tmp_path: Path) -> None:
    found = read(written(tmp_path / "run.mcap", records(10), records(10, first=25)))
    assert found.messages["/motiond/gap"] == [
        {"first_tick": 10, "ticks": 15, "reason": "the daemon came too late to read them"}
    ]
    assert found.numbers["/joint_states"] == [*range(10), *range(25, 35)]
    assert (found.metadata["motiond-end"]["ticks"], found.metadata["motiond-end"]["gaps"]) == ("20", "1")


def test_a_phase_begins_with_each_change_of_what_the_robot_does(tmp_path: Path) -> None:
    ticks = records(20)
    ticks[12:, 5] = 1  # idle
    found = read(written(tmp_path / "run.mcap", ticks[:12], ticks[12:]))
    playing = {"tick": 0, "state": "playing", "torque": True, "goal": 1, "loop": 1, "frame": 0.0}
    assert found.messages["/motiond/phase"] == [
        {**playing, "period_s": 0.001},
        {**playing, "tick": 12, "state": "idle", "frame": 12.0, "period_s": 0.001},
    ]
    assert found.stamps["/motiond/phase"] == [START_NS, START_NS + 12 * MS]
