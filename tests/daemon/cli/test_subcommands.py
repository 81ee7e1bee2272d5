"""The table of subcommands, by which one is loaded without the others, is what the modules have."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
import typer

from motiond.daemon.api.names import STOPS
from motiond.daemon.api.requests import VERBS
from motiond.daemon.cli.subcommands import SUBCOMMANDS
from motiond.daemon.cli.tree import make_app
from tests.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Mapping

LOADED_BY_STOP = {
    *("broker", "completion", "help", "later", "main"),
    *("output", "request", "robots", "streams", "subcommands", "tree", "words"),
}
PROGRAM = """
import sys
from motiond.daemon.cli.main import main

try:
    main(["stop", "arm", "--broker", "mqtt://127.0.0.1:1"])
except SystemExit as ended:
    print(ended.code, *sys.modules)
"""


@cache
def commands(asked: str | None = None) -> Mapping[str, Any]:
    return commands_of(make_app(asked))


def commands_of(app: typer.Typer) -> Mapping[str, Any]:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    return group.commands


def test_the_table_has_every_subcommand_of_its_modules_and_no_other() -> None:
    found = set()
    for module in {one.module for one in SUBCOMMANDS.values()}:
        root = typer.Typer()
        root.callback()(lambda: None)
        root.add_typer(import_module(f"motiond.daemon.cli.{module}").app)
        found |= {(module, name) for name in commands_of(root)}
    assert found == {(one.module, name) for name, one in SUBCOMMANDS.items()}


def test_the_table_has_their_lines_of_the_help() -> None:
    told = [(name, command.get_short_help_str(1000)) for name, command in commands().items()]
    assert told == [(name, one.told) for name, one in SUBCOMMANDS.items()]


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_a_subcommand_that_is_loaded_alone_is_the_same(name: str) -> None:
    assert list(commands(name)) == [name]
    alone, beside = commands(name)[name], commands()[name]
    assert (alone.help, options_of(alone)) == (beside.help, options_of(beside))


def options_of(command: Any) -> list[object]:
    below = getattr(command, "commands", {})
    return [*((one.name, one.opts) for one in command.params), *map(options_of, below.values())]


def test_a_stop_loads_no_other_subcommand_no_schemas_and_no_tables() -> None:
    command = [sys.executable, "-c", PROGRAM]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    code, *loaded = run.stdout.split()
    assert code == "3"
    assert {name for name in loaded if name.startswith("motiond.daemon.cli.")} == {
        f"motiond.daemon.cli.{name}" for name in LOADED_BY_STOP
    }
    unneeded = {"motiond.daemon.api.schemas", "motiond.daemon.api.requests", "rich.console"}
    assert not set(loaded) & unneeded


def test_clients_know_the_verbs_that_stop() -> None:
    assert {name for name, verb in VERBS.items() if verb.stops} == set(STOPS)
