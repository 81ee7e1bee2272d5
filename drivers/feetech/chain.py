"""Feetech servos of one series on one bus, whose goals go out in a frame that is made once.

Where one frame does not take all goals, they go out in several, which are made anew.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from ..serial_bus.chain import Chain
from .protocol import BEFORE_INSTRUCTION, HEADER, checksum, encode_sync_write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..serial_bus.bus import Bus
    from ..serial_bus.chain import Block, Servo

GOALS_FROM = 7


class FeetechChain(Chain):
    """Feetech servos of one series on one bus; their goals are never negative, as their limits are not."""

    def __init__(self, bus: Bus, servos: Sequence[Servo], short: Block, full: Block) -> None:
        super().__init__(bus, servos, short, full)
        item = self.table["goal_position"]
        goals = dict.fromkeys(self.ids, bytes(item.size))
        self._frame = bytearray(encode_sync_write(item.address, goals))
        self._put = Struct("<H" if item.byte_order == "little" else ">H").pack_into
        self._goal_places = [
            (servo.index, GOALS_FROM + place * (1 + item.size) + 1) for place, servo in enumerate(self.servos)
        ]
        self._fits = len(self._frame) == BEFORE_INSTRUCTION + self._frame[BEFORE_INSTRUCTION - 1]
        self._summed = memoryview(self._frame)[len(HEADER) : -1]

    def send_goals(self, goals: Sequence[int]) -> None:
        """Send goal positions. `goals`: in ticks, of all actuators."""
        if not self._fits:
            super().send_goals(goals)
            return
        frame, put = self._frame, self._put
        for index, place in self._goal_places:
            put(frame, place, goals[index])
        frame[-1] = checksum(self._summed)
        self.bus.send(frame)
