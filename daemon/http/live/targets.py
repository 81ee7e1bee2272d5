"""The targets that one WebSocket client sends as binary frames: which are passed on, which are refused.

A frame is answered only if it is refused, and then not more often than somebody could read it. It carries
no lease: what counts is the one that the client has last sent in a request to that robot.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ...api import LONGEST_LEASE, Pace, RawRequest, RequestError, cost_of, refused
from .shared import TARGETS_HZ
from .target_frames import read_head

if TYPE_CHECKING:
    from .shared import Shared

SHARE_HZ, SHARE_BURST = 100.0, 100
ANSWERED_HZ, ANSWERED_BURST = 10.0, 20


class Targets:
    """Takes the frames of one client.

    Attributes
    ----------
    refused : int
        Frames that were refused since it connected.
    """

    def __init__(self, shared: Shared, caller: str) -> None:
        self._leases: dict[str, str] = {}
        self.refused = 0
        self._shared = shared
        self._caller = caller
        now = asyncio.get_running_loop().time
        self._share = Pace(SHARE_HZ, SHARE_BURST, now)
        self._answered = Pace(ANSWERED_HZ, ANSWERED_BURST, now)

    def note_lease(self, robot: str, lease: object) -> None:
        """Note by what the client has shown last that it is in control of a robot."""
        known = robot in self._shared.dispatcher.commands.robots
        if known and isinstance(lease, str) and len(lease) <= LONGEST_LEASE:
            self._leases[robot] = lease

    def take(self, frame: bytes) -> tuple[bytes, float]:
        """Pass a frame on, if it may be; what comes too fast is not even looked at.

        Returns the answer, b"" where none is due, and how long to wait, in s, before the next message of
        this client is read.
        """
        cost = cost_of(len(frame))
        if not (self._share.allows(cost) or self._shared.target_pace.allows(cost)):
            together = f"all clients together have {TARGETS_HZ:g} a second beyond {SHARE_HZ:g} of each"
            error = RequestError("BUSY", "frame", "too many targets", together, "send fewer")
            return self._answer(error), self._shared.read_pace.take(cost)
        try:
            self._pass_on(frame)
        except RequestError as error:
            return self._answer(error), 0.0
        return b"", 0.0

    def _pass_on(self, frame: bytes) -> None:
        head = read_head(frame)
        dispatcher = self._shared.dispatcher
        follower = dispatcher.commands.follower(head.goal_id)
        try:
            body = head.body(follower.joints)
        except RequestError:
            follower.count_refused()
            raise
        if lease := self._leases.get(follower.robot):
            body["lease"] = lease
        raw = RawRequest(follower.robot, head.verb, b"", self._caller)
        if error := dispatcher.take(raw, body):
            raise error

    def _answer(self, error: RequestError) -> bytes:
        self.refused += 1
        if not self._answered.allows():
            return b""
        error.data["refused"] = self.refused
        return refused(error)
