"""Messages of ROS 2 as they stand in recordings: their definitions, and batches of them in CDR.

- `schemas`: the topics, and the definitions of JointState, TFMessage and String (`ros2msg`)
- `cdr`: where what stands in a message, so that thousands are packed at once
- `messages`: the three messages
"""

from .messages import JointStates, Transforms, packed_string
from .schemas import CHANNEL_METADATA, JOINT_STATE, SCHEMA_ENCODING, STRING, TF_MESSAGE, Schema, Topic

__all__ = [
    "CHANNEL_METADATA",
    "JOINT_STATE",
    "SCHEMA_ENCODING",
    "STRING",
    "TF_MESSAGE",
    "JointStates",
    "Schema",
    "Topic",
    "Transforms",
    "packed_string",
]
