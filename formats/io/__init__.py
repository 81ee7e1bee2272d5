"""What readers and writers share.

- `regular_file`: what may be no file at all is not opened, and not replaced
- `source`: where a file's bytes come from, and how files that it refers to are found
- `resources`: where models and meshes are that a URI names
- `resource_folders`: where the environment has them
- `mesh_file`: files of meshes, which nobody reads before they are to be seen
- `mesh_corners`: the corners in them
- `beginning`: the beginning of a file, whichever UTF it is in, and what it shows
- `foreign`: files of other formats, known by how they begin
- `xml`: XML, read safely and with the line of everything
- `text`: UTF-8
- `yaml`: YAML, read with the line of everything, and what libyaml's errors mean to who wrote the file
- `ros2`: messages of ROS 2, packed for recordings
- `writers`: what writers share: digits, refusals of what a format cannot hold, files replaced as a whole
"""

from .foreign import HEBI_CONFIG, Foreign, foreign_format
from .mesh_corners import is_text_stl, mesh_points
from .mesh_file import find_mesh, open_mesh, refuse_damaged
from .regular_file import open_regular
from .ros2 import (
    CHANNEL_METADATA,
    JOINT_STATE,
    SCHEMA_ENCODING,
    STRING,
    TF_MESSAGE,
    JointStates,
    Schema,
    Topic,
    Transforms,
    packed_string,
)
from .source import ReadOptions, SizeBound, Source
from .writers.losses import Loss, NothingToDropError
from .writers.output import refuse_no_file, remove, replacing
from .xml.poses import pose_of_angles
from .yaml.errors import explained, nests_too_deeply, unreadable

__all__ = [
    "CHANNEL_METADATA",
    "HEBI_CONFIG",
    "JOINT_STATE",
    "SCHEMA_ENCODING",
    "STRING",
    "TF_MESSAGE",
    "Foreign",
    "JointStates",
    "Loss",
    "NothingToDropError",
    "ReadOptions",
    "Schema",
    "SizeBound",
    "Source",
    "Topic",
    "Transforms",
    "explained",
    "find_mesh",
    "foreign_format",
    "is_text_stl",
    "mesh_points",
    "nests_too_deeply",
    "open_mesh",
    "open_regular",
    "packed_string",
    "pose_of_angles",
    "refuse_damaged",
    "refuse_no_file",
    "remove",
    "replacing",
    "unreadable",
]
