"""Runs all benchmarks, or those named on the command line: `python -m tests.bench [NAME…]`."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "load_seq",
    "dump_seq",
    "cache",
    "load_sdf",
    "load_skel",
    "kinematics",
    "wakeup",
    "request",
    "dynamixel",
    "hebi",
)


def main() -> int:
    """Run the benchmarks that are asked for."""
    names = sys.argv[1:] or NAMES
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"no benchmark {', '.join(unknown)}; there are {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"== {name}", flush=True)
        importlib.import_module(f"tests.bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
