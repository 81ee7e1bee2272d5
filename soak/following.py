"""Lets robots follow random sequences of targets: `python -m soak.following [--count N] [--first N] [SEED…]`.

It prints, for each seed that breaks what holds for setpoints and results, what it breaks.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from multiprocessing import Pool

from rich.progress import Progress

from tests import virtual  # noqa: F401 # before what keeps a clock of its own
from tests.daemon.stream import pursuits

COUNT = 10_000


def live(seed: int) -> tuple[int, int, list[str]]:
    """Let one sequence happen; return its seed, how many ticks it took, and what is broken."""
    logging.getLogger("motiond").propagate = False
    try:
        account = pursuits.account_of(seed)
    except Exception:  # noqa: BLE001 - a crash is a finding like any other
        return seed, 0, [traceback.format_exc()]
    return seed, len(account.setpoints), pursuits.broken(account)


def main() -> int:
    """Play what is asked for; 1 if anything is broken."""
    parser = argparse.ArgumentParser(prog="python -m soak.following", description="Follow random targets.")
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED", help="play these alone")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    seeds = asked.seeds or range(asked.first, asked.first + asked.count)
    made = failed = 0
    with Pool(len(os.sched_getaffinity(0))) as pool, Progress() as progress:
        for seed, ticks, problems in progress.track(pool.imap_unordered(live, seeds), total=len(seeds)):
            made += ticks
            if problems:
                failed += 1
                print(f"seed {seed}: {'; '.join(problems)}")
                print(f"  again: .venv/bin/python -m soak.following {seed}", flush=True)
    print(f"{len(seeds)} sequences, {made} ticks; from seed {seeds[0]}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
