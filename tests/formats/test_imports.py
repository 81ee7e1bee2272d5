"""Parsers are imported when a format needs them, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = Path(__file__).parents[1] / "files" / "good"
TIMEOUT_S = 60.0
SHOW = "; import sys; print(*sorted({'lxml', 'simdjson', 'yaml', 'orjson'} & set(sys.modules)))"


@pytest.mark.parametrize(
    ("code", "parsers"),
    [
        ("import motiond.formats", []),
        ("from motiond.formats import *", []),
        (
            f"from motiond import formats; formats.load_motion({str(FILES / 'two_feet.seq')!r})",
            ["orjson", "simdjson", "yaml"],
        ),
    ],
)
def test_a_parser_is_imported_when_its_format_is_read(code: str, parsers: list[str]) -> None:
    command = [sys.executable, "-c", code + SHOW]
    run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (run.returncode, run.stderr, run.stdout.split()) == (0, "", parsers)
