"""Runs of the tests that go side by side leave each other's ports alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests import ports


def test_a_port_that_is_not_listened_on_yet_is_given_to_no_other_process() -> None:
    given = ports.free_port()
    never_given = given + 100_000  # it is no port
    other = f"from tests import ports; print(ports.claim({given}), ports.claim({never_given}))"
    told = subprocess.run(
        [sys.executable, "-c", other],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert told.stdout == "False True\n"
