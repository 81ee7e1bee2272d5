"""Recordings of joint states and trajectories, and the refusals of others."""

from __future__ import annotations

import re
import struct
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
from mcap.writer import CompressionType

from motiond.formats import FormatError, Motion, ReadOptions, load_motion, mcap
from motiond.formats.io.source import Source
from motiond.formats.mcap import joining
from tests.formats.mcap.recordings import NS, STATE, TRAJECTORY, recording, state, trajectory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.formats.mcap.recordings import Packed

ARM, GRIPPER = ("shoulder", "elbow"), ("finger",)
MS = NS // 1000
START = 1_763_800_000 * NS
ONE = [[0.0, 0.5], [0.1, 0.6], [0.2, 0.7]]


def load(data: bytes, topic: str | None = None) -> list[Motion]:
    return mcap.load(data, Source(Path("bag.mcap"), options=ReadOptions(topic=topic)))


def read(messages: Iterable[Packed] | bytes, topic: str | None = None) -> Motion:
    (motion,) = load(messages if isinstance(messages, bytes) else recording(messages), topic)
    return motion


def refusal(messages: Iterable[Packed] | bytes, topic: str | None = None) -> str:
    with pytest.raises(FormatError) as caught:
        load(messages if isinstance(messages, bytes) else recording(messages), topic)
    return str(caught.value).replace("bag.mcap: ", "")


def states(rows: list[list[float]] = ONE, period: int = 10 * MS, **options: Any) -> list[Packed]:
    return [state(ARM, row, stamp=START + number * period, **options) for number, row in enumerate(rows)]


def warnings(motion: Motion) -> list[str]:
    return [warning.replace("bag.mcap: ", "") for warning in motion.warnings]


@pytest.mark.parametrize("encoding", ["cdr", "ros1", "json"])
def test_joint_states_are_rows_at_their_stamps(encoding: str) -> None:
    motion = read(states(encoding=encoding, velocity=[1, 2], effort=[3, 4]))
    assert (motion.name, motion.joint_names) == ("bag", ARM)
    assert motion.positions.tolist() == ONE
    assert (motion.times.tolist(), motion.frame_rate, motion.is_uniform) == ([0, 0.01, 0.02], 100, True)
    assert motion.components["JointVelocity"].tolist() == [[1, 2]] * 3
    assert motion.components["JointEffort"].tolist() == [[3, 4]] * 3
    assert motion.metadata == {"format": "mcap", "topic": "/joint_states", "start_ns": START}
    assert motion.warnings == ()


def test_cdr_is_read_in_either_byte_order() -> None:
    """With names of every length, as alignment depends on them."""
    for length in range(1, 9):
        names = ("a" * length, "b")
        for big_endian in (False, True):
            message = state(names, [0.25, -1e-9], velocity=[1, 2], big_endian=big_endian)
            motion = read([message])
            assert (motion.joint_names, motion.positions.tolist()) == (names, [[0.25, -1e-9]])
            assert motion.components["JointVelocity"].tolist() == [[1, 2]]


@pytest.mark.parametrize("compression", CompressionType)
@pytest.mark.parametrize("is_chunked", [True, False])
def test_files_are_read_however_they_are_packed(compression: CompressionType, is_chunked: bool) -> None:  # noqa: FBT001
    data = recording(states(), compression, is_chunked=is_chunked, chunk_size=100)
    assert read(data).positions.tolist() == ONE


def test_foxglove_s_joint_states_are_read() -> None:
    message = {
        "timestamp": {"sec": 5, "nsec": 500_000_000},
        "joints": [{"name": "shoulder", "position": 0.5, "velocity": 1}, {"name": "elbow", "position": 1}],
    }
    packed = ("/joints", "foxglove.JointStates", "json", 0, orjson.dumps(message))
    motion = read([packed])
    assert (motion.joint_names, motion.positions.tolist()) == (ARM, [[0.5, 1]])
    assert motion.metadata["start_ns"] == 5_500_000_000


def test_messages_without_stamps_are_at_the_times_of_their_logging() -> None:
    motion = read([state(ARM, row, log_time=START + number * 20 * MS) for number, row in enumerate(ONE)])
    assert (motion.times.tolist(), motion.frame_rate) == ([0, 0.02, 0.04], 50)
    assert motion.metadata["start_ns"] == START


