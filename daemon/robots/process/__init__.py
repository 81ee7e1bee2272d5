"""The life of one robot's stream process.

- `stream_supervisor`: keeps the process alive
- `stream_process`: one run of it
- `target_way`: the way of targets to it
"""

from .stream_process import StreamProcess
from .stream_supervisor import Listener, StreamSupervisor
from .target_way import TargetWay

__all__ = ["Listener", "StreamProcess", "StreamSupervisor", "TargetWay"]
