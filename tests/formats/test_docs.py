"""Each format has a page, and each test that its table of clauses names exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond.formats.registry import MOTIONS, ROBOTS

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent
PAGES = TESTS.parents[1] / "docs" / "formats"
FORMATS = {format_.NAME for kind in (ROBOTS, MOTIONS) for format_ in kind.formats()}
CLAUSES = "\n## The specification's clauses and their tests\n"
# `test_x.py::test_y`, `::test_y` of the same module, or `test_y` after a word that stands for a module.
NAMED = re.compile(
    r"`(?:(?P<module>test_\w+\.py))?::(?P<test>test_\w+)`|`(?P<bare>test_\w+)`|(?P<word>\w+): `"
)


def pages() -> list[str]:
    return sorted(path.stem for path in PAGES.glob("*.md"))


def section(page: str) -> str:
    return (PAGES / f"{page}.md").read_text().split(CLAUSES)[1]


def named_tests(page: str, cell: str) -> Iterator[tuple[str, str]]:
    """Return module and name of each test that a cell of a page's table names."""
    words = dict(re.findall(r"`(\w+)` stands for `(test_\w+\.py)`", section(page)))
    words |= dict(re.findall(r"`(\w+)` for `(test_\w+\.py)`", section(page)))
    module = ""
    position = 0
    while found := NAMED.search(cell, position):
        if found["word"]:
            module, position = words[found["word"]], found.end() - 1
            continue
        module, position = found["module"] or module, found.end()
        yield module, found["test"] or found["bare"]


def test_every_format_has_a_page() -> None:
    assert set(pages()) == FORMATS


@pytest.mark.parametrize("page", pages())
def test_a_page_tells_what_is_read_refused_and_written(page: str) -> None:
    text = (PAGES / f"{page}.md").read_text()
    assert re.search(r"\n## What (is read|becomes what)\n", text)
    assert "\n## What is refused\n" in text
    assert re.search(r"\n## What is written\n|\nNothing writes ", text)
    assert "\n```" in text


@pytest.mark.parametrize("page", pages())
def test_every_clause_names_tests_and_every_test_is_one(page: str) -> None:
    rows = [line for line in section(page).splitlines() if line.startswith("| ")][2:]
    named = {row: list(named_tests(page, row.rsplit("|", 2)[1])) for row in rows}
    assert [row for row, tests in named.items() if not tests] == []
    missing = [
        (module, test)
        for tests in named.values()
        for module, test in tests
        if not re.search(rf"^(?:async )?def {test}\(", (TESTS / page / module).read_text(), re.MULTILINE)
    ]
    assert missing == []
