"""The list of subcommands that is written without typer looks as typer writes it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text
from typer import rich_utils

from motiond.daemon.cli.help import SPECIAL, quick_help
from motiond.daemon.cli.tree import make_app
from tests.daemon.programs import run_here

pytestmark = pytest.mark.slow

TERMINAL = {"TERM": "xterm-256color"}


class Stream(io.StringIO):
    """A stdout that may be a terminal, of any encoding."""

    def __init__(self, *, is_terminal: bool = False, encoding: str = "utf-8") -> None:
        super().__init__()
        self._is_terminal, self._encoding = is_terminal, encoding

    def isatty(self) -> bool:
        return self._is_terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding


def by_typer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, *, coloured: bool
) -> str:
    monkeypatch.setattr(rich_utils, "MAX_WIDTH", width)
    monkeypatch.setattr(rich_utils, "FORCE_TERMINAL", coloured)
    monkeypatch.setattr(rich_utils, "COLOR_SYSTEM", "256" if coloured else None)
    with pytest.raises(SystemExit):
        make_app()(["--help"], prog_name="motiond")
    return capsys.readouterr().out


def looks(page: str) -> list[tuple[str, str]]:
    """Return each character that is seen with how it looks."""
    shown = []
    for line in page.splitlines():
        text = Text.from_ansi(line)
        for place, letter in enumerate(text.plain):
            style = text.get_style_at_offset(Console(), place)
            shown.append((letter, "" if letter == " " else str(style)))
        shown.append(("\n", ""))
    return shown


@pytest.mark.parametrize("width", [60, 80, 81, 132])
@pytest.mark.parametrize("coloured", [False, True])
def test_it_looks_as_typer_writes_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, *, coloured: bool
) -> None:
    page = quick_help(TERMINAL, Stream(is_terminal=coloured), width)
    assert page is not None
    assert ("\x1b" in page) is coloured
    assert looks(page) == looks(by_typer(capsys, monkeypatch, width, coloured=coloured))


@pytest.mark.parametrize("name", SPECIAL)
def test_who_asks_for_another_look_gets_typers(name: str) -> None:
    assert quick_help({**TERMINAL, name: "1"}, Stream(), 80) is None


def test_an_unusual_terminal_gets_typers() -> None:
    assert quick_help(TERMINAL, Stream(), 59) is None
    assert quick_help(TERMINAL, Stream(encoding="ascii"), 80) is None
    for term in ("", "dumb", "unknown"):
        assert quick_help({"TERM": term}, Stream(is_terminal=True), 80) is None
        assert quick_help({"TERM": term}, Stream(), 80) is not None


def test_the_variable_for_columns_says_how_wide_it_is() -> None:
    page = quick_help({"COLUMNS": "100"}, Stream())
    assert page is not None
    assert {len(line) for line in page.splitlines()} == {100, 0}


def test_help_of_a_subcommand_is_typers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run_here(capsys, "stop", "--help")
    assert (code, err) == (0, "")
    assert "Usage: motiond stop [OPTIONS] " in out
