"""The state of a machine's clock, as published in diagnostics, refusals and to coordinators."""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@cache
def machine_id(boot_id: Path = BOOT_ID) -> str | None:
    """Return an id of this machine since its boot, or None where the kernel has none.

    It is a hash, as the kernel's own id is not to leave the machine.
    """
    try:
        return hashlib.sha256(boot_id.read_bytes().strip()).hexdigest()[:16]
    except OSError:
        return None


@dataclass(frozen=True, slots=True)
class ClockState:
    """How well the clock of one machine is synchronised."""

    synchronised: bool  # whether something keeps it to the time of others
    estimated_error_s: float | None = None  # how far it probably is off; None where nobody estimates that
    # how far it is off at most, if its source is right; None where nobody knows
    max_error_s: float | None = None
    source: str | None = None  # `chrony: 10.0.0.1`, or `kernel` where only that says that it is synchronised
    # the same for all whose clock this is; None where the kernel has none
    machine: str | None = field(default_factory=machine_id)

    def payload(self) -> dict[str, Any]:
        """Return it as published, JSON-ready."""
        return asdict(self)


def utc(unix_s: float) -> str:
    """Return a Unix time as it is published: ISO 8601, in UTC, to the millisecond."""
    return datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unix_less_monotonic() -> float:
    """Return Unix time less CLOCK_MONOTONIC, which setpoints keep to, in s: the closest of a few readings.

    Whatever disciplines the clock slews both, so the difference stays; a step sets Unix time alone. So it is
    read where a Unix time becomes a deadline, and again and again while a motion plays to it.
    """
    readings = [(time.monotonic(), time.time(), time.monotonic()) for _ in range(5)]
    before_s, unix_s, after_s = min(readings, key=lambda reading: reading[2] - reading[0])
    return unix_s - (before_s + after_s) / 2