def test_simulated_time_may_begin_at_zero() -> None:
    motion = read([state(ARM, ONE[number], stamp=number * NS, log_time=START + number) for number in (0, 1)])
    assert motion.times.tolist() == [0, 1]


def test_jittering_stamps_are_kept_as_they_are() -> None:
    stamps = [0, 9_870_123, 20_456_789]
    motion = read([state(ARM, row, stamp=START + at) for row, at in zip(ONE, stamps, strict=True)])
    assert motion.times.tolist() == [0, 0.009870123, 0.020456789]
    assert not motion.is_uniform


def test_joints_of_different_messages_are_joined_on_the_stamps_of_the_most() -> None:
    arm = [state(ARM, [number, 10 * number], stamp=START + number * 10 * MS) for number in range(5)]
    gripper = [state(GRIPPER, [at], stamp=START + at * MS) for at in (5, 25, 45)]
    motion = read(sorted(arm + gripper, key=lambda packed: packed[3]))
    assert motion.joint_names == (*ARM, *GRIPPER)
    assert (motion.frame_rate, motion.is_uniform) == (100, True)
    assert motion.positions[:, 0].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(motion.positions[:, 2], [5, 10, 20, 30, 40])
    assert warnings(motion) == [
        (
            "joints are published in 2 kinds of messages; rows are at those of shoulder, elbow, and the "
            "others on lines between"
        ),
    ]


def test_joints_that_go_on_when_the_others_are_done_are_not_cut_off() -> None:
    arm = [state(ARM, [number, 0], stamp=START + (100 + number * 10) * MS) for number in range(5)]
    gripper = [state(GRIPPER, [at], stamp=START + at * MS) for at in (0, 150, 300)]
    motion = read(arm + gripper)
    assert motion.times.tolist() == [0, 0.1, 0.11, 0.12, 0.13, 0.14, 0.3]
    assert motion.joint_names == (*GRIPPER, *ARM)
    assert motion.positions[:, 1].tolist() == [0, 0, 1, 2, 3, 4, 4]
    np.testing.assert_allclose(motion.positions[:, 0], [0, 100, 110, 120, 130, 140, 300])


def test_joints_at_more_times_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MOST_VALUES", 99)
    scattered = [state([f"j{number}"], [0], stamp=START + number * MS) for number in range(10)]
    assert refusal(scattered) == (
        "holds 10 joints at 10 times; 99 positions are made; split it: `mcap filter`"
    )


def test_the_order_of_joints_may_differ_from_message_to_message() -> None:
    rows = [[1, 2], [3, 4], [0, 9], [5, 6]]
    order = [1, -1, 1, -1]
    messages = [
        state(ARM[::way], row[::way], stamp=START + number * 10 * MS, velocity=row[::way], effort=[7])
        for number, (way, row) in enumerate(zip(order, rows, strict=True))
    ]
    motion = read(messages)
    assert (motion.joint_names, motion.frame_rate) == (ARM, 100)
    assert motion.positions.tolist() == rows
    assert motion.components.keys() == {"JointVelocity"}
    assert motion.components["JointVelocity"].tolist() == rows
    assert warnings(motion) == []


def test_a_position_that_is_nan_is_on_the_line_between_its_neighbours() -> None:
    motion = read(states([[0.0, np.nan], [1.0, 5.0], [2.0, np.nan], [3.0, 7.0]]))
    assert motion.positions.tolist() == [[0, 5], [1, 5], [2, 6], [3, 7]]
    assert warnings(motion) == ["joint 'elbow' is NaN in 2 of 4 messages; it is on lines between the others"]


def test_a_joint_without_any_position_is_left_out() -> None:
    motion = read(states([[0.0, np.nan], [1.0, np.nan]]))
    assert (motion.joint_names, motion.positions.tolist()) == (("shoulder",), [[0], [1]])
    assert warnings(motion) == ["joint 'elbow' is left out; it is NaN in every message"]


def test_what_is_published_twice_is_one_row() -> None:
    motion = read([message for message in states() for _ in range(2)])
    assert motion.positions.tolist() == ONE


def test_velocities_that_some_messages_lack_are_skipped() -> None:
    motion = read([*states(ONE[:1], velocity=[1, 2]), state(ARM, [1, 2], stamp=START + NS)])
    assert motion.components == {}
    motion = read([*states(velocity=[1, 2]), state(GRIPPER, [0], stamp=START)])
    assert motion.components == {}
    assert warnings(motion)[1:] == ["`velocity` is skipped; not every message has it for every joint"]


