"""Lives many random lives of a daemon with its engine: `python -m soak [--steps N] [--first N] [SEED…]`.

A step is a tick of the stream process, with all that the daemon makes of it, or a request to the daemon.
Seeds count from `--first` on, or are named. It prints, for each seed that breaks an invariant, what it breaks
and the command that plays it again. What fails is kept in `tests/files/seeds`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import traceback
from multiprocessing import Pool
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.progress import Progress

from tests import virtual  # before what keeps a clock of its own
from tests.daemon import engine, invariants, layered_lives, lives

if TYPE_CHECKING:
    from collections.abc import Iterable

SEEDS = Path(__file__).parent.parent / "tests" / "files" / "seeds" / "lives.txt"
STEPS = 1_000_000
LIVES = (lives.life, lives.chains, lives.mixed_chains, lives.foreseen_chains, lives.follows)


class Played(NamedTuple):
    """What became of a seed: how many steps it took, and what is broken."""

    seed: int
    steps: int
    problems: list[str]


def live(seed: int) -> Played:
    """Live lives of a daemon with its engine: any, chained motions, follows, and motions at once."""
    logging.getLogger("motiond").propagate = False
    try:
        with virtual.in_memory():
            accounts = [engine.account_of(make(seed)) for make in LIVES]
            layered = layered_lives.live(seed)
    except Exception:  # noqa: BLE001 - a crash is a finding like any other
        return Played(seed, 0, [traceback.format_exc()])
    problems = [line for account in accounts for line in invariants.broken(account)] + layered.problems
    return Played(seed, sum(account.steps for account in accounts) + layered.steps, problems)


def keep(seed: int, reason: str) -> None:
    """Add a seed to those that the tests play."""
    kept = [int(line.split()[0]) for line in SEEDS.read_text().splitlines() if line.strip()]
    if seed not in kept:
        with SEEDS.open("a") as lines:
            lines.write(f"{seed} {reason.strip().splitlines()[-1]}\n")


def play_all(seeds: Iterable[int], steps: int) -> tuple[int, int]:
    """Play seeds until there are no more, or so many steps were made; return the steps, and what failed."""
    made = failed = 0
    with Pool(os.cpu_count() or 1) as pool, Progress() as progress:
        task = progress.add_task("steps", total=steps)
        for seed, took, problems in pool.imap_unordered(live, seeds, chunksize=1):
            made += took
            progress.update(task, completed=made)
            if problems:
                failed += 1
                keep(seed, problems[0])
                print(f"seed {seed}: {'; '.join(problems)}")
                print(f"  again: .venv/bin/python -m soak {seed}", flush=True)
            if made >= steps:
                pool.terminate()
                break
    return made, failed


def main() -> int:
    """Play what is asked for; 1 if anything is broken."""
    parser = argparse.ArgumentParser(prog="python -m soak", description="Live random lives of a daemon.")
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED", help="play these alone")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    seeds = asked.seeds or range(asked.first, asked.first + asked.steps)
    made, failed = play_all(seeds, asked.steps)
    print(f"{made} steps: ticks of the stream process, and requests; from seed {seeds[0]}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
