"""The vendor's imitation of a group of modules, with a record of what was sent to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers.hebi.lookup import import_hebi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from motiond.drivers.base import Floats


@dataclass(frozen=True, slots=True)
class Sent:
    """One command as the group got it."""

    position: Floats
    velocity: Floats
    effort: Floats
    lifetime_ms: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A module that the lookup has found."""

    family: str
    name: str
    is_stale: bool = False


class Bench:
    """The vendor's imitation group, but its modules stay where they are when a command is empty.

    It is its own lookup, which finds any module that is asked for.
    """

    def __init__(self, names: Sequence[str], family: str = "Arm", *, silent: bool = False) -> None:
        self._hebi = import_hebi()
        self._group = self._hebi.util.create_imitation_group(len(names))
        self.entrylist = [Entry(family, name) for name in names]
        self.silent = silent
        self.sent: list[Sent] = []

    def get_group_from_names(
        self, families: list[str], names: list[str], timeout_ms: float | None = None
    ) -> Bench:
        del families, timeout_ms
        return self if len(names) == len(self.entrylist) else Bench(names, silent=self.silent)

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

    def send_command_with_acknowledgement(self, group_command: Any, timeout_ms: int | None = None) -> bool:
        return bool(self._group.send_command_with_acknowledgement(group_command, timeout_ms))

    def get_next_feedback(self, timeout_ms: float | None = None, reuse_fbk: Any = None) -> Any:
        return None if self.silent else self._group.get_next_feedback(timeout_ms, reuse_fbk)

    def send_feedback_request(self) -> bool:
        return not self.silent

    def request_info(self, timeout_ms: float | None = None) -> Any:
        return self._group.request_info(timeout_ms)

    def push(self, position: Floats) -> None:
        command = self._hebi.GroupCommand(len(position))
        command.position = position
        self._group.send_command(command)
