"""Ask and watch motiond daemons, with asyncio; `motiond.client.sync` does the same without.

    async with motiond.client.connect("mqtt://robots.local") as daemon:
        arm = daemon.robot("arm")
        result = await arm.play("wave", speed=0.5)
        async for sample in arm.telemetry(): ...

- `connecting`: chooses how a daemon is reached; `target`: brokers
- `daemon`: the client with its requests and streams, a robot, a group, a motion that plays, targets
- `reports`: reports, results, and the queue in which they wait; `errors`: what is raised
- `transport`: what all connections have in common; `mqtt`: the one to a broker; `messages`: those to a
  daemon's own socket and page; `several`: more than one of them
- `sync`: the same without asyncio
"""

from . import sync
from .connecting import connect
from .daemon import Daemon, Follow, Goal, Group, Robot
from .errors import ClientError, ConnectionLost, NoAnswer, Refused
from .reports import Report, Result, Stream
from .target import Broker

__all__ = [
    "Broker",
    "ClientError",
    "ConnectionLost",
    "Daemon",
    "Follow",
    "Goal",
    "Group",
    "NoAnswer",
    "Refused",
    "Report",
    "Result",
    "Robot",
    "Stream",
    "connect",
    "sync",
]
