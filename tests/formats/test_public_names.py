"""Every name that the documentation imports is public and can be imported from there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from motiond import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKOUT = Path(__file__).parents[2]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
IMPORT = re.compile(r"^ *from (motiond\.formats[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
TOOL = re.compile(r"`(\w+)\(motions?, [^`]*\)`")


def imported() -> Iterator[tuple[str, str]]:
    """Return module and name of everything that the documentation imports."""
    for page in PAGES:
        for module, listed, line in IMPORT.findall(page.read_text(encoding="utf-8")):
            names = re.findall(r"(\w+)(?: as \w+)?(?:,|\s*$)", listed or line.partition("#")[0])
            assert names, f"{page} imports nothing from {module}"
            yield from ((module, name) for name in names)


@pytest.mark.parametrize(("module", "name"), sorted(set(imported())))
def test_what_the_documentation_imports_is_public(module: str, name: str) -> None:
    found = import_module(module)
    assert name in found.__all__
    assert hasattr(found, name)


def test_the_documentation_imports_from_the_package_alone() -> None:
    assert {module for module, _ in imported()} == {"motiond.formats"}


def test_the_tools_for_motions_are_public() -> None:
    tools = (
        (CHECKOUT / "docs" / "motions.md").read_text(encoding="utf-8").split("## Tools")[1].split("###")[0]
    )
    named = set(TOOL.findall(tools))
    assert {"concatenate", "mirror", "trim"} <= named
    assert named <= set(formats.__all__)
