"""What packages of motiond say of their modules, and what the project requires."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(path.parent for path in ROOT.glob("[df]*/**/__init__.py") if path.parent.name != "tables")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_package_tells_what_each_of_its_modules_is_for(package: Path) -> None:
    """Private and generated names apart; a package's own packages count as its modules."""
    said = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    modules = {path.stem for path in package.glob("*.py")} | {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    untold = {name for name in modules - {"__init__"} if not re.search(rf"(?<!\w){name}(?!\w)", said)}
    assert said.splitlines()[0].endswith(".")
    assert untold == set()


def test_what_is_required_has_what_the_command_line_uses() -> None:
    """An older typer has no `TyperException`, and each mistake on the command line would be a traceback."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        required = tomllib.load(file)["project"]["dependencies"]
    assert "typer>=0.28" in required
