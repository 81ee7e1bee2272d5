"""Writes the manual pages into a folder, from what `--help` tells: `make_man.py FOLDER`.

motiond(1) lists the subcommands, and each has a page of its own, such as motiond-fleet-play(1).
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import typer.main

from motiond.daemon.cli.app import app

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typer.core import TyperCommand, TyperGroup

    Command = TyperCommand | TyperGroup

PROGRAM = "motiond"
ENVIRONMENT = {
    "MOTIOND_CONFIG": "The configuration, where no -c is given.",
    "MOTIOND_BROKER": "The broker to ask at, unless -c is given. A password may stand in it.",
}
FILES = {
    "/etc/motiond/motiond.yaml": "The configuration, where neither -c nor $MOTIOND_CONFIG is given.",
    "/etc/default/motiond": "Settings of motiond.service.",
}


def manual() -> dict[str, str]:
    """Return each page's file name and its text."""
    command: Any = typer.main.get_command(app)
    return {f"{name.replace(' ', '-')}.1": page for name, page in _pages(PROGRAM, command)}


def _pages(name: str, command: Command) -> Iterator[tuple[str, str]]:
    yield name, "\n".join(_page(name, command)) + "\n"
    for word, below in _subcommands(command).items():
        yield from _pages(f"{name} {word}", below)


def _subcommands(command: Command) -> dict[str, Command]:
    return getattr(command, "commands", {})


def _page(name: str, command: Command) -> Iterator[str]:
    """Yield the lines of a page, in the macros of man(7)."""
    context = typer.Context(command, info_name=name)
    title, told = name.replace(" ", "-"), _told(command)
    yield f'.TH {_text(title.upper())} 1 "" "motiond {version(PROGRAM)}" "User Commands"'
    yield from (".SH NAME", rf"{_text(title)} \- {_text(told[:1].lower() + told[1:].rstrip('.'))}")
    usage = " ".join(command.collect_usage_pieces(context)).replace("{", "").replace("}", "").upper()
    yield from (".SH SYNOPSIS", rf"\fB{_text(name)}\fR {_text(usage)}")
    yield from (".SH DESCRIPTION", _text(told))
    records = [record for one in command.params if (record := one.get_help_record(context))]
    yield from _list("ARGUMENTS AND OPTIONS", records)
    subcommands = _subcommands(command)
    yield from _list("COMMANDS", ((f"{name} {word}", _told(one)) for word, one in subcommands.items()))
    if name == PROGRAM:
        yield from (".SH EXIT STATUS", _text(command.epilog or ""))
        yield from _list("ENVIRONMENT", ENVIRONMENT.items())
        yield from _list("FILES", FILES.items())
    near = [f"{name} {word}" for word in subcommands] or [name.rpartition(" ")[0]]
    yield from (".SH SEE ALSO", ", ".join(rf"\fB{_text(one.replace(' ', '-'))}\fR(1)" for one in near))


def _told(command: Command) -> str:
    return " ".join((command.help or "").split())


def _list(title: str, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for number, (term, text) in enumerate(entries):
        if not number:
            yield f".SH {title}"
        yield from (".TP", rf"\fB{_text(term)}\fR", _text(text))


def _text(text: str) -> str:
    """Return a text as troff prints it: options keep their hyphens, and no line is a macro by chance.

    What ASCII lacks is written as each device can show it, as manuals are read in any locale.
    """
    escaped = text.replace("\\", r"\e").replace("-", r"\-").replace("'", r"\(aq").replace("`", r"\(ga")
    escaped = escaped.replace("…", r"\&...").replace("µ", r"\(mc")
    return rf"\&{escaped}" if escaped.startswith(".") else escaped


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, page in manual().items():
        (folder / file).write_text(page, encoding="utf-8")
