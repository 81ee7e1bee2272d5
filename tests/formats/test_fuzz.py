"""Files that are broken in a hundred ways: each is read or refused, in bounded time and memory.

`make fuzz` goes further, guided by what the readers execute.
"""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.readers import READERS

SECONDS = 2
# The parsers' own buffers, and what a refusal is made of, whatever the size of the file.
MEMORY_BYTES, MEMORY_TIMES = 2_000_000, 20

TOKENS = [
    b"", b"0", b"-1", b"1e999", b"nan", b".5", b"9" * 40, b"\0", b"\xff", b"\xc3", b"\n", b"\r", b"\t", b" ",
    b"<", b">", b"</", b"&a;", b"&#0;", b"<![CDATA[", b"<!--", b"<!DOCTYPE a>", b"<a>" * 100, b"'", b'"',
    b"[" * 100, b"[ ", b" ]", b"{", b"}", b": ", b", ", b"- ", b"*a ", b"&a ", b"!!python/name:os.abc ",
    b"---\n", b"# ", b"=", b"..", b"../", b"::", b"__model__", b"world", "\N{SNOWMAN}".encode(),
]  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """A change of one place of a file; `where` and `choice` are shares of what there is."""

    kind: str
    where: float
    length: int
    choice: float

    def apply(self, data: bytes, words: list[bytes]) -> bytes:
        start, to = int(self.where * len(data)), int(self.choice * len(data))
        end = min(start + self.length, len(data))
        before, part, after = data[:start], data[start:end], data[end:]
        word = words[int(self.choice * len(words))]
        match self.kind:
            case "cut":
                return before + after
            case "repeat":
                return before + part * (2 + to % 20) + after
            case "insert":
                return before + word + part + after
            case "replace":
                return before + word + after
            case "move":
                rest = before + after
                return rest[:to] + part + rest[to:]
        return before


shares = st.floats(0, 1, exclude_max=True)
kinds = st.sampled_from(["cut", "repeat", "insert", "replace", "move", "truncate"])
edits = st.lists(st.builds(Edit, kinds, shares, st.integers(1, 60), shares), min_size=1, max_size=6)


@pytest.mark.parametrize("name", READERS)
@settings(
    derandomize=True,
    deadline=1000 * SECONDS,
    max_examples=200,
    database=None,
)
@given(data=st.data())
def test_a_broken_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    reader = READERS[name]
    text = data.draw(st.sampled_from(reader.seeds))
    words = [*TOKENS, *reader.words]
    for edit in data.draw(edits):
        text = edit.apply(text, words)
    tracemalloc.start()
    try:
        reader.check(text)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= MEMORY_BYTES + MEMORY_TIMES * len(text)
