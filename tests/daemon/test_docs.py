"""What the documentation draws and links is what the code does and the checkout holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from motiond.daemon.ipc.states import TRANSITIONS

CHECKOUT = Path(__file__).parents[2]
PAGES = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("docs/**/*.md")])


def test_the_drawn_state_machine_is_the_players() -> None:
    text = (CHECKOUT / "docs" / "architecture.md").read_text()
    drawn = re.findall(r"^ +(\w+) --> (\w+): (\w+)$", text, re.MULTILINE)
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == {(state, after, event) for (state, event), after in TRANSITIONS.items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHECKOUT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)[^):]*\)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_every_page_stands_in_the_index() -> None:
    docs = CHECKOUT / "docs"
    index = (docs / "index.md").read_text()
    pages = [page.relative_to(docs) for page in docs.glob("**/*.md") if "decisions" not in page.parts]
    missing = [str(page) for page in pages if f"({page})" not in index and page.name != "index.md"]
    assert missing == []


def test_modules_that_the_architecture_names_exist() -> None:
    named = re.findall(
        r"`((?:daemon|formats|drivers)/\w+\.py)`", (CHECKOUT / "docs/architecture.md").read_text()
    )
    assert named
    assert [name for name in named if not (CHECKOUT / name).exists()] == []
