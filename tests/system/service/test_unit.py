"""Behaviour of the unit file, as systemd reads it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.waiting import PATIENCE_S

SYSTEMD = Path(__file__).parents[3] / "systemd"
INSTALLED = "/opt/motiond/bin/motiond"
MOTIOND = Path(sys.executable).with_name("motiond")


def systemd_program(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = (SYSTEMD / "motiond.service").read_text()
    assert unit.count(INSTALLED) == 2
    here = tmp_path / "motiond.service"
    here.write_text(unit.replace(INSTALLED, str(MOTIOND)))
    verified = subprocess.run(
        [systemd_program("systemd-analyze"), "verify", here],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (verified.returncode, verified.stdout, verified.stderr) == (0, "", "")


def exposed() -> list[dict[str, Any]]:
    """Return what systemd finds that the unit leaves open."""
    unit = str(SYSTEMD / "motiond.service")
    analyze = [systemd_program("systemd-analyze"), "security", "--offline=true", unit]
    analysis = subprocess.run(
        [*analyze, "--json=short"], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    points: list[dict[str, Any]] = orjson.loads(analysis.stdout)
    assert subprocess.run([*analyze, "--threshold=20"], capture_output=True, check=False).returncode == 0, (
        points
    )
    return [point for point in points if point["set"] is False]


def test_the_units_exposure_is_at_most_2_and_each_point_that_is_left_has_its_reason() -> None:
    page = (SYSTEMD.parent / "docs" / "service.md").read_text()
    _, _, table = page.partition("| point | why it is left |")
    lines = table.partition("\n\n")[0].splitlines()[2:]
    reasons = {line.split(" | ")[0].strip("| `").replace("\\|", "|") for line in lines}
    assert {point["name"].rstrip("=") for point in exposed()} == reasons


def test_systemd_can_make_the_user_of_the_unit(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    subprocess.run(
        [systemd_program("systemd-sysusers"), f"--root={tmp_path}", SYSTEMD / "motiond.sysusers"],
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    assert "motiond:" in (tmp_path / "etc" / "passwd").read_text()
    assert any(line.startswith("dialout:") for line in (tmp_path / "etc" / "group").read_text().splitlines())
