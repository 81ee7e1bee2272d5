"""Motions in shared memory: copied there when they are first played, the latest kept for the next play."""

from __future__ import annotations

import os
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ...api import RequestError
from ...trajectory import share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ...planning import Plan
    from ...trajectory import Track

MOST = 16  # each holds a descriptor and the rows of its motion


class SharedTracks:
    """The tracks of one robot's motions; owns their descriptors.

    What there is no memory or no descriptor for is a refusal (RequestError): goals that begin by themselves
    then end with it.

    - `robot`: the robot's name, for messages
    """

    def __init__(self, robot: str) -> None:
        self._robot = robot
        self._shared: OrderedDict[str, tuple[Plan, int]] = OrderedDict()

    def fd(self, plan: Plan) -> int:
        """Return the descriptor of a plan's track, which this object owns; it is good until the next call."""
        known, fd = self._shared.get(plan.motion, (None, -1))
        if known is not plan:
            self._drop(plan.motion)
            fd = self._share(plan.motion, plan.track)
            self._shared[plan.motion] = plan, fd
        self._shared.move_to_end(plan.motion)
        while len(self._shared) > MOST:
            self._drop(next(iter(self._shared)))
        return fd

    @contextmanager
    def lent(self, motion: str, *tracks: Track) -> Iterator[list[int]]:
        """Copy tracks into shared memory, yield their descriptors, and close them in the end."""
        fds: list[int] = []
        try:
            for track in tracks:
                fds.append(self._share(motion, track))  # noqa: PERF401 - those before one that fails are closed
            yield fds
        finally:
            for fd in fds:
                os.close(fd)

    def _share(self, motion: str, track: Track) -> int:
        try:
            return share(track)
        except OSError as error:
            problem, reason = f"there is no shared memory for {motion}", os.strerror(error.errno or 0)
            hint = "check how many descriptors and how much memory the daemon may have"
            raise RequestError("BUSY", self._robot, problem, reason, hint) from error

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
