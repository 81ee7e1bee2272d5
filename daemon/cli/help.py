"""The list of subcommands as typer writes it, without typer: `motiond --help` is there at once.

What is unusual about the terminal, or asked for by the environment, is left to typer.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from .subcommands import EPILOG, HELP, SUBCOMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NARROWEST, DEFAULT_WIDTH = 60, 80
OPTIONS = {"--version": "Tell the version.", "--help": "Show this message and exit."}
# By these, people and programs change how typer and rich write, or whether in colours.
SPECIAL = (
    *("FORCE_COLOR", "NO_COLOR", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "GITHUB_ACTIONS"),
    *("TERMINAL_WIDTH", "JUPYTER_COLUMNS", "DATABRICKS_RUNTIME_VERSION", "_TYPER_FORCE_DISABLE_TERMINAL"),
)
BOLD, DIM, TITLE, NAME, BRACKET = "1", "2", "1;33", "1;36", "1;2;33"


def quick_help(
    environment: Mapping[str, str] | None = None, stream: TextIO | None = None, width: int | None = None
) -> str | None:
    """Return the page, or None where typer is to write it.

    Parameters
    ----------
    environment, stream, width
        Of the process by default: its variables, stdout, and how wide its terminal is.
    """
    environment = os.environ if environment is None else environment
    stream = sys.stdout if stream is None else stream
    width = width or _width(environment)
    coloured = stream.isatty()
    is_known = not coloured or environment.get("TERM", "").lower() not in {"", "dumb", "unknown"}
    is_ordinary = is_known and stream.encoding.lower() == "utf-8" and not any(map(environment.get, SPECIAL))
    return _Page(width, coloured=coloured).text() if is_ordinary and width >= NARROWEST else None


def _width(environment: Mapping[str, str]) -> int:
    """Return how wide rich finds the terminal."""
    if (columns := environment.get("COLUMNS", "")).isdigit():
        return int(columns)
    for descriptor in range(3):
        with suppress(OSError):
            return os.get_terminal_size(descriptor).columns or DEFAULT_WIDTH
    return DEFAULT_WIDTH


class _Page:
    """The page for a width, with or without colours."""

    def __init__(self, width: int, *, coloured: bool) -> None:
        self._width = width
        self._coloured = coloured

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        usage = "motiond [OPTIONS] COMMAND [ARGS]..."
        yield from self._plain("")
        yield f" {self._in(TITLE, 'Usage: ')}{self._in(BOLD, usage)}{'':{self._width - len(usage) - 8}}"
        yield from self._plain("", HELP, "")
        kind = f"{self._in(BRACKET, '<')}{self._in(TITLE, 'bool')}{self._in(BRACKET, '>')}"
        yield from self._panel("Options", OPTIONS, f"{'':8}{kind}", 14)
        yield from self._panel("Commands", {name: one.told for name, one in SUBCOMMANDS.items()}, "", 0)
        yield from self._plain("", *_wrapped(EPILOG, self._width - 2), "")
        yield ""

    def _plain(self, *lines: str) -> Iterator[str]:
        for line in lines:
            yield f" {line}".ljust(self._width)

    def _panel(self, title: str, rows: Mapping[str, str], kind: str, kind_width: int) -> Iterator[str]:
        """Yield a frame around names, each with its kind and what is told of it."""
        edge, widest = self._in(DIM, "│"), max(map(len, rows))
        room = self._width - widest - kind_width - 6
        yield self._in(DIM, f"╭─ {title} {'─' * (self._width - len(title) - 5)}╮")
        for name, told in rows.items():
            lead = f"{self._in(NAME, name)}{'':{widest - len(name)}}{kind}"
            for line in _wrapped(told, room):
                shown = " ".join(map(self._word, line.split(" ")))
                yield f"{edge} {lead}  {shown}{'':{room - len(line)}} {edge}"
                lead = " " * (widest + kind_width)
        yield self._in(DIM, f"╰{'─' * (self._width - 2)}╯")

    def _word(self, word: str) -> str:
        """Show an option as such."""
        if not word.startswith("--"):
            return word
        option = word.rstrip(",.;:")
        return self._in(NAME, option) + word[len(option) :]

    def _in(self, style: str, text: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self._coloured else text


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text of words that are shorter than a line."""
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width:
            yield line
            line = word
        else:
            line = f"{line} {word}" if line else word
    yield line
