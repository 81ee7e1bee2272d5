"""Small recordings, packed by libraries of others: rosbags and mcap."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
from rosbags.typesys import Stores, get_typestore

if TYPE_CHECKING:
    from collections.abc import Iterable

ROS1, ROS2 = get_typestore(Stores.ROS1_NOETIC), get_typestore(Stores.ROS2_HUMBLE)
STATE, TRAJECTORY = "sensor_msgs/msg/JointState", "trajectory_msgs/msg/JointTrajectory"
NS = 1_000_000_000
Packed = tuple[str, str, str, int, bytes]


def _header(stamp: int, store: Any) -> Any:
    time = store.types["builtin_interfaces/msg/Time"](*divmod(stamp, NS))
    header = store.types["std_msgs/msg/Header"]
    return header(7, time, "base") if store is ROS1 else header(time, "base")


def state(
    names: Iterable[str],
    position: Iterable[float],
    *,
    stamp: int = 0,
    log_time: int | None = None,
    topic: str = "/joint_states",
    encoding: str = "cdr",
    velocity: Iterable[float] = (),
    effort: Iterable[float] = (),
    big_endian: bool = False,
) -> Packed:
    """Return a JointState: its topic, schema, encoding, log time and bytes."""
    logged = stamp if log_time is None else log_time
    arrays = [np.array([*values], np.float64) for values in (position, velocity, effort)]
    if encoding == "json":
        sec, nanosec = divmod(stamp, NS)
        message = {
            "header": {"stamp": {"sec": sec, "nanosec": nanosec}, "frame_id": ""},
            "name": [*names],
            "position": arrays[0].tolist(),
            "velocity": arrays[1].tolist(),
            "effort": arrays[2].tolist(),
        }
        return topic, STATE, encoding, logged, orjson.dumps(message)
    store = ROS1 if encoding == "ros1" else ROS2
    built = store.types[STATE](_header(stamp, store), [*names], *arrays)
    return topic, STATE, encoding, logged, _packed(built, STATE, store, big_endian=big_endian)


def trajectory(
    names: Iterable[str],
    points: Iterable[tuple[float, list[float]]],
    *,
    stamp: int = 0,
    log_time: int = 0,
    encoding: str = "cdr",
    velocities: Iterable[float] = (),
    big_endian: bool = False,
) -> Packed:
    """Return a JointTrajectory, as `state` does."""
    store = ROS1 if encoding == "ros1" else ROS2
    empty = np.empty(0)
    built_points = [
        store.types["trajectory_msgs/msg/JointTrajectoryPoint"](
            np.array(positions, np.float64),
            np.array([*velocities], np.float64),
            empty,
            empty,
            store.types["builtin_interfaces/msg/Duration"](*divmod(round(seconds * NS), NS)),
        )
        for seconds, positions in points
    ]
    built = store.types[TRAJECTORY](_header(stamp, store), [*names], built_points)
    return "/plan", TRAJECTORY, encoding, log_time, _packed(built, TRAJECTORY, store, big_endian=big_endian)


def _packed(message: Any, kind: str, store: Any, *, big_endian: bool) -> bytes:
    if store is ROS1:
        return bytes(store.serialize_ros1(message, kind))
    return bytes(store.serialize_cdr(message, kind, little_endian=not big_endian))


def recording(
    messages: Iterable[Packed],
    compression: CompressionType = CompressionType.ZSTD,
    *,
    chunk_size: int = 1 << 20,
    is_chunked: bool = True,
) -> bytes:
    """Return a file with these messages."""
    stream = io.BytesIO()
    writer: Any = Writer(stream, chunk_size, compression, use_chunking=is_chunked)
    writer.start(profile="ros2", library="tests")
    channels: dict[tuple[str, str, str], int] = {}
    for topic, schema, encoding, log_time, data in messages:
        key = (topic, schema, encoding)
        if key not in channels:
            number = writer.register_schema(schema, "ros2msg", b"")
            channels[key] = writer.register_channel(topic, encoding, number)
        writer.add_message(channels[key], log_time, data, log_time)
    writer.finish()
    return stream.getvalue()


def without(data: bytes, topic: str) -> bytes:
    """Return a file without the messages of a topic."""
    stream = io.BytesIO()
    reader: Any = make_reader(io.BytesIO(data))
    writer: Any = Writer(stream)
    writer.start(profile="ros2", library="tests")
    numbers: dict[int, int] = {}
    for schema, channel, message in reader.iter_messages():
        if channel.topic == topic or schema is None:
            continue
        if channel.id not in numbers:
            number = writer.register_schema(schema.name, schema.encoding, schema.data)
            numbers[channel.id] = writer.register_channel(channel.topic, channel.message_encoding, number)
        stamp = message.log_time
        writer.add_message(numbers[channel.id], stamp, message.data, message.publish_time, message.sequence)
    for record in reader.iter_metadata():
        writer.add_metadata(record.name, record.metadata)
    writer.finish()
    return stream.getvalue()
