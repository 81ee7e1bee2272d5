"""`motiond --version` names what runs: a package's version, or a checkout's nearest tag and commit."""

from __future__ import annotations

import subprocess
from importlib.metadata import version as package_version
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.doctor import versions
from motiond.daemon.doctor.versions import check_versions, installed
from tests.daemon.programs import run_here

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = package_version("motiond")


def git(folder: Path, *arguments: str) -> str:
    author = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *author, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which motiond seems to run."""
    monkeypatch.setattr(versions, "files", {"motiond": tmp_path / "motiond"}.__getitem__)
    return tmp_path


def test_an_installed_package_names_its_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not (folder / ".git").exists()
    assert run_here(capsys, "--version") == (0, f"motiond {PACKAGE}\n", "")


@pytest.mark.parametrize(
    ("tags", "is_edited", "has_git", "expected"),
    [
        ((), False, True, "{commit}"),
        ((), False, False, PACKAGE),
        (("v1.2.0", "of-no-version"), False, True, "1.2.0"),
        (("v1.2.0",), True, True, "1.2.0-1-g{commit}-dirty"),
    ],
)
def test_a_checkout_names_its_tag_its_commits_since_and_what_is_edited_as_the_doctor_does(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tags: tuple[str, ...],
    expected: str,
    *,
    is_edited: bool,
    has_git: bool,
) -> None:
    git(folder, "init", "--quiet")
    (folder / "README.md").touch()
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    for tag in tags:
        git(folder, "tag", tag)
    if is_edited:
        git(folder, "commit", "--quiet", "--allow-empty", "--message", "Go on")
        (folder / "README.md").write_text("edited")
    version = expected.format(commit=git(folder, "rev-parse", "--short", "HEAD"))
    if has_git:
        version += f" (checkout in {folder})"
    else:
        monkeypatch.setenv("PATH", str(folder))
    assert run_here(capsys, "--version") == (0, f"motiond {version}\n", "")
    assert (installed("motiond"), check_versions().figures["motiond"]) == (version, version)
