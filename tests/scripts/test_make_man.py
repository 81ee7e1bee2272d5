"""The manual pages: one for each subcommand, with all of its options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import typer
import typer.main

from motiond.daemon.cli.app import app
from scripts.make_man import manual

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def test_every_subcommand_has_a_page_with_each_of_its_options(pages: dict[str, str]) -> None:
    every = dict(commands("motiond", typer.main.get_command(app)))
    assert {"motiond play", "motiond fleet play", "motiond config example"} <= every.keys()
    for name, command in every.items():
        page = pages[f"{name.replace(' ', '-')}.1"].replace(r"\-", "-")
        options = [option for one in command.params for option in one.opts if option.startswith("-")]
        assert [option for option in options if not re.search(rf"(?m)^\\fB.*{option}\b", page)] == []


def test_pages_are_ascii_so_that_every_locale_has_their_characters(pages: dict[str, str]) -> None:
    assert [name for name, page in pages.items() if not page.isascii()] == []
