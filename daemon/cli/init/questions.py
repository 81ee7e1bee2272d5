"""Questions on the terminal: each with a default, and with an option that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

import typer

from motiond.text import printable

from ..output import WRONG_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


class NotAnswered(Exception):
    """The answers ended before the questions did."""

    exit_code: ClassVar[int] = WRONG_INPUT


class Questions:
    """Asks, or with `yes` takes defaults, unless an option answers."""

    def __init__(self, *, yes: bool) -> None:
        self.yes = yes

    def ask(
        self, question: str, default: str, read: Callable[[str], T], option: str, given: str | None = None
    ) -> T:
        """Return an answer as `read` understands it.

        `read` raises `ValueError` for an answer that cannot be, which is then asked for again.

        Raises
        ------
        typer.BadParameter
            If what the option says cannot be.
        NotAnswered
            If standard input ends.
        """

        def checked(text: str) -> T:
            text = text if text == default else text.strip() or default
            if text not in {default, printable(text)}:
                problem = f"'{printable(text)}' cannot be printed as it is; write it otherwise"
                raise typer.BadParameter(problem, param_hint=option)
            try:
                return read(text)
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint=option) from error

        if given is not None or self.yes:
            return checked(default if given is None else given)
        try:
            answer: T = typer.prompt(
                f"{question} [{printable(default)}]", default=default, show_default=False, value_proc=checked
            )
        except typer.Abort as abort:
            if isinstance(abort.__context__, KeyboardInterrupt):
                raise KeyboardInterrupt from abort
            problem, reason = f"no answer to: {question}", "standard input has ended, and nothing is written"
            hint = "answer it, or take all defaults with --yes"
            raise NotAnswered(f"motiond: {problem}; {reason}; {hint}") from abort
        return answer

    def choose(self, question: str, choices: Sequence[str], option: str, given: str | None = None) -> int:
        """Return which of some choices is taken, by its number or as it is written; the first by default."""
        if given is None and not self.yes:
            typer.echo(f"{question}:")
            for number, choice in enumerate(choices, 1):
                typer.echo(f"  {number}  {choice}")

        def read(text: str) -> int:
            if text in choices:
                return choices.index(text)
            if text.isdecimal() and 0 < int(text) <= len(choices):
                return int(text) - 1
            raise ValueError(f"'{text}' is none of them; there are {', '.join(choices)}; choose one")

        return self.ask("number", choices[0], read, option, given)

    def confirm(self, question: str, *, default: bool) -> bool:
        """Return whether somebody agrees."""

        def read(text: str) -> bool:
            if text.lower() not in {"y", "yes", "n", "no"}:
                raise ValueError(f"'{text}' is neither yes nor no; answer y or n")
            return text.lower() in {"y", "yes"}

        return self.ask(f"{question} (y/n)", "y" if default else "n", read, "--yes")
