"""Benchmarks run from their names to their figures: those that take a few seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

CHECKOUT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["load-robot", "hebi", "dynamixel"])
def test_a_benchmark_runs_and_prints_its_figures(name: str) -> None:
    command = [sys.executable, "-m", "bench", "--seconds", "0.5", name]
    run = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (run.returncode, run.stdout.splitlines()[:1]) == (0, [f"== {name.replace('-', '_')}"]), run.stderr
    assert len(run.stdout.splitlines()) > 1