def test_messages_without_positions_say_nothing() -> None:
    motion = read([*states(), state(("wheel",), [], velocity=[1.0], stamp=START)])
    assert motion.joint_names == ARM


@pytest.mark.parametrize("encoding", ["cdr", "ros1"])
@pytest.mark.parametrize("big_endian", [False, True])
def test_a_trajectory_is_a_motion_of_way_points(encoding: str, big_endian: bool) -> None:  # noqa: FBT001
    points = [(0.5, [0.0, 0.5]), (1.5, [0.1, 0.6]), (2.5, [0.2, 0.7])]
    motion = read([trajectory(ARM, points, encoding=encoding, big_endian=big_endian, velocities=[1.0, 2.0])])
    assert (motion.name, motion.joint_names) == ("bag", ARM)
    assert (motion.times.tolist(), motion.is_uniform) == ([0.5, 1.5, 2.5], False)
    assert motion.positions.tolist() == ONE
    assert motion.components["JointVelocity"].tolist() == [[1, 2]] * 3


def test_each_trajectory_is_a_motion_of_its_own() -> None:
    messages = [trajectory(ARM, [(at, [at, 0.0]), (9, [9, 9])], log_time=at * NS) for at in (2, 1)]
    empty = trajectory(ARM, [], log_time=3 * NS)
    motions = load(recording([*messages, empty]))
    assert [(motion.name, motion.positions.tolist()) for motion in motions] == [
        ("bag_1", [[1, 0], [9, 9]]),
        ("bag_2", [[2, 0], [9, 9]]),
    ]


@pytest.mark.parametrize("when", ["stamp", "log_time"])
def test_trajectories_of_one_point_each_are_the_rows_of_one_motion(when: str) -> None:
    """As a leader arm commands its follower, each with the time that the follower has for it."""
    at = [START, START + 20 * MS, START + 40 * MS]
    options: list[dict[str, Any]] = [{when: time} for time in at]
    messages = [trajectory(ARM, [(0.1, row)], **one) for row, one in zip(ONE, options, strict=True)]
    motion = read(messages)
    assert (motion.name, motion.positions.tolist()) == ("bag", ONE)
    assert (motion.times.tolist(), motion.frame_rate) == ([0, 0.02, 0.04], 50)
    assert motion.metadata["start_ns"] == START + 100 * MS


def test_a_trajectory_in_json_is_read() -> None:
    point = {"positions": [0.5], "time_from_start": {"sec": 1, "nanosec": 500_000_000}}
    message = orjson.dumps({"joint_names": ["elbow"], "points": [point]})
    motion = read([("/plan", TRAJECTORY, "json", 0, message)])
    assert (motion.joint_names, motion.times.tolist()) == (("elbow",), [1.5])


LEFT = [state(ARM, row, topic="/left", stamp=START + at) for at, row in enumerate(ONE)]
OTHER = ("/image", "sensor_msgs/msg/Image", "cdr", 0, b"\0\1\0\0")


def test_of_several_topics_one_is_chosen() -> None:
    both = [*states(), *LEFT[:2], OTHER]
    assert read(both, "/left").positions.tolist() == ONE[:2]
    shown = "/joint_states (3 messages), /left (2 messages)"
    choice = "`--topic /joint_states`, or `topic: /joint_states` in a motion map"
    assert refusal(both) == f"has 2 topics of joints; {shown}; choose one: {choice}"
    assert refusal(both, "/lift") == (
        f"has no joints in topic '/lift'; topics of joints are {shown}; did you mean '/left'?"
    )


def test_a_recording_without_joints_names_its_topics() -> None:
    hint = "record JointState or JointTrajectory: `ros2 bag record -s mcap /joint_states`"
    assert refusal([OTHER, ("/js", STATE, "protobuf", 0, b"")]) == (
        "has no messages of joints; its topics are /image (sensor_msgs/msg/Image, cdr), "
        f"/js (sensor_msgs/msg/JointState, protobuf); {hint}"
    )
    assert refusal([]) == f"has no messages of joints; it has no messages; {hint}"


MANY = [state(ARM, [number, 0], stamp=START + number * 10 * MS) for number in range(40)]


