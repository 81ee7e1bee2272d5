"""The topics of recordings, and the definitions of messages as `ros2 bag record` writes them (`ros2msg`)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

SCHEMA_ENCODING = "ros2msg"
CHANNEL_METADATA = {"offered_qos_profiles": ""}
"""The profile `ros2` demands this of each channel (https://mcap.dev/spec/registry); no publisher is known."""
_RULE = "=" * 80


class Topic(StrEnum):
    """The topics of recordings; those of motiond itself hold JSON in Strings (docs/recording.md)."""

    FEEDBACK = "/joint_states"
    REFERENCE = "/reference"
    TRANSFORMS = "/tf"
    DESCRIPTION = "/robot_description"
    PHASE = "/motiond/phase"
    GAP = "/motiond/gap"
    TIMING = "/motiond/timing"
    CONTACTS = "/motiond/contacts"
    RESULT = "/motiond/result"


class Schema(NamedTuple):
    """A message's name and its definition."""

    name: str
    text: str


def _schema(name: str, text: str, *held: tuple[str, str]) -> Schema:
    return Schema(name, text + "".join(f"{_RULE}\nMSG: {other}\n{fields}" for other, fields in held))


_TIME = ("builtin_interfaces/Time", "int32 sec\nuint32 nanosec\n")
_HEADER = ("std_msgs/Header", "builtin_interfaces/Time stamp\nstring frame_id\n")
_VECTOR = ("geometry_msgs/Vector3", "float64 x\nfloat64 y\nfloat64 z\n")
_QUATERNION = ("geometry_msgs/Quaternion", "float64 x\nfloat64 y\nfloat64 z\nfloat64 w\n")
_TRANSFORM = (
    "geometry_msgs/Transform",
    "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n",
)
_STAMPED = (
    "geometry_msgs/TransformStamped",
    "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n",
)

JOINT_STATE = _schema(
    "sensor_msgs/msg/JointState",
    "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n",
    _HEADER,
    _TIME,
)
TF_MESSAGE = _schema(
    "tf2_msgs/msg/TFMessage",
    "geometry_msgs/TransformStamped[] transforms\n",
    _STAMPED,
    _HEADER,
    _TIME,
    _TRANSFORM,
    _VECTOR,
    _QUATERNION,
)
STRING = _schema("std_msgs/msg/String", "string data\n")
