"""The way of targets to a stream process: at once where it keeps up; else the newest waits, and no other."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ...ipc.messages import Chunk, Target

if TYPE_CHECKING:
    from collections.abc import Callable

    AnyTarget: TypeAlias = Target | Chunk

SHORTEST_S = 0.001
"""Between two targets: no client may cost the stream process the time of its ticks."""


class TargetWay:
    """Passes targets on.

    - `send`: sends one without waiting; False where the process has not read enough of what was sent before
    """

    def __init__(self, send: Callable[[AnyTarget], bool]) -> None:
        self._send = send
        self._free_s = 0.0
        self._waiting: AnyTarget | None = None
        self._timer: asyncio.TimerHandle | None = None

    def put(self, target: AnyTarget) -> bool:
        """Send a target now, or as soon as that is possible; return whether another gave way to it."""
        gave_way = self._waiting is not None
        self._waiting = joined(self._waiting, target)
        if self._timer is None:
            self._flush()
        return gave_way

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer, now_s = None, loop.time()
        if self._waiting is None:
            return
        if now_s >= self._free_s and self._send(self._waiting):
            self._waiting, self._free_s = None, now_s + SHORTEST_S
            return
        self._timer = loop.call_at(max(self._free_s, now_s + SHORTEST_S), self._flush)


def joined(before: AnyTarget | None, target: AnyTarget) -> AnyTarget:
    """Return what stands for two targets: the later sent, with what it leaves as it is."""
    if before is None or before.goal_id != target.goal_id:
        return target
    if (target.sent_at or math.inf) < (before.sent_at or 0.0):
        return before
    if not (isinstance(before, Target) and isinstance(target, Target)):
        return target
    return replace(
        target,
        positions=_filled(target.positions, before.positions),
        velocities=_filled(target.velocities, before.velocities),
    )


def _filled(
    values: list[float | None] | None, before: list[float | None] | None
) -> list[float | None] | None:
    if values is None or before is None:
        return values
    return [last if value is None else value for value, last in zip(values, before, strict=True)]
