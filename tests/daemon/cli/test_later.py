"""A module that is loaded later is the module itself to whoever uses it, and costs nothing until then."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from motiond.daemon.cli.later import load_later

if TYPE_CHECKING:
    from pathlib import Path

NAME = "package_of_this_test.part"
PART = """
LOADED = True
def doubled(number, *, add=0):
    return 2 * number + add
"""


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that is there to be loaded later, with a function that may be imported before."""
    package, _, part = NAME.partition(".")
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / part).mkdir()
    (tmp_path / package / part / "__init__.py").write_text(PART)
    (tmp_path / package / part / "below.py").write_text("from . import LOADED as HEARD")
    monkeypatch.syspath_prepend(tmp_path)
    for name in (package, NAME, f"{NAME}.below"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    load_later(NAME, "doubled")
    return NAME


def is_loaded(name: str) -> bool:
    return "LOADED" in vars(sys.modules[name])


def test_a_function_that_is_imported_by_name_loads_it_when_it_is_called(later: str) -> None:
    doubled = import_module(later).doubled
    assert not is_loaded(later)
    assert doubled(3, add=1) == 7
    assert is_loaded(later)


def test_whatever_else_is_used_of_it_loads_it(later: str) -> None:
    package = import_module(later.partition(".")[0])
    held = import_module(later)
    assert package.part is held
    assert held.LOADED
    assert is_loaded(later)
    assert package.part is import_module(later) is not held
    assert held.LOADED  # whoever had it before goes on


def test_what_lies_below_it_is_found(later: str) -> None:
    assert find_spec(f"{later}.below") is not None
    assert not is_loaded(later)
    assert import_module(f"{later}.below").HEARD
    assert is_loaded(later)


def test_what_it_does_not_have_is_told_as_ever(later: str) -> None:
    with pytest.raises(
        AttributeError, match=r"^module 'package_of_this_test\.part' has no attribute 'none'$"
    ):
        import_module(later).none  # noqa: B018 # that it is asked for is the test


def test_a_module_that_is_there_stays(later: str) -> None:
    there = sys.modules["importlib.metadata"]
    load_later("importlib.metadata")
    assert sys.modules["importlib.metadata"] is there
    assert not is_loaded(later)
