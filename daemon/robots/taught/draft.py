"""What was moved by hand and which poses were kept, until the robot is taught again; and the report of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from ...clock import utc
from ...ipc.ring import COLUMN, in_states, slices
from ...ipc.states import State
from ...teaching import LONGEST_S, Trail

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from motiond.formats.arrays import Floats

    from ...api import DraftReport, KeptPose, TeachingReport, TeachMode
    from ...ipc import messages

REPORT_S = 1.0
READ = [COLUMN[name] for name in ("deadline_s", "lateness_s", "write_s")]
"""Of a tick, whose sum is when its positions were read. A hand does not wait for a tick that is late."""


class Draft:
    """What one robot was taught last.

    Each tick in which it is taught is kept. The first one of them begins a new draft, so that the old one
    stays where a request is refused.

    - `report`: publishes a report; `renews` one that only goes on
    - `on_full`: called with the reason once no more fits in; it is to end the teaching

    - `longest_s`: so much of a movement fits in
    - `trail`: None before the first time
    - `poses`: by name, in their order, each of shape (joints,), in rad or m
    - `lost`: ticks of which nothing is known
    - `mode`: how it is taught now
    - `message`, `holds`: why it is not taught any more, and whether it held then; None before
    """

    def __init__(
        self, joints: Sequence[str], report: Callable[..., None], on_full: Callable[[str], object]
    ) -> None:
        self.joints, self.longest_s = joints, LONGEST_S
        self.trail: Trail | None = None
        self.poses: dict[str, Floats] = {}
        self.lost = 0
        self.mode: TeachMode | None = None
        self.message = ""
        self.holds: bool | None = None
        self._position = slices(len(joints))["position"]
        self._report, self._on_full = report, on_full
        self._is_open = self._was_full = False
        self._since_utc: str | None = None
        self._reported_s = 0.0

    # -- what is taught -------------------------------------------------------------------------------------

    def expect(self, mode: TeachMode) -> None:
        """Let the next tick in which the robot is taught begin a new draft."""
        self.mode = mode

    def take(self, records: Floats, lost: int) -> None:
        """Keep the ticks in which the robot is taught."""
        taught = records[in_states(records, [State.TEACHING])]
        if not len(taught):
            return
        if not self._is_open:
            self._begin()
            lost = 0
        self.lost += lost
        if (trail := self.trail) is not None and not self._was_full:
            trail.add(taught[:, READ].sum(axis=1), taught[:, self._position])
            if trail.full:
                self._was_full = True
                self._on_full(trail.full)
        if time.monotonic() - self._reported_s >= REPORT_S:
            self.report(renews=True)

    def _begin(self) -> None:
        self.trail, self.poses, self.lost = Trail(len(self.joints), self.longest_s), {}, 0
        self._is_open, self._was_full, self.message, self.holds = True, False, "", None
        self._since_utc = utc(time.time())
        self.report()

    def end(self, ended: messages.TeachingEnded) -> None:
        """Take why the robot is not taught any more, if it was; what was kept stays."""
        was_open, self.mode, self._is_open = self._is_open, None, False
        if was_open:
            self.message, self.holds = ended.message, ended.holds
            self.report()

    @property
    def position(self) -> Floats:
        """Where the joints are by the newest tick, shape (joints,); NaN where that is not known."""
        trail = self.trail
        return np.full(len(self.joints), np.nan) if trail is None else trail.newest

    def keep(self, name: str, position: Floats) -> None:
        """Keep a pose."""
        self.poses[name] = position
        self.report()

    def free_name(self) -> str:
        """Return a name that no pose has."""
        number = len(self.poses) + 1
        while f"pose_{number}" in self.poses:
            number += 1
        return f"pose_{number}"

    # -- report ---------------------------------------------------------------------------------------------

    def report(self, *, renews: bool = False) -> None:
        """Publish what is being taught, and what was."""
        self._reported_s = time.monotonic()
        is_on = self.mode is not None and self._is_open
        poses: list[KeptPose] = [
            {"name": name, "joints": dict(zip(self.joints, pose.tolist(), strict=True))}
            for name, pose in self.poses.items()
        ]
        data: TeachingReport = {
            "mode": self.mode if is_on else None,
            "since_utc": self._since_utc if is_on else None,
            "duration_s": self.trail.duration_s if self.trail and is_on else 0.0,
            "poses": poses,
            "draft": None if is_on else self._finished(),
            "message": self.message,
            "holds": self.holds,
        }
        self._report(data, renews=renews)

    def _finished(self) -> DraftReport | None:
        if self.trail is None:
            return None
        return {"duration_s": self.trail.duration_s, "rows": len(self.trail), "poses": len(self.poses)}