def test_a_file_that_was_cut_short_gives_what_is_whole() -> None:
    whole = recording(MANY, chunk_size=1000)
    motion = read(whole[: len(whole) // 2])
    rows = len(motion.positions)
    assert 5 < rows < 40
    assert motion.positions[:, 0].tolist() == [*range(rows)]
    seconds = f"{(rows - 1) / 100:.3f} s after the first message of joints"
    hint = "`mcap recover` makes a whole file of it"
    assert warnings(motion) == [f"was cut short; what is whole ends {seconds}; {hint}"]


@pytest.mark.parametrize("is_chunked", [True, False])
def test_wherever_a_file_is_cut_its_first_messages_are_read_or_it_is_refused(is_chunked: bool) -> None:  # noqa: FBT001
    whole = recording(MANY, chunk_size=700, is_chunked=is_chunked)
    for end in range(0, len(whole), 13):
        try:
            motion = read(whole[:end])
        except FormatError:
            continue
        assert motion.positions[:, 0].tolist() == [*range(len(motion.positions))]
        assert len(motion.warnings) == (end < len(whole) and "cut short" in str(motion.warnings))


BAD = {
    "time goes back": (
        [*states(), state(ARM, [0, 0], stamp=START, log_time=START + NS)],
        "message 3 is stamped 0.02 s before 2; time does not go back; cut the recording there: `mcap filter`",
    ),
    "two nodes": (
        [*states(ONE[:1]), state(ARM, [9, 9], stamp=START)],
        "messages 0 and 1 have one stamp; their positions differ; record what one node publishes",
    ),
    "too near for their times in seconds": (
        [state(ARM, [0, 0], stamp=START + after) for after in (0, NS * NS // 4, NS * NS // 4 + 1)],
        (
            "messages are 1 ns apart, 250000000 s after the first one; so late, times "
            "differ by more; cut the first ones out: `mcap filter`"
        ),
    ),
    "contradiction": (
        [*states(), state(("elbow", "wrist"), [9, 9], stamp=START)],
        (
            "joint 'elbow' has two positions at 0 s; messages contradict each other; "
            "record what one node publishes"
        ),
    ),
    "infinite": (
        states([[0.0, -np.inf]]),
        "message 0 has inf for joint 'elbow'; positions are finite; cut it out",
    ),
    "too few": (
        [state(ARM, [1.0], stamp=START)],
        "message 0 has 1 positions of 2 joints; each joint has one; record it again",
    ),
    "twice": (
        [state(("a", "a"), [1.0, 2.0], stamp=START)],
        "joint 'a' stands twice; joints 0 and 1 are called that; give each its own name",
    ),
    "no positions": (
        [state(ARM, [], velocity=[1, 2], stamp=START)],
        "has no positions of joints in this topic; its messages are empty; choose another",
    ),
    "all NaN": (
        states([[np.nan, np.nan]]),
        "has no positions of joints in this topic; all are NaN; choose another",
    ),
    "not CDR": (
        [("/js", STATE, "cdr", 0, b"\0\7\0\0")],
        "message 0 is not in CDR; it begins with 00 07 00 00; record it by rosbag2",
    ),
    "cut message": (
        [("/js", STATE, "cdr", 0, states()[0][4][:-20])],
        "message 0 ends early; it has fewer bytes than it states; copy the file again",
    ),
    "endless message": (
        [("/js", STATE, "cdr", 0, bytes([0, 1, 0, 0, *[0] * 12, *[255] * 8]))],
        "message 0 ends early; it has fewer bytes than it states; copy the file again",
    ),
    "no JSON": (
        [("/js", STATE, "json", 0, b"[1]")],
        "message 0 holds list where an object belongs; check what wrote it",
    ),
    "text in JSON": (
        [("/js", STATE, "json", 0, b'{"name": ["a"], "position": ["b"]}')],
        "message 0 holds str where a number belongs; check what wrote it",
    ),
    "points out of order": (
        [trajectory(ARM, [(1.0, [0.0, 0.0]), (1.0, [0.0, 0.0])])],
        "message 0 has point 1 out of order; it is at 1 s after 1 s; times increase from point to point",
    ),
    "incomplete point": (
        [trajectory(ARM, [(1.0, [0.0])])],
        "message 0 has a point 0 that is incomplete; it has 1 positions of 2 joints; each joint has one",
    ),
    "no point": (
        [trajectory(ARM, [])],
        "has no points in topic '/plan'; all its trajectories are empty; choose another",
    ),
    "two kinds": (
        [("/js", TRAJECTORY, *trajectory(ARM, [(1.0, [0.0, 0.0])])[2:]), ("/js", *states()[0][1:])],
        (
            "topic '/js' is ambiguous; its messages are sensor_msgs/JointState, "
            "trajectory_msgs/JointTrajectory; filter it: `mcap filter`"
        ),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_messages_that_make_no_motion_are_refused(name: str) -> None:
    messages, message = BAD[name]
    assert refusal(messages) == message


def record(opcode: int, content: bytes) -> bytes:
    return struct.pack("<BQ", opcode, len(content)) + content


def chunk(size: int, compression: bytes, data: bytes, checksum: int = 0) -> bytes:
    packed = struct.pack("<QQQI", 0, 0, size, checksum)
    return packed + struct.pack("<I", len(compression)) + compression + struct.pack("<Q", len(data)) + data


COPY = "copy the file again"
DAMAGED = {
    "empty": (b"", "is empty; it begins with the bytes 89 'MCAP0'; check what wrote it"),
    "other": (b"tea", "is no MCAP file; it begins with the bytes 89 'MCAP0'; check what wrote it"),
    "huge chunk": (
        mcap.MAGIC + record(6, chunk(1 << 60, b"zstd", b"")),
        (
            f"has a chunk of {1 << 60} bytes; one may have 256000000, and all of this file 32000000; "
            "compress it: `mcap compress`"
        ),
    ),
    "long chunk": (
        mcap.MAGIC + record(6, chunk(8, b"", b"")[:-8] + struct.pack("<Q", 1 << 60)),
        f"has a chunk that states more than it holds; it is damaged; {COPY}",
    ),
    "other packing": (
        mcap.MAGIC + record(6, chunk(8, b"brotli", b"")),
        "is packed by 'brotli'; chunks are packed by zstd, lz4 or not at all; compress it: `mcap compress`",
    ),
    "checksum": (
        mcap.MAGIC + record(6, chunk(1, b"", b"a", 1)),
        f"has a damaged chunk; its checksum or size is another; {COPY}",
    ),
    "cut in a chunk": (
        mcap.MAGIC + record(6, chunk(12, b"", record(1, b"abc")[:-1] + b"")),
        f"has a damaged chunk; its checksum or size is another; {COPY}",
    ),
    "record cut in a chunk": (
        mcap.MAGIC + record(6, chunk(11, b"", record(1, b"abc")[:-1])),
        f"has a chunk that ends within a record; it is damaged; {COPY}",
    ),
    "no channel": (
        mcap.MAGIC + record(5, struct.pack("<HIQQ", 3, 0, 0, 0)),
        f"has a message of channel 3; there is no such channel; {COPY}",
    ),
    "short record": (
        mcap.MAGIC + record(4, struct.pack("<HHI", 3, 0, 99)),
        f"is damaged; a record cannot be read (a text is longer than its record); {COPY}",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_before_memory_is_spent(name: str) -> None:
    data, message = DAMAGED[name]
    tracemalloc.start()
    try:
        assert refusal(data) == message
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_chunk_that_unpacks_to_more_than_it_states_is_refused() -> None:
    import lz4.frame  # noqa: PLC0415
    import zstandard  # noqa: PLC0415

    zeros = bytes(50_000_000)
    bombs = {b"zstd": zstandard.compress(zeros), b"lz4": lz4.frame.compress(zeros)}
    for name, packed in bombs.items():
        tracemalloc.start()
        try:
            assert "damaged chunk" in refusal(mcap.MAGIC + record(6, chunk(100, name, packed)))
            assert tracemalloc.get_traced_memory()[1] < 2_000_000
        finally:
            tracemalloc.stop()


def test_the_example_of_the_page_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[3] / "docs" / "formats" / "mcap.md"
    (example,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("bag.mcap").write_bytes(recording([*states(), *LEFT]))
    names: dict[str, Any] = {}
    exec(example, names)  # noqa: S102 - it is ours
    assert names["arm"].joint_names == ARM
    assert load_motion("copy.mcap").positions.tolist() == ONE
