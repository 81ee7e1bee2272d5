"""What an import loads in a fresh interpreter: parsers and libraries only when they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

FILES = Path(__file__).parents[2] / "files" / "good"
PARSERS = {"lxml", "orjson", "simdjson", "yaml"}
LIBRARIES = {"hebi", "motiond.drivers.base", "numpy", "pydantic", "pytest", "serial", "yaml"}


@pytest.mark.parametrize(
    ("code", "looked_for", "expected"),
    [
        ("import motiond.drivers", LIBRARIES, ["motiond.drivers.base", "numpy", "pydantic"]),
        ("from motiond.formats import *", PARSERS, []),
        (
            f"from motiond import formats; formats.load_motion({str(FILES / 'two_feet.seq')!r})",
            PARSERS,
            ["orjson", "simdjson", "yaml"],
        ),
    ],
    ids=["drivers", "formats", "a motion"],
)
def test_an_import_loads_what_is_needed_and_no_more(
    code: str, looked_for: set[str], expected: list[str]
) -> None:
    command = [sys.executable, "-c", f"{code}; import sys; print(*sorted({looked_for} & set(sys.modules)))"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (run.returncode, run.stderr, run.stdout.split()) == (0, "", expected)
