"""What is built between two releases sorts between them, for pip and for dpkg."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.version import Version

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]
DPKG = shutil.which("dpkg")
ASCENDING = (
    *("0.post1.dev9+unknown.gb1", "0.post1.dev10+unknown.ga1.d20261126"),
    *("0.1.0.dev1", "0.1.0a1", "0.1.0b2", "0.1.0rc1", "0.1.0rc1.post1.dev3+gb2c3a4d", "0.1.0rc2", "0.1.0"),
    *("0.1.0.post1.dev0+ga1.d20261126", "0.1.0.post1.dev9+gb1", "0.1.0.post1.dev10+ga1", "0.1.0.post1"),
    *("0.1.0.1", "0.1.1rc1", "0.1.1", "0.2", "0.2.post1.dev3+ga1", "0.2.1", "0.10.0", "1.0.0"),
)


def run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def precedes(older: str, newer: str) -> bool:
    """Return whether dpkg upgrades from one version to the other, as packages for Debian 12 have them."""
    of_debian = [
        f"{run(ROOT, ROOT / 'scripts' / 'debian_version.sh', one)}-1~debian12" for one in (older, newer)
    ]
    command = ["dpkg", "--compare-versions", of_debian[0], "lt", of_debian[1]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stderr == ""  # it would warn of a version that is none
    return done.returncode == 0


@pytest.mark.skipif(DPKG is None, reason="dpkg is missing")
def test_debian_sorts_versions_as_python_does() -> None:
    assert [*ASCENDING] == sorted(ASCENDING, key=Version)
    pairs = [*pairwise(ASCENDING), ("0+unknown", "0.0.1")]
    assert [pair for pair in pairs if not precedes(*pair)] == []


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Lay down what the version is made of: git's history of two commits, and how it is read."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    run(tmp_path, "git", "init", "--quiet")
    run(tmp_path, "git", "add", ".")
    for what in ("first", "second"):
        person = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
        run(tmp_path, "git", *person, "commit", "--quiet", "--allow-empty", "-m", what)
    return tmp_path


@pytest.mark.skipif(DPKG is None, reason="dpkg is missing")
@pytest.mark.parametrize(
    ("tags", "built", "following"),
    [
        ((), r"0\.post1\.dev2\+\S+", ("0.0.1", "0.1.0rc1", "0.1.0")),
        (("v0.2.0",), r"0\.2\.0\.post1\.dev1\+g\w+", ("0.2.1rc1", "0.2.1", "0.3.0")),
        (("v0.2",), r"0\.2\.post1\.dev1\+g\w+", ("0.2.1rc1", "0.2.1", "0.3")),
        (("v0.2.0rc1",), r"0\.2\.0rc1\.post1\.dev1\+g\w+", ("0.2.0rc2", "0.2.0")),
        (("robot-2026", "nightly-3"), r"0\.post1\.dev2\+\S+", ("0.0.1", "0.1.0")),
    ],
)
def test_a_build_between_releases_precedes_the_next_one(
    clone: Path, tags: tuple[str, ...], built: str, following: tuple[str, ...]
) -> None:
    for tag in tags:
        run(clone, "git", "tag", tag, "HEAD~1")
    version = run(clone, sys.executable, "-m", "hatchling", "version")
    assert re.fullmatch(built, version)
    assert [one for one in following if Version(one) <= Version(version)] == []
    assert [one for one in following if not precedes(version, one)] == []
    released = [tag.removeprefix("v") for tag in tags if tag.startswith("v")]
    assert [one for one in released if not precedes(one, version)] == []
