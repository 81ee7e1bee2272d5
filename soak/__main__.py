"""Lives many random lives of a daemon with its engine: `python -m soak [--steps N] [--first N] [SEED…]`.

A step is a tick of the stream process, with all that the daemon makes of it, or a request to the daemon.
`--engine` plays sequences through the engine alone, `--count` of them. Seeds count from `--first` on, or are
named. It prints, for each seed that breaks an invariant, what it breaks and the command that plays it again.
What fails is kept in `tests/files/seeds`.
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
from tests.daemon import daemon_acts, daemon_engine, daemon_invariants, engine, invariants, sequences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SEEDS = Path(__file__).parent.parent / "tests" / "files" / "seeds"
STEPS, COUNT = 1_000_000, 100_000


class Played(NamedTuple):
    """What became of a seed: how many steps it took, and what is broken."""

    seed: int
    steps: int
    problems: list[str]


def live(seed: int) -> Played:
    """Live one life of a daemon with its engine."""
    logging.getLogger("motiond").propagate = False
    try:
        with virtual.in_memory():
            account = daemon_engine.account_of(daemon_acts.life(seed))
    except Exception:  # noqa: BLE001 - a crash is a finding like any other
        return Played(seed, 0, [traceback.format_exc()])
    return Played(seed, account.steps, daemon_invariants.broken(account))


def play(seed: int) -> Played:
    """Play one sequence through the engine alone."""
    logging.disable()  # each daemon that dies would be reported
    try:
        return Played(seed, 1, invariants.broken(engine.account_of(sequences.sequence(seed))))
    except Exception:  # noqa: BLE001 - the same
        return Played(seed, 1, [traceback.format_exc()])


def keep(file: Path, seed: int, reason: str) -> None:
    """Add a seed to those that the tests play."""
    kept = [int(line.split()[0]) for line in file.read_text().splitlines() if line.strip()]
    if seed not in kept:
        with file.open("a") as lines:
            lines.write(f"{seed} {reason.strip().splitlines()[-1]}\n")


def play_all(act: Callable[[int], Played], seeds: Iterable[int], steps: int, file: Path) -> tuple[int, int]:
    """Play seeds until there are no more, or so many steps were made; return the steps, and what failed."""
    made = failed = 0
    flag = " --engine" if act is play else ""
    with Pool(os.cpu_count() or 1) as pool, Progress() as progress:
        task = progress.add_task("steps", total=steps)
        for seed, took, problems in pool.imap_unordered(act, seeds, chunksize=1):
            made += took
            progress.update(task, completed=made)
            if problems:
                failed += 1
                keep(file, seed, problems[0])
                print(f"seed {seed}: {'; '.join(problems)}")
                print(f"  again: .venv/bin/python -m soak{flag} {seed}", flush=True)
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
    parser.add_argument("--engine", action="store_true", help="play sequences through the engine alone")
    parser.add_argument("--count", type=int, default=COUNT, help="of sequences for the engine")
    asked = parser.parse_args()
    act, file = (play, SEEDS / "engine.txt") if asked.engine else (live, SEEDS / "daemon.txt")
    steps = asked.count if asked.engine else asked.steps
    seeds = range(asked.first, asked.first + (asked.count if asked.engine else steps))
    made, failed = play_all(act, asked.seeds or seeds, steps, file)
    what = "sequences" if asked.engine else "steps: ticks of the stream process, and requests"
    print(f"{made} {what}; from seed {(asked.seeds or seeds)[0]}, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
