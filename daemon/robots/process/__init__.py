"""The life of one robot's stream process.

- `stream_supervisor`: keeps the process alive
- `stream_process`: one run of it
"""

from .stream_process import StreamProcess
from .stream_supervisor import Listener, StreamSupervisor

__all__ = ["Listener", "StreamProcess", "StreamSupervisor"]
