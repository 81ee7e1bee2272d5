"""The vendor's imitation of a group of modules, with a record of what was sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from drivers.hebi import import_hebi

if TYPE_CHECKING:
    from drivers.base import Floats


@dataclass(frozen=True, slots=True)
class Sent:
    """One command as a module group got it."""

    position: Floats
    velocity: Floats
    effort: Floats
    lifetime_ms: int


class Bench:
    """The vendor's imitation group, but its modules stay where they are when a command is empty."""

    def __init__(self, count: int, *, silent: bool = False) -> None:
        self._hebi = import_hebi()
        self._group = self._hebi.util.create_imitation_group(count)
        self.silent = silent
        self.sent: list[Sent] = []

    @property
    def feedback_frequency(self) -> float:
        return float(self._group.feedback_frequency)

    @feedback_frequency.setter
    def feedback_frequency(self, value: float) -> None:
        self._group.feedback_frequency = value

    @property
    def command_lifetime(self) -> int:
        return int(self._group.command_lifetime)

    @command_lifetime.setter
    def command_lifetime(self, value: int) -> None:
        self._group.command_lifetime = value

    def send_command(self, group_command: Any) -> bool:
        self.sent.append(
            Sent(
                group_command.position.copy(),
                group_command.velocity.copy(),
                group_command.effort.copy(),
                self.command_lifetime,
            )
        )
        if np.isnan(group_command.position).all():
            return True
        return bool(self._group.send_command(group_command))

    def get_next_feedback(self, timeout_ms: float, reuse_fbk: Any) -> Any:
        return None if self.silent else self._group.get_next_feedback(timeout_ms, reuse_fbk)

    def push(self, position: Floats) -> None:
        command = self._hebi.GroupCommand(len(position))
        command.position = position
        self._group.send_command(command)
