"""Motions in shared memory: copied there when they are first played, the latest kept for the next play."""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import TYPE_CHECKING

from ..trajectory.track import share

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..planning.planner import Plan

MOST = 16  # each holds a descriptor and the rows of its motion


class SharedTracks:
    """The tracks of one robot's motions; owns their descriptors."""

    def __init__(self) -> None:
        self._shared: OrderedDict[str, tuple[Plan, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._shared)

    def fd(self, plan: Plan) -> int:
        """Return the descriptor of a plan's track, which this object owns; it is good until the next call."""
        known, fd = self._shared.get(plan.motion, (None, -1))
        if known is not plan:
            self._drop(plan.motion)
            fd = share(plan.track)
            self._shared[plan.motion] = plan, fd
        self._shared.move_to_end(plan.motion)
        while len(self._shared) > MOST:
            self._drop(next(iter(self._shared)))
        return fd

    def keep_only(self, is_current: Callable[[Plan], bool]) -> None:
        """Free the tracks of plans that cannot be played any more."""
        for motion in [motion for motion, (plan, _) in self._shared.items() if not is_current(plan)]:
            self._drop(motion)

    def close(self) -> None:
        """Free all shared memory."""
        for motion in list(self._shared):
            self._drop(motion)

    def _drop(self, motion: str) -> None:
        _plan, fd = self._shared.pop(motion, (None, -1))
        if fd >= 0:
            os.close(fd)
