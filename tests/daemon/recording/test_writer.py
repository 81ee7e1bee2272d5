"""What a robot did comes back from a file unchanged, also by the libraries of others."""

from __future__ import annotations

import errno
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from rosbags.highlevel import AnyReader

from motiond.daemon.ipc.ring import COLUMN, contacts_of, slices
from motiond.daemon.ipc.states import STATES, State
from motiond.daemon.recording import RecordingWriter, RobotDescription, repair
from motiond.drivers import CONTACT
from motiond.formats import load_robot

from .recordings import BEGAN_S, JOINTS, about, read, records, write

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats

SIX_AXIS = Path(__file__).parents[3] / "config" / "robots" / "six_axis.hrdf"
JSON_TOPICS = ("phase", "gap", "timing", "contacts", "state", "event", "result")
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
            "motions": "[]",
            "codes": "[]",
        },
    }


def test_a_file_names_the_joints_that_turn_without_end(tmp_path: Path) -> None:
    about = read(write(tmp_path / "run.mcap", records(5), continuous=("left knee",))).metadata["motiond"]
    assert {key: value for key, value in about.items() if key.startswith("continuous")} == {
        "continuous left knee": "true"
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
    ticks[12:, COLUMN["state"]] = STATES.index(State.IDLE)
    ticks[12:, COLUMN["moved"]] = np.nan
    ticks[16:, COLUMN["beside"]] = True
    found = read(written(tmp_path / "run.mcap", ticks[:12], ticks[12:]))
    playing = {"tick": 0, "state": "playing", "torque": True, "goal": 1, "loop": 1, "frame": 0.0}
    idle = {**playing, "state": "idle", "period_s": 0.001, "moved": None}
    assert found.messages["/motiond/phase"] == [
        {**playing, "period_s": 0.001, "moved": 0.0, "beside": False},
        {**idle, "tick": 12, "frame": 12.0, "beside": False},
        {**idle, "tick": 16, "frame": 16.0, "beside": True},
    ]
    assert found.stamps["/motiond/phase"] == [START_NS + tick * MS for tick in (0, 12, 16)]


def test_a_file_keeps_the_rules_of_ros_2_and_of_viewers(tmp_path: Path) -> None:
    """All is in CDR with definitions in ros2msg, and decoded alike by two libraries."""
    description = RobotDescription.of(load_robot(SIX_AXIS), JOINTS)
    touching = about(description=description, bodies=("floor", "hand"))
    writer = RecordingWriter(tmp_path / "run.mcap", touching)
    rows = np.pad(records(14), ((0, 0), (0, CONTACT)), constant_values=np.nan)
    contacts_of(rows, len(JOINTS))[3, 0] = [0.0, 1.0, 0.5, 0.1, 0.0, 1.0, 0.0, 9.0]
    writer.add(rows[:5])
    writer.add(rows[9:])
    for subject in ("state", "event", "result"):
        writer.add_report(subject, {}, START_NS)
    path = writer.finish("asked to")
    with path.open("rb") as stream:
        reader: Any = make_reader(stream, decoder_factories=[DecoderFactory()])
        summary = reader.get_summary()
        decoded = [(one.channel.topic, one.decoded_message) for one in reader.iter_decoded_messages()]
    assert [one.message_encoding for one in summary.channels.values()] == ["cdr"] * len(summary.channels)
    assert [one.metadata for one in summary.channels.values()] == (
        [{"offered_qos_profiles": ""}] * len(summary.channels)
    )
    assert {schema.encoding for schema in summary.schemas.values()} == {"ros2msg"}
    kinds = {one.topic: summary.schemas[one.schema_id].name for one in summary.channels.values()}
    assert kinds == {
        "/joint_states": "sensor_msgs/msg/JointState",
        "/reference": "sensor_msgs/msg/JointState",
        "/tf": "tf2_msgs/msg/TFMessage",
        "/robot_description": "std_msgs/msg/String",
        **{f"/motiond/{name}": "std_msgs/msg/String" for name in JSON_TOPICS},
    }
    assert {topic for topic, _ in decoded} == {*kinds}
    with AnyReader([path]) as other:
        again = [(one.topic, other.deserialize(raw, one.msgtype)) for one, _, raw in other.messages()]
    assert [(topic, shown(message)) for topic, message in again] == [
        (topic, shown(message)) for topic, message in decoded
    ]


def shown(message: Any) -> Any:
    """Return a message's fields, whichever library has decoded it."""
    if isinstance(message, np.ndarray | list | tuple):
        return [shown(one) for one in message]
    names = getattr(message, "__dataclass_fields__", None) or getattr(message, "__slots__", None)
    if names is None:
        return message
    return {name: shown(getattr(message, name)) for name in names if not name.startswith("_")}


def test_the_last_tick_of_a_robot_that_ticks_no_more_is_not_kept_back(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about())
    writer.add(records(5))
    writer.cut()
    writer.cut()
    writer.abandon()
    path = repair(writer.part)
    assert path is not None
    assert read(path).numbers["/reference"] == [*range(5)]


def test_reports_come_back_as_they_were_published(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about())
    writer.add_report("event", {"kind": "marker", "positions": np.array([0.5, np.nan])}, START_NS)
    result = {"motion": "wave", "code": "SUCCESSFUL", "message": "the last row is out and held"}
    writer.add_report("result", result, START_NS + MS)
    found = read(writer.finish("asked to"))
    assert found.messages == {
        "/motiond/event": [{"kind": "marker", "positions": [0.5, None]}],
        "/motiond/result": [result],
    }
    assert found.stamps["/motiond/result"] == [START_NS + MS]
    assert found.metadata["motiond"]["first_tick"] == ""
    end = found.metadata["motiond-end"]
    assert (end["motions"], end["codes"]) == ('["wave"]', '["SUCCESSFUL"]')


def test_files_are_attached_once_with_their_hashes(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about())
    for _ in range(2):
        writer.attach("motiond.yaml", b"robots: {}", "application/yaml")
    writer.add(records(3))
    writer.cut()
    writer.attach("wave.seq", b"")
    found = read(writer.finish("asked to"))
    assert found.attachments == {"motiond.yaml": b"robots: {}", "wave.seq": b""}
    hashes = {f"sha256 {name}": sha256(data).hexdigest() for name, data in found.attachments.items()}
    end = found.metadata["motiond-end"]
    assert {key: value for key, value in end.items() if key.startswith("sha256")} == hashes
    assert [key for key in found.metadata["motiond"] if key in hashes] == ["sha256 motiond.yaml"]


def test_timing_is_told_each_second(tmp_path: Path) -> None:
    ticks = records(300)
    ticks[:, COLUMN["lateness_s"]] = np.arange(300) * 2e-6
    ticks[50:, COLUMN["missed"]] = 3
    ticks[250:, COLUMN["missed"]] = 1  # the driver was opened again
    ticks[260:, COLUMN["skipped"]] = 1
    found = read(written(tmp_path / "run.mcap", ticks[:201], ticks[201:]))
    assert found.messages["/motiond/timing"] == [
        {
            "ticks": 200,
            "lateness_s": {"p50": 0.000199, "p99": 0.000394, "max": 0.000398},
            "missed": 3,
            "skipped": 0,
        },
        {
            "ticks": 99,
            "lateness_s": {"p50": 0.000498, "p99": 0.000594, "max": 0.000596},
            "missed": 1,
            "skipped": 1,
        },
        {
            "ticks": 1,
            "lateness_s": {"p50": 0.000598, "p99": 0.000598, "max": 0.000598},
            "missed": 0,
            "skipped": 0,
        },
    ]


def test_a_stream_process_that_counts_from_0_again_is_a_gap(tmp_path: Path) -> None:
    again = records(5)
    again[:, COLUMN["setpoint_s"]] += 10.0
    found = read(written(tmp_path / "run.mcap", records(8), again))
    assert found.messages["/motiond/gap"] == [
        {"first_tick": 8, "ticks": 0, "reason": "the stream process was restarted"}
    ]
    assert found.numbers["/reference"] == [*range(8), *range(5)]


def test_what_is_missing_may_be_said(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about(), unix_time=lambda: BEGAN_S)
    writer.add(records(10))
    writer.add_gap(10, 5, "the disk was too slow")
    writer.add(records(10, first=17))
    assert (writer.ticks, writer.gaps) == (20, 1)
    found = read(writer.finish("asked to"))
    assert found.messages["/motiond/gap"] == [
        {"first_tick": 10, "ticks": 5, "reason": "the disk was too slow"},
        {"first_tick": 15, "ticks": 2, "reason": "the daemon came too late to read them"},
    ]


def test_a_file_replaces_none(tmp_path: Path) -> None:
    (tmp_path / "run.mcap").write_bytes(b"mine")
    (tmp_path / "run-2.mcap").write_bytes(b"mine")
    assert written(tmp_path / "run.mcap", records(3)) == tmp_path / "run-3.mcap"
    assert (tmp_path / "run.mcap").read_bytes() == b"mine"
    assert {path.name for path in tmp_path.iterdir()} == {"run.mcap", "run-2.mcap", "run-3.mcap"}


def test_a_file_system_without_links_renames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "run.mcap").write_bytes(b"mine")
    assert written(tmp_path / "run.mcap", records(3)) == tmp_path / "run-2.mcap"
    assert {path.name for path in tmp_path.iterdir()} == {"run.mcap", "run-2.mcap"}


