"""Runs all benchmarks, or those named on the command line: `python -m tests.bench [--seconds S] [NAME…]`.

A name may be written with hyphens for its underscores.
"""

from __future__ import annotations

import argparse
import importlib
import sys

NAMES = (
    "load_seq",
    "dump_seq",
    "cache",
    "load_sdf",
    "load_skel",
    "load_xml",
    "kinematics",
    "tick",
    "dry_run",
    "wakeup",
    "loops",
    "rate",
    "robots",
    "start_at",
    "stream_start",
    "fleet",
    "stop",
    "stop_under_load",
    "request",
    "brokers",
    "http",
    "page",
    "cli",
    "dynamixel",
    "hebi",
)
TIMED = frozenset(
    {"wakeup", "loops", "rate", "robots", "start_at", "fleet", "brokers", "dynamixel", "http", "page"}
)
"""They take as long as they are told to."""


def main() -> int:
    """Run the benchmarks that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Run benchmarks.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--seconds", type=float, help=f"how long {', '.join(sorted(TIMED))} measure")
    asked = parser.parse_args()
    names = [name.replace("-", "_") for name in asked.names]
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in names or NAMES:
        print(f"== {name}", flush=True)
        shortened = (asked.seconds,) if asked.seconds and name in TIMED else ()
        importlib.import_module(f"tests.bench.{name}").main(*shortened)
    return 0


if __name__ == "__main__":
    sys.exit(main())
