"""Texts from outside as messages show them: printable, short, in lists that end; and the nearest known word.

Nothing heavy is imported here: a stop of the command line needs it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from decimal import ROUND_FLOOR, Context
from difflib import SequenceMatcher, get_close_matches
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

# A value from a file is echoed so far: enough to find it.
LONGEST_VALUE = 60
MOST_LISTED, LONGEST_LISTED = 20, LONGEST_VALUE
# A guess may take milliseconds: comparing two names takes cubic time where they repeat few letters.
MOST_COUNTED, MOST_COMPARED, LONGEST_COMPARED = 500, 12, 50
LEAST_ALIKE = 0.5

# What acts on a terminal or ends a line, texts that change the direction of others, and half characters,
# which stand for bytes that are no UTF-8.
_UNPRINTABLE = re.compile("[\0-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What messages quote, longer than it may be; a quote that something follows at once is a part of the value.
_QUOTED = re.compile(
    rf"""(?<![^\s(\[=])(?P<quote>['"])"""
    rf"""(?P<text>(?:(?!(?P=quote)(?![^\s;,.:)])).){{{LONGEST_VALUE + 1},}})(?P=quote)"""
    rf"""|<(?P<tag>[^<>\s]{{{LONGEST_VALUE + 1},}})>""",
    re.DOTALL,
)


def printable(text: str) -> str:
    """Return a text as it can go to a log, a terminal and JSON; the same where it can already.

    Control characters become escapes in hexadecimal, and so do the bytes of a file name that are no UTF-8.
    """
    return _UNPRINTABLE.sub(_escaped, text)


def quoted_briefly(message: str) -> str:
    """Return a message of one line or more in which what it quotes is cut, as it is in those of files."""
    return "\n".join(with_short_quotes(line) for line in message.split("\n"))


def with_short_quotes(text: str) -> str:
    """Return a text in which everything quoted is cut where it is long."""
    return _QUOTED.sub(_short_quote, text)


def _short_quote(found: re.Match[str]) -> str:
    if found["tag"]:
        return f"<{echoed(found['tag'])}>"
    text: str = found["text"]
    if not (text.startswith("/") and max(map(len, text.split("/"))) <= LONGEST_VALUE):
        text = echoed(text)
    return f"{found['quote']}{text}{found['quote']}"


def echoed(value: str) -> str:
    """Return a value from a file as messages echo it: where it is long, its first sixty characters."""
    return shortened(value, LONGEST_VALUE)


def quoted(value: str) -> str:
    """Return a value from a file in quotes, as messages echo it."""
    return repr(echoed(value))


def shortened(text: str, longest: int) -> str:
    """Return a text, cut where it has more characters than that."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # the byte for which Python's names of files have it
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def listed(
    names: Collection[str], quote: str = "", more: int = 0, longest: int | None = LONGEST_LISTED
) -> str:
    """Return names as a message lists them: `a, b, c`, no more than twenty, and the number of the others.

    Parameters
    ----------
    quote : str
        Stands before and after each name.
    more : int
        How many there are besides.
    longest : int or None
        How many characters of a name are shown; None where somebody may have to type it.
    """
    shown = [f"{quote}{shortened(name, longest or len(name))}{quote}" for name in islice(names, MOST_LISTED)]
    more += len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def rounded_down(value: float, digits: int = 3) -> str:
    """Return a limit above 0 as a message has it: what is read there may be asked for."""
    rounded = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal_from_float(value * (1 + 1e-9))
    return f"{float(rounded):g}"


def nearest(word: str, known: Collection[str]) -> str:
    """Return the nearest known word as `did you mean 'X5-1'?`, or '' where none is near.

    Of very many words only those that begin alike count, and of these those with the same letters.
    """
    found = _nearest(word, known)
    return f"did you mean '{found}'?" if found else ""


def nearest_file(path: Path) -> str:
    """Return what stands beside a path that leads nowhere, or beside the first folder that it lacks.

    As `nearest` does: a name that is like it with the same suffix, or the same name with a like suffix.
    """
    with suppress(OSError, ValueError):
        while path.name and not path.parent.exists():
            path = path.parent
        others = [other for other in sorted(path.parent.iterdir()) if other.name != path.name]
        inner = path.with_suffix("").suffix  # as in arm.cfg.yaml, where it would make all names alike
        alike = {
            other.stem.removesuffix(inner): other.name for other in others if other.suffix == path.suffix
        }
        suffixes = {other.suffix: other.name for other in others if other.stem == path.stem}
        name = alike.get(_nearest(path.stem.removesuffix(inner), alike)) or suffixes.get(
            _nearest(path.suffix, suffixes)
        )
        return f"did you mean '{name}'?" if name else ""
    return ""


def _nearest(word: str, known: Collection[str]) -> str:
    if len(word) > LONGEST_COMPARED:
        return ""
    folded = word.casefold()
    if len(known) > MOST_COUNTED:
        alike = (name for name in known if name[:2].casefold() == folded[:2])
        known = list(islice(alike, MOST_COUNTED))
    by_folded = {name.casefold(): name for name in known if len(name) <= LONGEST_COMPARED}
    found = get_close_matches(folded, _with_like_letters(folded, by_folded), n=1, cutoff=LEAST_ALIKE)
    return by_folded[found[0]] if found else ""


def _with_like_letters(word: str, known: Iterable[str]) -> list[str]:
    """Return the words that have the most letters in common with one, in whatever order."""
    matcher = SequenceMatcher(b=word)

    def share(other: str) -> float:
        matcher.set_seq1(other)
        return matcher.quick_ratio()

    return nlargest(MOST_COMPARED, known, key=share)
