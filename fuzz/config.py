"""What must hold for a configuration of any content: settings, or a refusal that names a line, in time."""

from __future__ import annotations

import re
import tempfile
from functools import cached_property
from pathlib import Path

from motiond.daemon.config.section import ConfigError
from motiond.daemon.config.settings import load_settings

ROOT = Path(__file__).parents[1]
MOST_SEED_BYTES = 6000
MEMORY_TIMES = 1000
"""A value of two bytes becomes a node and a Python object, and a mistake of it a line of its own."""


class ConfigFuzz:
    """The reader of configurations as a thing to be fuzzed, as the readers of formats are."""

    name = "config"

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="motiond-fuzz-")
        self._file = Path(self._folder.name) / "motiond.yaml"

    @cached_property
    def seeds(self) -> tuple[bytes, ...]:
        files = sorted([*ROOT.glob("config/**/*.yaml"), *ROOT.glob("examples/**/*.yaml")])
        found = [path.read_bytes() for path in files]
        laughs = b"a: &a [x, x]\nb: &b [*a, *a]\nc: {<<: [*b, *b], d: *b}\n"
        return (*(data for data in found if 0 < len(data) <= MOST_SEED_BYTES), laughs)

    @cached_property
    def words(self) -> tuple[bytes, ...]:
        """Everything in the examples that looks like a name or a number, and what YAML makes of signs."""
        text = (ROOT / "config" / "demo.yaml").read_bytes() + b" ".join(self.seeds)
        found = set(re.findall(rb"[A-Za-z_][\w:.]*|-?\d[\d.e]*", text))
        return (*sorted(found), b"<<: ", b"*a", b"&a ", b"!!binary ", b"!!set ", b"? ", b"| ", b"%TAG ")

    def allowance(self, data: bytes) -> int:
        """Return the memory that reading a file may take, in bytes."""
        return 10_000_000 + MEMORY_TIMES * len(data)

    def check(self, data: bytes) -> None:
        """Read a configuration; it is sound, or every mistake has its line and a short text."""
        self._file.write_bytes(data)
        try:
            load_settings(self._file)
        except ConfigError as error:
            _check_refusal(error, data)


def _check_refusal(error: ConfigError, data: bytes) -> None:
    assert error.problems
    lines = len(data.splitlines()) + 1
    for problem in error.problems:
        assert problem.problem, problem
        assert 0 <= problem.line <= lines, problem
    assert len(str(error)) < 200_000