def test_no_two_write_one_file(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about())
    with pytest.raises(FileExistsError):
        RecordingWriter(tmp_path / "run.mcap", about())
    writer.abandon()
    assert [path.name for path in tmp_path.iterdir()] == ["run.mcap.part"]


def test_ticks_that_nobody_cuts_are_written_all_the_same(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", about())
    for first in range(0, 100_000, 10_000):
        writer.add(records(10_000, first=first))
    assert writer.size > 1_000_000
    assert writer.ticks == 100_000
    writer.abandon()


def test_what_touches_is_there_for_each_tick_until_nothing_does(tmp_path: Path) -> None:
    """Ticks 2 and 3 touch, the second of them at the end of a batch, and tick 5 at the end of all."""
    hand = [0.0, 1.0, 0.5, 0.1, 0.0, 1.0, 0.0, 9.0]
    rows = np.pad(records(6), ((0, 0), (0, 2 * CONTACT)), constant_values=np.nan)
    contacts_of(rows, len(JOINTS))[[2, 3, 5], 0] = hand
    path = tmp_path / "run.mcap"
    writer = RecordingWriter(path, about(bodies=("floor", "hand")), unix_time=lambda: BEGAN_S + 60.0)
    for batch in (rows[:4], rows[4:]):
        writer.add(batch)
        writer.cut()
        writer.cut()
    found = read(writer.finish("asked to"))
    touch = [{"bodies": ["floor", "hand"], "position": [0.5, 0.1, 0.0], "force": [1.0, 0.0, 9.0]}]
    told = found.messages["/motiond/contacts"]
    assert told == [{"tick": tick, "contacts": touch if tick != 4 else []} for tick in (2, 3, 4, 5)]
    assert found.stamps["/motiond/contacts"] == [START_NS + tick * MS for tick in (2, 3, 4, 5)]


def test_a_robot_that_knows_no_contacts_has_no_channel_for_them(tmp_path: Path) -> None:
    assert "/motiond/contacts" not in read(written(tmp_path / "run.mcap", records(6))).messages
