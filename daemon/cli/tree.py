"""Puts subcommands together for typer: all of them, or the one that is asked for."""

from importlib import import_module
from typing import Annotated

import typer

from .subcommands import EPILOG, HELP, SUBCOMMANDS


def _print_version(*, wanted: bool) -> None:
    if wanted:
        from ..doctor.own_version import own_version

        typer.echo(f"motiond {own_version()}")
        raise typer.Exit


def _options(
    *,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Tell the version.")
    ] = False,
) -> None:
    pass


def make_app(asked: str | None = None) -> typer.Typer:
    """Return the command line.

    Parameters
    ----------
    asked : str, optional
        The subcommand to load, of `SUBCOMMANDS`; all of them where there is none, for what lists or guesses.
    """
    app = typer.Typer(
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help=HELP,
        epilog=EPILOG,
    )
    app.callback()(_options)
    modules = {one.module for name, one in SUBCOMMANDS.items() if asked in {None, name}}
    found = {module: import_module(f".{module}", __package__).app for module in sorted(modules)}
    for name, one in SUBCOMMANDS.items():
        if asked in {None, name}:
            app.add_typer(_alone(found[one.module], name))
    return app


def _alone(app: typer.Typer, name: str) -> typer.Typer:
    """Return one subcommand of a module's, so that typer looks at the options of no other."""
    alone = typer.Typer()
    alone.registered_commands = [
        one
        for one in app.registered_commands
        if one.callback is not None and (one.name or one.callback.__name__) == name
    ]
    alone.registered_groups = [
        one
        for one in app.registered_groups
        if one.name == name or (one.typer_instance is not None and one.typer_instance.info.name == name)
    ]
    return alone
