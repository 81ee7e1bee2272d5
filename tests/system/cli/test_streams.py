"""Whatever stdout can take: a full disk is told in one line, and no encoding ends a subcommand."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.daemon.programs import MOTIOND
from tests.waiting import PATIENCE_S

CONFIG = Path(__file__).parents[3] / "config"
WAVE = str(CONFIG / "motions" / "wave.seq")
FULL = "stdout: cannot be written; No space left on device; what was written there is not whole; make room\n"


def ended(
    *arguments: str, stdout: Path | None = None, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    with Path(stdout or os.devnull).open("wb") as out:
        return subprocess.run(
            [MOTIOND, *arguments],
            stdout=out if stdout else subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": "", **(environment or {})},
        )


@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (("inspect", WAVE), ""),
        (("config", "schema"), "1"),
        (("check", "--json", "-c", str(CONFIG / "demo.yaml")), "1"),
        (("--help",), ""),
        (("check", "--help"), "1"),
    ],
)
def test_a_stdout_that_is_full_is_told_in_one_line(arguments: tuple[str, ...], unbuffered: str) -> None:
    told = ended(*arguments, stdout=Path("/dev/full"), environment={"PYTHONUNBUFFERED": unbuffered})
    assert (told.returncode, told.stderr.decode()) == (1, FULL)


COMPLETES = {"_MOTIOND_COMPLETE": "complete_bash", "COMP_WORDS": "motiond emu", "COMP_CWORD": "1"}


@pytest.mark.parametrize("environment", [{}, COMPLETES], ids=["help", "completion"])
def test_who_reads_no_more_is_told_nothing(environment: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as out:
        told = subprocess.run(
            [MOTIOND, "--help"],
            env=os.environ | environment,
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
            check=False,
        )
    assert told.stderr == b""


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "cp1251"},
        {"PYTHONIOENCODING": "euc-jp"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
)
def test_what_an_encoding_lacks_is_escaped(environment: dict[str, str]) -> None:
    told = ended("inspect", WAVE, environment=environment)
    assert (told.returncode, told.stderr) == (0, b"")
    assert rb"acceleration /s\xb2" in told.stdout
