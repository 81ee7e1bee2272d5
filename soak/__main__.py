"""Plays many random sequences through the engine: `python -m soak [--count N] [--first N] [SEED…]`.

Seeds count from `--first` on, or are named. It prints progress and, for each sequence that breaks an
invariant, what it breaks and the command that plays it again. What fails is kept in `tests/files/seeds`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from multiprocessing import Pool

from rich.progress import track

from tests.daemon.engine import account_of
from tests.daemon.invariants import broken
from tests.daemon.sequences import sequence
from tests.daemon.test_engine_properties import KEPT, kept_seeds

COUNT = 100_000


def play(seed: int) -> tuple[int, list[str]]:
    """Play one sequence; return its seed and what is broken."""
    logging.disable()  # each daemon that dies would be told of
    try:
        return seed, broken(account_of(sequence(seed)))
    except Exception:  # noqa: BLE001 - a crash of the engine is a finding like any other
        return seed, [traceback.format_exc()]


def keep(seed: int, why: str) -> None:
    """Add a seed to those that the tests play."""
    if seed not in kept_seeds():
        with KEPT.open("a") as file:
            file.write(f"{seed} {why.strip().splitlines()[-1]}\n")


def main() -> int:
    """Play what is asked for; 1 if anything is broken."""
    parser = argparse.ArgumentParser(prog="python -m soak", description="Play random sequences.")
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED", help="play these alone")
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    seeds = asked.seeds or range(asked.first, asked.first + asked.count)
    failed = 0
    with Pool(min(len(seeds), os.cpu_count() or 1)) as pool:
        results = pool.imap_unordered(play, seeds, chunksize=1 if asked.seeds else 20)
        for seed, problems in track(results, "sequences", len(seeds)):
            if problems:
                failed += 1
                keep(seed, problems[0])
                print(f"seed {seed}: {'; '.join(problems)}")
                print(f"  again: .venv/bin/python -m soak {seed}", flush=True)
    print(f"{len(seeds)} sequences from seed {seeds[0]}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
