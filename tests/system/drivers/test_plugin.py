"""The example of `docs/writing-a-driver.md`, installed as by a user and tested against the contract."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.drivers.testing.contract import DriverContract
from tests.waiting import PATIENCE_S, lines_until, started

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "motiond-driver-toy"
SKIPPED_WITHOUT_A_RIG = 14
OF_GUIDED = 9  # by its own rig, and from the command line
PAUSE_S = 2.0  # so long may the machine pause while setpoints and answers are awaited


def run(*arguments: str, packages: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder, with the packages that are installed in another.

    It leaves its temporary files beside those: where they usually lie, it would delete those of earlier runs.
    """
    pytest_alone = ["pytest", "-p", "no:asyncio", "-p", "no:cacheprovider", "-q"]
    basetemp = ["--basetemp", str(packages.with_name("basetemp"))]
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", *pytest_alone, *basetemp, *arguments],
        cwd=folder,
        env=_environment(packages),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def _environment(packages: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{packages}{os.pathsep}{ROOT}"}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example into a folder by pip, without a network."""
    source = tmp_path_factory.mktemp("source") / EXAMPLE.name
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    target = tmp_path_factory.mktemp("packages")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(source)]
    subprocess.run(command, check=True, timeout=PATIENCE_S)
    return target


@pytest.fixture
def controller(packages: Path) -> Iterator[str]:
    """Run the toy controller, and yield its address."""
    command = [sys.executable, "-m", "toy_controller", "0", str(PAUSE_S)]
    with started(command, env=_environment(packages), stdout=subprocess.PIPE, text=True) as process:
        yield f"127.0.0.1:{lines_until(process.stdout, '')[0]}"


def count(outcome: str, output: str) -> int:
    """Read a number from pytest's last line, `37 passed, 2 skipped in 4.49s`."""
    words = output.splitlines()[-1].replace(",", "").split()
    return int(words[words.index(outcome) - 1]) if outcome in words else 0


def test_the_example_keeps_the_contract_by_its_own_rig_and_from_the_command_line(
    packages: Path, controller: str
) -> None:
    patient = {"address": controller, "timeout_s": PAUSE_S, "command_lifetime_s": PAUSE_S}
    options = ["--motiond-driver=toy", f"--motiond-driver-settle={PAUSE_S / 12}"]
    options += ["--motiond-driver-options", json.dumps(patient)]
    done = run(str(EXAMPLE / "test_toy.py"), *options, packages=packages, folder=EXAMPLE)
    tests = sum(name.startswith("test_") for name in dir(DriverContract))
    assert done.returncode == 0, done.stdout + done.stderr
    skipped = SKIPPED_WITHOUT_A_RIG + 2 * OF_GUIDED
    assert count("skipped", done.stdout) == skipped
    assert count("passed", done.stdout) >= 2 * tests - skipped


def test_the_suite_fails_where_nothing_answers(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text("address: 127.0.0.1:9\n")
    options = ["--motiond-driver=toy", "--motiond-driver-options=toy.yaml", "-k", "moves_again"]
    done = run(*options, packages=packages, folder=tmp_path)
    assert done.returncode == 1
    assert (
        "driver toy at 127.0.0.1:9: is gone; [Errno 111] Connection refused; check `address`" in done.stdout
    )
