"""Fuzzes each reader with atheris for a while: `python -m fuzz.fuzz [--seconds N] [READER…]`.

Readers are those of formats, that of configurations as `config`, the embedded broker as `mqtt`, and
what Feetech servos answer as `feetech`.

It begins with the small files of the test suite. `.fuzz/` keeps a corpus for each reader, with which the next
run begins, and a file for each failure; libFuzzer prints the trace.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import atheris

INSTRUMENTED = ["motiond.formats", "motiond.daemon.broker", "motiond.daemon.config", "motiond.drivers"]
with atheris.instrument_imports(include=INSTRUMENTED):
    # `readers` imports every format, as what is imported later is not instrumented.
    from fuzz.broker import BrokerFuzz
    from fuzz.config import ConfigFuzz
    from fuzz.edits import Edit, dictionary
    from fuzz.readers import READERS as FORMATS
    from fuzz.readers import Reader
    from fuzz.servos import ServosFuzz

READERS: dict[str, Reader | BrokerFuzz | ConfigFuzz | ServosFuzz] = {
    **FORMATS,
    BrokerFuzz.name: BrokerFuzz(),
    ConfigFuzz.name: ConfigFuzz(),
    ServosFuzz.name: ServosFuzz(),
}
FOLDER = Path(".fuzz")
DEFAULT_SECONDS = 600
MOST_BYTES = 65536
# The fraction of changes that libFuzzer makes, which knows nothing of words and lines.
BLIND = 0.4
# In processor time, so that a busy machine causes no failures; libFuzzer's own limit is for endless loops.
SLOWEST_S, HANG_S = 2.0, 30
# The memory that libFuzzer and the instrumented code need.
OWN_BYTES = 64_000_000


def highest_bytes() -> int:
    """Return the peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_here(name: str, flags: list[str]) -> None:
    """Fuzz one reader in this process, without end unless libFuzzer's flags say so."""
    reader = READERS[name]

    def check(data: bytes) -> None:
        start_s, before = time.process_time(), highest_bytes()
        reader.check(data)
        taken_s, grown = time.process_time() - start_s, highest_bytes() - before
        assert taken_s < SLOWEST_S, f"{taken_s:.1f} s for {len(data)} bytes"
        assert grown < OWN_BYTES + reader.allowance(data), f"{grown} bytes of memory for {len(data)}"

    def mutate(data: bytes, most_bytes: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < BLIND:
            return bytes(atheris.Mutate(data, most_bytes))
        for _ in range(rng.randint(1, 3)):
            data = Edit.at_random(rng).apply(data, reader.words)
        return data[:most_bytes]

    atheris.Setup([sys.argv[0], *flags], check, custom_mutator=mutate)
    atheris.Fuzz()


def run(name: str, seconds: int) -> bool:
    """Fuzz one reader in a process of its own; return whether nothing was found."""
    corpus, seeds = FOLDER / "corpus" / name, FOLDER / "seeds" / name
    for folder in (corpus, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(READERS[name].seeds):
        (seeds / str(number)).write_bytes(data)
    words = FOLDER / f"{name}.dict"
    words.write_text(dictionary(READERS[name].words))
    flags = [
        str(corpus),
        str(seeds),
        f"-max_total_time={seconds}",
        f"-max_len={MOST_BYTES}",
        f"-timeout={HANG_S}",
        f"-dict={words}",
        f"-artifact_prefix={FOLDER / name}-",
        "-print_final_stats=1",
        "-verbosity=0",
    ]
    print(f"== {name}: {len(READERS[name].seeds)} files to begin with, {seconds} s", flush=True)
    command = [sys.executable, "-m", "fuzz.fuzz", "--here", name, *flags]
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    """Fuzz the readers that the command line names; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.fuzz")
    parser.add_argument("--seconds", type=int, default=DEFAULT_SECONDS, help="for each reader")
    parser.add_argument("readers", nargs="*", metavar="READER", help=", ".join(READERS))
    asked = parser.parse_args()
    if unknown := [name for name in asked.readers if name not in READERS]:
        parser.error(f"no reader {', '.join(unknown)}; there are {', '.join(READERS)}")
    failed = [name for name in asked.readers or READERS if not run(name, asked.seconds)]
    print(f"failures in {', '.join(failed)}; see {FOLDER}/" if failed else "nothing found")
    return bool(failed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        run_here(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(main())
