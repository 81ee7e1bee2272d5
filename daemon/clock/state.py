"""The state of a machine's clock, as published in diagnostics, refusals and to coordinators."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class ClockState:
    """How well the clock of one machine is synchronised."""

    synchronised: bool  # whether something keeps it to the time of others
    estimated_error_s: float | None  # how far it probably is off; None where nobody estimates that
    max_error_s: float | None  # how far it is off at most, if its source is right; None where nobody knows
    source: str | None  # `chrony: 10.0.0.1`, or `kernel` where only that says that it is synchronised
    machine: str | None  # the same for all whose clock this is; None where the kernel has none

    def payload(self) -> dict[str, Any]:
        """Return it as published, JSON-ready."""
        return asdict(self)


@cache
def machine_id(boot_id: Path = BOOT_ID) -> str | None:
    """Return an id of this machine since its boot, or None where the kernel has none.

    It is a hash, as the kernel's own id is not to leave the machine.
    """
    try:
        return hashlib.sha256(boot_id.read_bytes().strip()).hexdigest()[:16]
    except OSError:
        return None
