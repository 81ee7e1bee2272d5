"""What the daemon and its stream processes import before they do anything, as their sources say.

What a module imports inside a function is loaded when that is called, and not before.
"""

from __future__ import annotations

import ast
from importlib.util import resolve_name
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
RUN = "motiond.daemon.cli.run"
HTTP = {"aiohttp", "prometheus_client", "motiond.daemon.http.application", "motiond.daemon.http.endpoint"}
SELDOM = {"matplotlib", "watchfiles", "rich", "motiond.daemon.tools", "motiond.daemon.doctor"}
REAL_TIME_DOES_WITHOUT = {
    "asyncio",
    "aiohttp",
    "aiomqtt",
    "lxml",
    "paho",
    "yaml",
    "motiond.formats.reading",
    "motiond.daemon.config",
}


def source_of(module: str) -> Path | None:
    """Return where a module of ours is; None where it is not ours, or no module."""
    path = ROOT.joinpath(*module.split("."))
    places = (path / "__init__.py", path.with_suffix(".py"))
    return (
        next((place for place in places if place.is_file()), None) if module.startswith("motiond") else None
    )


def imported(module: str, tree: ast.AST) -> Iterator[str]:
    """Yield what statements import when they run: not in functions, and not for type checks alone."""
    for statement in ast.iter_child_nodes(tree):
        match statement:
            case ast.Import():
                yield from (alias.name for alias in statement.names)
            case ast.ImportFrom():
                source = source_of(module)
                package = module if source and source.stem == "__init__" else module.rpartition(".")[0]
                base = resolve_name("." * statement.level + (statement.module or ""), package)
                yield base
                yield from (f"{base}.{alias.name}" for alias in statement.names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                pass
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                pass
            case _:
                yield from imported(module, statement)


def loaded_by(*modules: str) -> set[str]:
    """Return what importing some modules loads: ours, and of others those that ours name."""
    loaded: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        parts = module.split(".")
        for name in (".".join(parts[:end]) for end in range(1, len(parts) + 1)):
            if name in loaded:
                continue
            if source := source_of(name):
                loaded.add(name)
                waiting += imported(name, ast.parse(source.read_bytes()))
            elif not name.startswith("motiond"):
                loaded.add(name)
    return loaded


def named_in_run() -> list[str]:
    """Return what `motiond run` imports, also inside its function."""
    source = source_of(RUN)
    assert source is not None
    (run,) = (
        node
        for node in ast.parse(source.read_bytes()).body
        if isinstance(node, ast.FunctionDef) and node.name == "run"
    )
    body = ast.Module(run.body, [])
    return [RUN, *imported(RUN, body)]


@pytest.fixture(scope="module")
def daemon() -> set[str]:
    """What is loaded when the robots begin."""
    return loaded_by(*named_in_run(), "motiond.daemon.http")


@pytest.fixture(scope="module")
def stream() -> set[str]:
    """What a stream process has loaded, with the driver of simulated actuators."""
    return loaded_by("motiond.daemon.stream.__main__", "motiond.drivers.sim.driver")


def test_the_daemon_loads_no_http_before_its_robots_begin(daemon: set[str]) -> None:
    assert daemon & HTTP == set()


def test_the_daemon_loads_nothing_of_a_page_that_is_off() -> None:
    assert [name for name in loaded_by(*named_in_run()) if name.startswith("motiond.daemon.http.")] == []


def test_where_nobody_scrapes_the_library_for_it_is_not_loaded() -> None:
    serving = loaded_by("motiond.daemon.http.endpoint", "motiond.daemon.http.application")
    assert serving & HTTP == HTTP - {"prometheus_client"}


def test_the_daemon_loads_nothing_that_it_seldom_needs(daemon: set[str]) -> None:
    assert daemon & SELDOM == set()


def test_the_daemon_loads_what_it_begins_with(daemon: set[str]) -> None:
    """The walk has found the daemon: else it would find nothing else, either."""
    assert daemon >= {"aiomqtt", "numpy", "motiond.daemon.mqtt.bridge.bridge", "motiond.daemon.robots.robot"}


def test_a_stream_process_loads_what_it_drives_with_alone(stream: set[str]) -> None:
    assert stream & REAL_TIME_DOES_WITHOUT == set()


def test_a_stream_process_loads_its_loop(stream: set[str]) -> None:
    """The walk has found the stream: else it would find nothing else, either."""
    assert stream >= {"numpy", "motiond.daemon.stream.engine.loop", "motiond.drivers.sim.plant"}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import os", ["os"]),
        ("from ..config import robot", ["motiond.daemon.config", "motiond.daemon.config.robot"]),
        ("try:\n    import os\nexcept ImportError:\n    pass", ["os"]),
        ("class Late:\n    import os", ["os"]),
        ("def late():\n    import os", []),
        ("async def late():\n    import os", []),
        ("if TYPE_CHECKING:\n    import os", []),
    ],
)
def test_imports_count_where_loading_a_module_runs_them(source: str, names: list[str]) -> None:
    assert list(imported("motiond.daemon.service.daemon", ast.parse(source))) == names


def test_no_module_loads_mujoco_before_it_is_used() -> None:
    places = [
        path
        for folder in ("daemon", "drivers", "formats", "client")
        for path in (ROOT / folder).rglob("*.py")
    ]
    modules = [f"motiond.{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}" for path in places]
    assert "motiond.daemon.physics.extra" in modules
    assert "mujoco" not in loaded_by(*modules)
