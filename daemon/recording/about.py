"""What a recording says of itself in its metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from ..clock import utc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..api import Why
    from ..clock import ClockState
    from .description import RobotDescription

ABOUT, END = "motiond", "motiond-end"
"""Of metadata: at the beginning of a file, and at its end."""
MOST_RESULTS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingAbout:
    """Of what, by what and why a recording is made.

    - `daemon`: its id; `driver`: its type; `version`: of motiond
    - `joints`: in the order of the ring; `units`: `rad` or `m` for each of them
    - `continuous`: the joints that turn without end
    - `unix_less_monotonic_s`: what is added to monotonic times to have Unix time; one number for the whole
      file, so that periods stay what they are
    - `why`: what asked for it
    - `name`: what it is called by whoever asked for it, or the motion; '' where nothing is
    - `bodies`: what can touch, by the numbers in contacts; empty where the driver knows no contacts
    - `description`: None for a robot without one; then no file has `/robot_description` and `/tf`
    """

    robot: str
    daemon: str
    driver: str
    version: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    unix_less_monotonic_s: float
    began_unix_s: float
    clock: ClockState
    why: Why
    name: str = ""
    continuous: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    description: RobotDescription | None = None

    def metadata(self, first_tick: int | None, hashes: Mapping[str, str]) -> dict[str, str]:
        """Return the record `motiond`; `hashes`: SHA-256 of each attachment by its name."""
        clock = self.clock
        return {
            "version": self.version,
            "robot": self.robot,
            "daemon": self.daemon,
            "driver": self.driver,
            "began_utc": utc(self.began_unix_s),
            "first_tick": shown(first_tick),
            "why": self.why,
            "name": self.name,
            "clock_synchronised": "true" if clock.synchronised else "false",
            "clock_source": clock.source or "",
            "clock_estimated_error_s": shown(clock.estimated_error_s),
            **{f"unit {joint}": unit for joint, unit in zip(self.joints, self.units, strict=True)},
            **{f"continuous {joint}": "true" for joint in self.continuous},
            **{f"sha256 {name}": digest for name, digest in hashes.items()},
        }


@dataclass(slots=True)
class RecordingEnd:
    """What a recording says at its end, besides when and why that is.

    - `ticks`, `gaps`: how many it has
    - `motions`, `codes`: of the results in it
    - `hashes`: SHA-256 of each attachment by its name
    """

    ticks: int = 0
    gaps: int = 0
    motions: list[str] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)

    def add_result(self, result: Mapping[str, Any]) -> None:
        """Add the report of a result."""
        for values, key in ((self.motions, "motion"), (self.codes, "code")):
            if isinstance(value := result.get(key), str) and len(values) < MOST_RESULTS:
                values.append(value)

    def metadata(self, ended_unix_s: float, reason: str) -> dict[str, str]:
        """Return the record `motiond-end`."""
        return {
            "ended_utc": utc(ended_unix_s),
            "ticks": str(self.ticks),
            "gaps": str(self.gaps),
            "reason": reason,
            "motions": orjson.dumps(self.motions).decode(),
            "codes": orjson.dumps(self.codes).decode(),
            **{f"sha256 {name}": digest for name, digest in self.hashes.items()},
        }


def shown(value: float | None) -> str:
    """Return a number as metadata has it; '' for what is not known."""
    return "" if value is None else f"{value:.12g}"
