"""What `docs/architecture.md` says of the code is so: its modules, names and floors."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from fuzz.readers import READERS
from motiond.drivers.registry import OWN
from motiond.formats.registry import MOTIONS, ROBOTS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
WALKS = ("A play request", "A setpoint", "A feedback sample", "A file path")
MODULE = re.compile(r"`([\w/]+\.py)`")
NAMED = re.compile(r"`([\w/]+\.py)`((?:,? `[\w.]+`)+)")  # a module, and right after it names in it


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    """Return the cells of each row of a table, without those of its head."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def named(text: str) -> list[tuple[str, str]]:
    """Return each name in backquotes that stands right after a module, with that module."""
    return [
        (module, name)
        for module, names in NAMED.findall(text)
        for name in re.findall(r"`([\w.]+)`", names)
        if "NAME" not in module
    ]


@cache
def defined_in(module: str) -> set[str]:
    """Return the functions, classes and variables of a module, and those of its classes after `Class.`."""
    file = ROOT / module
    return set(_names(ast.parse(file.read_text(encoding="utf-8")).body)) if file.is_file() else set()


def _names(body: list[ast.stmt]) -> list[str]:
    names = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.ClassDef):
            names += [node.name, *(f"{node.name}.{name}" for name in _names(node.body))]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return names


def test_modules_that_are_named_exist() -> None:
    modules = set(MODULE.findall(PAGE))
    assert len(modules) > 50
    assert [name for name in sorted(modules) if "NAME" not in name and not (ROOT / name).is_file()] == []


def test_names_are_defined_in_the_modules_that_they_stand_after() -> None:
    names = sorted(set(named(PAGE)))
    assert len(names) > 80
    assert [(module, name) for module, name in names if name not in defined_in(module)] == []


@pytest.mark.parametrize("walk", WALKS)
def test_each_step_of_a_walk_names_functions_of_a_module(walk: str) -> None:
    steps = rows(section(walk))
    assert len(steps) > 10
    assert [step for step in steps if not NAMED.fullmatch(step[0])] == []


# -- floors -------------------------------------------------------------------------------------------------


def floors() -> list[set[str]]:
    """Return the packages of each floor, from the top; the one apart comes first, as nobody imports it."""
    table = rows(section("Floors of `daemon`"))
    *floors, apart = [set(re.findall(r"(?:^|· )`(\w+)`: ", packages)) for _, packages in table]
    return [apart, *floors]


def test_every_package_of_the_daemon_has_one_floor() -> None:
    told = [package for floor in floors() for package in floor]
    assert sorted(told) == sorted(path.parent.name for path in (ROOT / "daemon").glob("*/__init__.py"))


def test_the_floors_are_those_that_are_checked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (contract,) = (one for one in contracts if one.get("containers") == ["motiond.daemon"])
    layers = [set(layer.split(" | ")) for layer in contract["layers"]]
    assert layers == floors()


# -- what a newcomer may forget -----------------------------------------------------------------------------


def test_every_format_is_fuzzed() -> None:
    assert set(READERS) == {format_.NAME for kind in (ROBOTS, MOTIONS) for format_ in kind.formats()}


@pytest.mark.parametrize("driver", OWN)
def test_every_driver_is_held_to_the_contract_and_has_a_page(driver: str) -> None:
    suite = (ROOT / "tests" / "contract" / f"test_{driver}.py").read_text(encoding="utf-8")
    assert re.search(r"^class Test\w+\((?:Driver|Serial)Contract\):", suite, re.MULTILINE)
    section = f"\n## `{driver}`\n" in (ROOT / "docs" / "drivers.md").read_text(encoding="utf-8")
    assert section or (ROOT / "docs" / f"{driver}.md").is_file()


def test_tests_that_need_python_alone_import_nothing_of_those_of_the_system() -> None:
    tests = ROOT / "tests"
    files = [file for file in tests.rglob("*.py") if file.relative_to(tests).parts[0] != "system"]
    assert len(files) > 200
    reaching = [
        str(file.relative_to(ROOT))
        for file in files
        if re.search(r"^\s*(from|import) tests\.system\b", file.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert reaching == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for type checkers count."""
    graph = grimp.build_graph("motiond")
    modules = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(modules) > 200
    TopologicalSorter(modules).prepare()  # raises CycleError, which tells the circle
