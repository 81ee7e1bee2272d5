"""What pages and examples import from `motiond.drivers` is public."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md")), *sorted(ROOT.glob("examples/**/*.*"))]
IMPORT = re.compile(r"^\s*from (motiond\.drivers[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
MENTION = re.compile(r"`(motiond\.drivers(?:\.\w+)+)")
FACES = ["motiond.drivers", "motiond.drivers.testing", "motiond.drivers.sim"]


def imported() -> set[tuple[str, str]]:
    """Return the modules and names that pages and examples import."""
    found = set()
    for page in PAGES:
        if page.suffix in {".md", ".py"}:
            for module, in_brackets, in_line in IMPORT.findall(page.read_text(encoding="utf-8")):
                names = (in_brackets or in_line.partition("#")[0]).split(",")
                found |= {(module, name.partition(" as ")[0].strip()) for name in names if name.strip()}
    return found


def mentioned() -> set[str]:
    """Return the dotted names that pages have in backquotes."""
    return {
        name for page in PAGES if page.suffix == ".md" for name in MENTION.findall(page.read_text("utf-8"))
    }


@pytest.mark.parametrize(("module", "name"), sorted(imported()))
def test_what_pages_and_examples_import_is_public(module: str, name: str) -> None:
    face = import_module(module)
    assert getattr(face, name) is not None
    assert name in face.__all__


@pytest.mark.parametrize("name", sorted(mentioned() - set(FACES)))
def test_what_pages_mention_is_there(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert last in import_module(module).__all__
