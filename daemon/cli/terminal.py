"""A terminal as a program with keys uses it: each key at once, and all as it was afterwards.

Exception
└── NoTerminal       there is none, or one that cannot place text
"""

from __future__ import annotations

import os
import sys
import termios
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, ClassVar

from .output import WRONG_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_AT_ONCE = 1024
SEQUENCE_S = 0.1
"""The bytes of one key come within so long; what is left of a sequence then was another key."""
SEQUENCES = {b"\x1b[Z": "back", b"\x1b[C": "next", b"\x1b[D": "back", b"\x1bOC": "next", b"\x1bOD": "back"}
OTHER = "other"
NAMED = {0x09: "next", 0x0A: "enter", 0x0D: "enter", 0x04: "end"}
"""Enter, and Ctrl-D, which ends what is typed."""
_ESCAPE = 0x1B
_LFLAG, _IFLAG, _CC = 3, 0, 6


class NoTerminal(Exception):
    """There is none, or one that cannot place text."""

    exit_code: ClassVar[int] = WRONG_INPUT


def refuse_no_terminal(problem: str, instead: str) -> None:
    """Raise `NoTerminal` unless keys can be read, and text be placed."""
    for stream, name in ((sys.stdin, "standard input"), (sys.stdout, "standard output")):
        if not stream.isatty():
            raise NoTerminal(f"motiond: {problem} needs a terminal; {name} is none; use {instead}")
    if os.environ.get("TERM", "") in {"", "dumb", "unknown"}:
        term = os.environ.get("TERM") or "not set"
        reason = f"TERM is {term}, and such a terminal cannot place text"
        raise NoTerminal(f"motiond: {problem} needs a terminal; {reason}; use {instead}, or set TERM")


@contextmanager
def raw_keys(descriptor: int) -> Iterator[None]:
    """Have each key come at once and unseen, as long as the context lasts; Ctrl-C still interrupts.

    Ctrl-S and Ctrl-Z are keys as others are: a view of a robot must not freeze, nor leave its terminal as it
    is now to a shell.
    """
    before = termios.tcgetattr(descriptor)
    wanted = termios.tcgetattr(descriptor)
    wanted[_LFLAG] &= ~(termios.ICANON | termios.ECHO)
    wanted[_IFLAG] &= ~(termios.IXON | termios.IXOFF)
    wanted[_CC] = [*wanted[_CC]]
    for number in (termios.VSUSP, termios.VQUIT):
        wanted[_CC][number] = b"\0"
    wanted[_CC][termios.VMIN], wanted[_CC][termios.VTIME] = 1, 0
    termios.tcsetattr(descriptor, termios.TCSADRAIN, wanted)
    try:
        yield
    finally:
        with suppress(termios.error):  # the terminal may be gone
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


class Keys:
    """Takes keys out of the bytes of a terminal: ASCII, `next`, `back`, `enter`, `end`, and `other`.

    What a terminal sends for any other key is one `other`, so that no letter in it counts as a key.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._rest = b""
        self._rest_s = 0.0

    def take(self, data: bytes) -> list[str]:
        """Return the keys that are complete now."""
        if self._rest and self._now() - self._rest_s > SEQUENCE_S:
            self._rest = b""
        data, self._rest = self._rest + data, b""
        keys: list[str] = []
        while data:
            if data[0] != _ESCAPE:
                keys += _plain_key(data[0])
                data = data[1:]
                continue
            length = _length_of_sequence(data)
            if length is None:
                self._rest, self._rest_s = data, self._now()
                break
            keys.append(SEQUENCES.get(data[:length], OTHER))
            data = data[length:]
        return keys


def _plain_key(byte: int) -> list[str]:
    """Return the key that begins with a byte; none for a byte in the midst of a character of UTF-8."""
    if byte in NAMED:
        return [NAMED[byte]]
    if 0x20 <= byte < 0x7F:
        return [chr(byte)]
    return [] if 0x80 <= byte < 0xC0 else [OTHER]


def _length_of_sequence(data: bytes) -> int | None:
    """Return how long the escape sequence is with which the bytes begin; None while it is incomplete."""
    if len(data) == 1:
        return None
    if data[1:2] == b"O":
        return 3 if len(data) > 2 else None
    if data[1:2] != b"[":
        return 1  # Escape by itself, and another key after it
    return next((end + 1 for end in range(2, len(data)) if 0x40 <= data[end] < 0x7F), None)
