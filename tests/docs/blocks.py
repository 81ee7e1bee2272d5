"""The blocks of code on the pages of the documentation, with what comments in a page's source say of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.docs.readme import MARKS

if TYPE_CHECKING:
    from collections.abc import Callable

CHECKOUT = Path(__file__).parents[2]
PAGES = (
    CHECKOUT / "README.md",
    CHECKOUT / "CONTRIBUTING.md",
    *sorted((CHECKOUT / "docs").glob("**/*.md")),
)
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\n(?P<text>(?:.*\n)*?)(?P=indent)```$", re.MULTILINE)
COMMENT = re.compile(r"<!--\s*(?P<text>.*?)\s*-->\s*\Z", re.DOTALL)
SHELL_COMMENT = re.compile(r"\s+# .*")
# What runs until it is ended, and what it says once others can use it.
STAYS = {
    r"(\.venv/bin/)?motiond demo(?! --config-path)": "Ctrl-C stops softly",
    "make demo": "Ctrl-C stops softly",
    "motiond run": "online",
    "motiond fleet serve": "the page is at",
    "motiond emulate": "/dev/pts/",
    "mosquitto ": "running",
    "mosquitto_sub": "motiond/",
}
MARK = re.compile(r"(?P<kind>[a-z ]+?)(?: `(?P<command>[^`]+)`)?: (?P<text>.+)", re.DOTALL)
KINDS = {
    "run first": "commands that a reader has no need of, such as those that make a file of the reader's own",
    "not run": "why the block is not run, or those of its commands that begin with what is named",
    "on virtual time": "why the block is run by tests/daemon/cli/test_pages.py, and not in a shell",
    "roughly": "why the output that is shown differs in its numbers from run to run",
    "file": "the file of the page's folder that the block is written to",
    "base": "what completes the configuration: `daemon`, `robot`, `driver` or `gravity`",
    "not a configuration": "what the YAML is, and what holds it to that",
}


def without_comment(line: str) -> str:
    """Return a command without the comment behind it."""
    return SHELL_COMMENT.sub("", line)


class BadMark(ValueError):
    """A comment before a block that says nothing that tests know."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a comment before a block says, as in ``<!-- not run `make bench`: it takes a minute -->``."""

    kind: str
    command: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command of a block, and the output that the page shows of it."""

    line: str
    shown: str


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code on a page."""

    page: str
    line: int
    language: str
    text: str
    marks: tuple[Mark, ...]

    @property
    def where(self) -> str:
        """Where it begins."""
        return f"{self.page}:{self.line}"

    def told(self, kind: str) -> list[str]:
        """Return what the marks of a kind say of the whole block."""
        return [mark.text for mark in self.marks if mark.kind == kind and mark.command is None]

    def reason_not_to_run(self, command: Command) -> str | None:
        """Return why a command is not run in a shell, or None if it is."""
        reasons = (
            mark.text
            for mark in self.marks
            if mark.kind in {"not run", "on virtual time"}
            and (mark.command is None or command.line.startswith(mark.command))
        )
        return next(reasons, None)

    def commands(self) -> list[Command]:
        """Return the commands of a block of `sh`, or of `console`, where a `$` is before each."""
        text = self.text.replace("\\\n", "")
        if self.language == "sh":
            return [Command(line, "") for line in text.splitlines() if line and not line.startswith("#")]
        if self.language != "console":
            return []
        parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
        assert not parts[0], f"{self.where}: output before the first command"
        return [Command(*part.partition("\n")[::2]) for part in parts[1:]]


@cache
def blocks_of(page: Path) -> tuple[Block, ...]:
    """Return the blocks of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(CHECKOUT))
    return tuple(_block(name, text, found) for found in FENCE.finditer(text))


def _block(page: str, text: str, found: re.Match[str]) -> Block:
    before = text[: found.start()]
    line = before.count("\n") + 1
    indent = found["indent"]
    body = "".join(one.removeprefix(indent) for one in found["text"].splitlines(keepends=True))
    marks: list[Mark] = []
    while comment := COMMENT.search(
        before[before.rfind("<!--") :] if before.rstrip().endswith("-->") else ""
    ):
        marks.insert(0, _mark(f"{page}:{line}", comment["text"]))
        before = before[: before.rfind("<!--")]
    if page == "README.md":
        marks += [Mark(*mark) for mark in MARKS.get(body.partition("\n")[0], ())]
    return Block(page, line, found["language"], body, tuple(marks))


def _mark(where: str, text: str) -> Mark:
    found = MARK.fullmatch(text)
    if found is None or found["kind"] not in KINDS:
        raise BadMark(f"{where}: comment '{text}' is none of {', '.join(KINDS)}; correct it, or move it away")
    return Mark(found["kind"], found["command"], found["text"])


def unfenced(page: Path) -> list[int]:
    """Return the lines at which code stands that is only indented, so that nothing says what it is."""
    lines = FENCE.sub(lambda fence: "```" + "\n" * fence[0].count("\n"), page.read_text(encoding="utf-8"))
    numbered = list(enumerate(["", *lines.splitlines()]))
    return [
        number
        for (number, line), (_, before) in zip(numbered[1:], numbered, strict=False)
        if line.startswith("    ") and not before.strip()
    ]


def pages_with(holds: Callable[[Block], bool]) -> list[str]:
    """Return the pages that have such a block, by the names that tests show."""
    return [str(page.relative_to(CHECKOUT)) for page in PAGES if any(map(holds, blocks_of(page)))]
