"""The topics of a recording: how their messages are encoded, and what stands in them.

All are messages of ROS 2, as the profile `ros2` demands: what is no message of ROS by itself is JSON in a
`std_msgs/msg/String`. Channels in the encoding `json` would keep `ros2 bag` from playing the file
(ros2/rosbag2#1245), and rosbags from opening it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import orjson

from motiond.formats.io import (
    CHANNEL_METADATA,
    JOINT_STATE,
    SCHEMA_ENCODING,
    STRING,
    TF_MESSAGE,
    Schema,
    Topic,
    packed_string,
)

if TYPE_CHECKING:
    from .mcap_file import ChunkedFile

ReportSubject = Literal["state", "event", "result"]
_SCHEMAS: dict[str, Schema] = {
    Topic.FEEDBACK: JOINT_STATE,
    Topic.REFERENCE: JOINT_STATE,
    Topic.TRANSFORMS: TF_MESSAGE,
}
"""Of topics that have no Strings."""


class Channels:
    """The channels of one file, each registered with its first message.

    `writer`: of the file.
    """

    def __init__(self, writer: ChunkedFile) -> None:
        self._writer = writer
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}

    def number(self, topic: str) -> int:
        """Return the number of a topic's channel."""
        if topic not in self._channels:
            name, text = _SCHEMAS.get(topic, STRING)
            if name not in self._schemas:
                self._schemas[name] = self._writer.register_schema(name, SCHEMA_ENCODING, text.encode())
            schema = self._schemas[name]
            self._channels[topic] = self._writer.register_channel(topic, "cdr", schema, CHANNEL_METADATA)
        return self._channels[topic]


class Message(NamedTuple):
    """A message of JSON: its topic, when, and what stands in it."""

    topic: str
    stamp_ns: int
    data: Any

    def packed(self) -> bytes:
        """Return it as a String."""
        return packed_string(orjson.dumps(self.data, option=orjson.OPT_SERIALIZE_NUMPY).decode())
