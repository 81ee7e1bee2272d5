"""The manual pages as `man` prints them: what `--help` says, and no macro gone wrong."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from scripts.make_man import manual
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return manual()


def printed(page: str, *options: str, language: str = "C.UTF-8") -> subprocess.CompletedProcess[str]:
    """Print a page as `man` does, on lines that are never broken."""
    command = ["man", *options, "--local-file", "-"]
    return subprocess.run(
        command,
        input=page,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "1000", "LANG": language},
    )


def test_a_page_reads_as_the_help_does(pages: dict[str, str]) -> None:
    text = " ".join(printed(pages["motiond-completion.1"]).stdout.split())
    assert "motiond-completion - write the script by which a shell completes a command line" in text
    assert "SYNOPSIS motiond completion [OPTIONS] SHELL DESCRIPTION" in text
    assert "The shell; docs/cli.md says where it looks for the script. [required]" in text
    assert text.split("SEE ALSO ")[1].startswith("motiond(1)")


@pytest.mark.parametrize("language", ["C.UTF-8", "C"])
def test_no_page_has_a_fault_in_its_macros_nor_a_character_that_is_not_there(
    pages: dict[str, str], language: str
) -> None:
    every = "".join(pages.values())
    assert len(pages) > 30
    assert printed(every, "--warnings", language=language).stderr == ""


def test_the_first_page_leads_to_the_others_and_tells_exit_codes_and_files(pages: dict[str, str]) -> None:
    text = " ".join(printed(pages["motiond.1"]).stdout.split())
    assert "130 interrupted" in text
    assert (
        "/etc/motiond/motiond.yaml The configuration, where neither -c nor $MOTIOND_CONFIG is given." in text
    )
    named = re.findall(r"motiond-[a-z]+(?=\(1\))", text)
    assert "motiond-play" in named
    assert [name for name in named if f"{name}.1" not in pages] == []
