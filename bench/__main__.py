"""Runs all benchmarks, or those named on the command line: `python -m bench [--seconds S] [NAME…]`.

A name may be written with hyphens for its underscores; `fleet` stands for all that measure a fleet.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from typing import TYPE_CHECKING

from bench.programs import NOT_A_USERS

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = (
    "load_motions",
    "dump_seq",
    "load_robot",
    "load_xml",
    "kinematics",
    "physical_ticks",
    "efforts",
    "collisions",
    "tick",
    "dry_run",
    "wakeup",
    "loops",
    "rate",
    "robots",
    "recording",
    "start_at",
    "stream_start",
    "fleet_starts",
    "fleet_processor",
    "stop",
    "stop_under_load",
    "request",
    "follow_latency",
    "follow_setpoints",
    "follow_guarded",
    "brokers",
    "http",
    "browser",
    "start",
    "cli",
    "dynamixel",
    "feetech",
    "hebi",
)
TIMED = frozenset(
    {
        "wakeup",
        "loops",
        "rate",
        "robots",
        "recording",
        "start_at",
        "fleet_starts",
        "fleet_processor",
        "follow_guarded",
        "follow_setpoints",
        "physical_ticks",
        "brokers",
        "dynamixel",
        "feetech",
        "http",
        "browser",
    }
)
"""They take as long as they are told to."""
TOGETHER = {
    "fleet": ("fleet_starts", "stream_start", "fleet_processor"),
    "follow": ("follow_latency", "follow_setpoints", "follow_guarded"),
    "physics": ("physical_ticks", "efforts", "collisions"),
}
"""What is measured by one name."""


def main() -> int:
    """Run the benchmarks that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Run benchmarks.")
    there = ", ".join((*NAMES, *TOGETHER))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {there}")
    parser.add_argument("--seconds", type=float, help=f"how long {', '.join(sorted(TIMED))} measure")
    asked = parser.parse_args()
    names = [name.replace("-", "_") for name in asked.names]
    unknown = [name for name in names if name not in (*NAMES, *TOGETHER)]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {there}", file=sys.stderr)
        return 2
    for variable in NOT_A_USERS:
        os.environ.pop(variable, None)
    for name in chosen(names):
        print(f"== {name}", flush=True)
        shortened = (asked.seconds,) if asked.seconds and name in TIMED else ()
        importlib.import_module(f"bench.{name}").main(*shortened)
    return 0


def chosen(names: Sequence[str]) -> list[str]:
    """Return which benchmarks names stand for; none stands for all of them."""
    each = [one for name in names for one in TOGETHER.get(name, (name,))]
    return list(dict.fromkeys(each or NAMES))


if __name__ == "__main__":
    sys.exit(main())
