"""The manual pages: one for each subcommand, with all that `--help` tells, and no macro gone wrong."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
import typer
import typer.main

from motiond.daemon.cli.tree import make_app
from scripts.make_man import manual

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 60.0
NEEDS_MAN = pytest.mark.skipif(shutil.which("man") is None, reason="man is not installed")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return manual()


def commands(name: str, command: object) -> Iterator[tuple[str, typer.core.TyperCommand]]:
    """Yield every subcommand with the name that it is called by."""
    if isinstance(command, typer.core.TyperGroup):
        for word, below in command.commands.items():
            yield from commands(f"{name} {word}", below)
    else:
        assert isinstance(command, typer.core.TyperCommand)
        yield name, command


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


def test_every_subcommand_has_a_page_with_each_of_its_options(pages: dict[str, str]) -> None:
    every = dict(commands("motiond", typer.main.get_command(make_app())))
    assert {"motiond play", "motiond fleet play", "motiond config example"} <= every.keys()
    for name, command in every.items():
        page = pages[f"{name.replace(' ', '-')}.1"].replace(r"\-", "-")
        options = [option for one in command.params for option in one.opts if option.startswith("-")]
        assert [option for option in options if not re.search(rf"(?m)^\\fB.*{option}\b", page)] == []


@NEEDS_MAN
def test_a_page_reads_as_the_help_does(pages: dict[str, str]) -> None:
    text = " ".join(printed(pages["motiond-completion.1"]).stdout.split())
    assert "motiond-completion - write the script by which a shell completes subcommands" in text
    assert "SYNOPSIS motiond completion [OPTIONS] SHELL DESCRIPTION" in text
    assert "The shell; docs/cli.md says where it looks for the script. [required]" in text
    assert text.split("SEE ALSO ")[1].startswith("motiond(1)")


@NEEDS_MAN
@pytest.mark.parametrize("language", ["C.UTF-8", "C"])
def test_no_page_has_a_fault_in_its_macros_nor_a_character_that_is_not_there(
    pages: dict[str, str], language: str
) -> None:
    every = "".join(pages.values())
    assert len(pages) > 30
    assert printed(every, "--warnings", language=language).stderr == ""


def test_pages_are_ascii_so_that_every_locale_has_their_characters(pages: dict[str, str]) -> None:
    assert [name for name, page in pages.items() if not page.isascii()] == []


@NEEDS_MAN
def test_the_first_page_leads_to_the_others_and_tells_exit_codes_and_files(pages: dict[str, str]) -> None:
    text = " ".join(printed(pages["motiond.1"]).stdout.split())
    assert "130 interrupted" in text
    assert (
        "/etc/motiond/motiond.yaml The configuration, where neither -c nor $MOTIOND_CONFIG is given." in text
    )
    named = re.findall(r"motiond-[a-z]+(?=\(1\))", text)
    assert "motiond-play" in named
    assert [name for name in named if f"{name}.1" not in pages] == []
