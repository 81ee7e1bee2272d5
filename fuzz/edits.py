"""Ways to break a text file that leave much of it whole, so that more than the parsers is tested."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

TOKENS = [
    b"", b"0", b"-1", b"1e999", b"nan", b".5", b"9" * 40, b"\0", b"\xff", b"\xc3", b"\n", b"\r", b"\t", b" ",
    b"<", b">", b"</", b"&a;", b"&#0;", b"<![CDATA[", b"<!--", b"<!DOCTYPE a>", b"<a>" * 100, b"'", b'"',
    b"[" * 100, b"[ ", b" ]", b"{", b"}", b": ", b", ", b"- ", b"*a ", b"&a ", b"!!python/name:os.abc ",
    b"---\n", b"# ", b"=", b"..", b"../", b"::", b"__model__", b"world", "\N{SNOWMAN}".encode(),
]  # fmt: skip

KINDS = ["cut", "repeat", "insert", "replace", "move", "truncate", "word", "line", "lines"]
MOST_LENGTH = 60

_WORD = re.compile(rb"[A-Za-z_][\w:.-]*|[-+]?\d[\d.eE+-]*")


def dictionary(words: Sequence[bytes]) -> str:
    """Return words, which may be of any bytes, as libFuzzer reads them."""
    escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in words)
    return "".join(f'"{word}"\n' for word in escaped)


@dataclass(frozen=True)
class Edit:
    """A change of one place of a file; `where` and `choice` are fractions of what there is."""

    kind: str
    where: float
    length: int
    choice: float

    @classmethod
    def at_random(cls, rng: random.Random) -> Edit:
        return cls(rng.choice(KINDS), rng.random(), rng.randint(1, MOST_LENGTH), rng.random())

    def apply(self, data: bytes, words: Sequence[bytes]) -> bytes:
        """Return the changed file; `words` may replace others."""
        start, to = int(self.where * len(data)), int(self.choice * len(data))
        end = min(start + self.length, len(data))
        before, part, after = data[:start], data[start:end], data[end:]
        word = [*TOKENS, *words][int(self.choice * (len(TOKENS) + len(words)))]
        rest = before + after
        if self.kind == "word":
            return self._other_word(data, word)
        if self.kind in {"line", "lines"}:
            return self._lines_elsewhere(data)
        return {
            "cut": rest,
            "repeat": before + part * (2 + to % 20) + after,
            "insert": before + word + part + after,
            "replace": before + word + after,
            "move": rest[:to] + part + rest[to:],
            "truncate": before,
        }[self.kind]

    def _other_word(self, data: bytes, word: bytes) -> bytes:
        found = list(_WORD.finditer(data))
        if not found:
            return word
        old = found[int(self.where * len(found))]
        return data[: old.start()] + word + data[old.end() :]

    def _lines_elsewhere(self, data: bytes) -> bytes:
        """Return the text with a line moved, or with some lines copied."""
        lines = data.splitlines(keepends=True)
        start, to = int(self.where * len(lines)), int(self.choice * len(lines))
        if self.kind == "lines":
            return b"".join(lines[:to] + lines[start : start + self.length // 4 + 1] + lines[to:])
        rest = lines[:start] + lines[start + 1 :]
        return b"".join(rest[:to] + lines[start : start + 1] + rest[to:])
