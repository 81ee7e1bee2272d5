"""Questions to whoever sits at the terminal: each with a default, and with an option that answers it.

Exception
└── NotAnswered      the answers ended before the questions did
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, TypeVar

import typer

from motiond.text import printable

from ..output import WRONG_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

LONGEST_ANSWER = 4096
YES, NO = frozenset({"y", "yes"}), frozenset({"n", "no"})


class NotAnswered(Exception):
    """The answers ended before the questions did."""

    exit_code: ClassVar[int] = WRONG_INPUT


class Questions:
    """Asks, or takes what options say, or defaults.

    Parameters
    ----------
    takes_defaults : bool
        Whether nobody is asked.
    """

    def __init__(self, *, takes_defaults: bool) -> None:
        self.takes_defaults = takes_defaults

    def ask(
        self, question: str, default: str, read: Callable[[str], T], *, option: str, given: str | None = None
    ) -> T:
        """Return an answer as `read` understands it.

        Parameters
        ----------
        read : callable
            Raises `ValueError` with the reason for an answer that cannot be; then it is asked for again.
        option : str
            That answers the question on the command line.
        given : str or None
            What it says.

        Raises
        ------
        typer.BadParameter
            If what the option says cannot be.
        NotAnswered
            If standard input ends.
        """
        if given is not None or self.takes_defaults:
            try:
                return read(default if given is None else _plain(given))
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint=option) from error
        while True:
            try:
                return read(self._answer(question, default))
            except ValueError as error:
                typer.echo(f"  {error}")

    def choose(
        self,
        question: str,
        choices: Sequence[str],
        *,
        option: str,
        given: str | None = None,
        default: int = 0,
    ) -> int:
        """Return which of some choices is taken, by its number or as it is written."""
        if given is None and not self.takes_defaults:
            typer.echo(f"{question}:")
            for number, choice in enumerate(choices, 1):
                typer.echo(f"  {number}  {choice}")
            question = "number"

        def read(text: str) -> int:
            if text in choices:
                return choices.index(text)
            if given is None and text.isdecimal() and 0 < int(text) <= len(choices):
                return int(text) - 1
            raise ValueError(f"'{text}' is none of them; there are {', '.join(choices)}; choose one")

        return self.ask(question, choices[default], read, option=option, given=given)

    def confirm(self, question: str, *, default: bool) -> bool:
        """Return whether somebody agrees."""

        def read(text: str) -> bool:
            if text.lower() not in YES | NO:
                raise ValueError(f"'{text}' is neither yes nor no; answer y or n")
            return text.lower() in YES

        return self.ask(f"{question} (y/n)", "y" if default else "n", read, option="--yes")

    def _answer(self, question: str, default: str) -> str:
        """Read a line from standard input."""
        try:
            answer = input(f"{question} [{printable(default)}]: ").strip()
        except EOFError as error:
            typer.echo()
            problem, reason = f"no answer to: {question}", "standard input has ended"
            hint = "answer it, or take all defaults with --yes"
            raise NotAnswered(f"motiond: {problem}; {reason}, and nothing is written; {hint}") from error
        except UnicodeDecodeError as error:
            raise ValueError("this is no UTF-8; write it otherwise") from error
        return _plain(answer) or default


def _plain(answer: str) -> str:
    """Refuse what cannot be meant, before it is looked at."""
    if len(answer) > LONGEST_ANSWER:
        raise ValueError(f"this has {len(answer)} characters; an answer has at most {LONGEST_ANSWER}")
    if answer != printable(answer):
        raise ValueError(f"'{printable(answer)}' cannot be printed as it is; write it otherwise")
    return answer
