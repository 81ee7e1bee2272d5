"""Messages of ROS 2 as they stand in recordings: their definitions, and batches of them packed in CDR.

- `schemas`: the definitions of JointState, TFMessage and String, with what they hold (`ros2msg`)
- `cdr`: where what stands in a message, so that thousands are packed at once
- `messages`: the three messages
"""

from .messages import JointStates, Transforms, packed_string
from .schemas import JOINT_STATE, SCHEMA_ENCODING, STRING, TF_MESSAGE, Schema

__all__ = [
    "JOINT_STATE",
    "SCHEMA_ENCODING",
    "STRING",
    "TF_MESSAGE",
    "JointStates",
    "Schema",
    "Transforms",
    "packed_string",
]
