"""The yardstick of wake-ups: `cyclictest`, in C, at the priority and rate of what is measured beside it."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass

PRIORITY = 50
LONGEST_US = 100_000
MISSING = "cyclictest is missing: no yardstick; fix with: apt-get install rt-tests"


@dataclass(frozen=True, slots=True)
class Latencies:
    """How late cyclictest woke.

    Attributes
    ----------
    counts : dict of int to int
        How often it was so many whole microseconds late; what was later than `LONGEST_US` counts as that.
    max_us : int
    """

    counts: dict[int, int]
    max_us: int

    def quantile_us(self, share: float) -> float:
        """Return the lateness in µs that `share` of the wake-ups did not exceed."""
        wanted, passed = share * sum(self.counts.values()), 0
        for late_us, count in sorted(self.counts.items()):
            passed += count
            if passed >= wanted:
                return float(late_us)
        return float(self.max_us)

    def late_by(self, period_s: float) -> int:
        """Count the wake-ups that came a period or more too late."""
        return sum(count for late_us, count in self.counts.items() if late_us >= 1e6 * period_s)

    def missed(self, period_s: float) -> int:
        """Count the deadlines that passed before it woke, as the stream process counts its own."""
        return sum(count * int(late_us / (1e6 * period_s)) for late_us, count in self.counts.items())


def is_there() -> bool:
    """Return whether it is installed, and print it if it is not."""
    found = shutil.which("cyclictest") is not None
    if not found:
        print(MISSING)
    return found


async def measure(seconds: float, rate_hz: float, core: int | None = None, threads: int = 1) -> Latencies:
    """Run it for so long, while others run; it counts whole seconds."""
    lasts = f"-i{1e6 / rate_hz:.0f} -D{max(1, round(seconds))}"
    options = f"-q -m -t{threads} -p{PRIORITY} {lasts} -h{LONGEST_US}"
    where = [] if core is None else [f"-a{core}"]
    process = await asyncio.create_subprocess_exec(
        "cyclictest", *options.split(), *where, stdout=subprocess.PIPE
    )
    try:
        output, _ = await process.communicate()
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return parse(output.decode())


def parse(output: str) -> Latencies:
    """Read its histogram, of all its threads together."""
    found = re.search(r"# Max Latencies: ([\d ]+)", output)
    if found is None:
        raise RuntimeError(f"cyclictest: no histogram in what it printed; it printed {output!r}")
    rows = re.findall(r"^(\d{6})((?:[ \t]+\d+)+)$", output, re.MULTILINE)
    counts = Counter({int(late): sum(map(int, columns.split())) for late, columns in rows})
    if beyond := re.search(r"# Histogram Overflows: ([\d ]+)", output):
        counts[LONGEST_US] += sum(map(int, beyond[1].split()))
    return Latencies(
        {late: count for late, count in counts.items() if count}, max(map(int, found[1].split()))
    )
