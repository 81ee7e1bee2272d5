"""`motiond --version` tells what runs: a package's version, or a checkout's nearest tag and commit."""

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


def git(folder: Path, *arguments: str) -> str:
    author = ("-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *author, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder from which motiond seems to run."""
    monkeypatch.setattr(versions, "files", {"motiond": tmp_path / "motiond"}.__getitem__)
    return tmp_path


@pytest.fixture
def checkout(folder: Path) -> Path:
    git(folder, "init", "--quiet")
    (folder / "README.md").touch()
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def test_an_installed_package_tells_its_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not (folder / ".git").exists()
    assert run_here(capsys, "--version") == (0, f"motiond {package_version('motiond')}\n", "")


def test_a_checkout_at_a_tag_tells_that(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(checkout, "tag", "v1.2.0")
    git(checkout, "tag", "of-no-version")
    assert run_here(capsys, "--version") == (0, f"motiond 1.2.0 (checkout in {checkout})\n", "")


def test_a_checkout_tells_its_commits_since_the_tag_and_what_is_edited(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(checkout, "tag", "v1.2.0")
    git(checkout, "commit", "--quiet", "--allow-empty", "--message", "Go on")
    (checkout / "README.md").write_text("edited")
    commit = git(checkout, "rev-parse", "--short", "HEAD")
    told = f"motiond 1.2.0-1-g{commit}-dirty (checkout in {checkout})\n"
    assert run_here(capsys, "--version") == (0, told, "")


def test_a_checkout_without_tags_tells_its_commit(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commit = git(checkout, "rev-parse", "--short", "HEAD")
    assert run_here(capsys, "--version") == (0, f"motiond {commit} (checkout in {checkout})\n", "")


def test_a_checkout_on_a_machine_without_git_tells_the_packages_version(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    assert run_here(capsys, "--version") == (0, f"motiond {package_version('motiond')}\n", "")


@pytest.mark.parametrize("tag", [None, "v1.2.0"])
def test_the_doctor_names_the_same_version(
    checkout: Path, capsys: pytest.CaptureFixture[str], tag: str | None
) -> None:
    if tag is not None:
        git(checkout, "tag", tag)
    told = run_here(capsys, "--version")[1].removeprefix("motiond ").rstrip("\n")
    assert (installed("motiond"), check_versions().figures["motiond"]) == (told, told)
