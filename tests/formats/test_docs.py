"""Each format has a page, and each test that its table of clauses names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motiond.formats.registry import MOTIONS, ROBOTS

TESTS = Path(__file__).parent
PAGES = TESTS.parents[1] / "docs" / "formats"
FORMATS = {format_.NAME for kind in (ROBOTS, MOTIONS) for format_ in kind.formats()} | {"mjcf"}
CLAUSES = "\n## The specification's clauses and their tests\n"
NAMED = re.compile(r"`[\w.:]*?(test_\w+)`")


def pages() -> list[str]:
    return sorted(path.stem for path in PAGES.glob("*.md"))


def section(page: str) -> str:
    return (PAGES / f"{page}.md").read_text().split(CLAUSES)[1]


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
    named = {row: NAMED.findall(row.rsplit("|", 2)[1]) for row in rows}
    assert [row for row, tests in named.items() if not tests] == []
    modules = [*TESTS.glob("test_*.py"), *(TESTS / page).glob("test_*.py")]
    defined = set(re.findall(r"^def (test_\w+)\(", "".join(map(Path.read_text, modules)), re.MULTILINE))
    assert {test for tests in named.values() for test in tests} - defined == set()
