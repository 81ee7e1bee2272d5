"""The table of subcommands, by which one is loaded without the others, is what the modules have."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
import typer

from motiond.daemon.api.names import STOPS
from motiond.daemon.api.requests import VERBS
from motiond.daemon.cli.subcommands import SUBCOMMANDS
from motiond.daemon.cli.tree import make_app

if TYPE_CHECKING:
    from collections.abc import Mapping


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


def test_clients_know_the_verbs_that_stop() -> None:
    assert {name for name, verb in VERBS.items() if verb.stops} == set(STOPS)
