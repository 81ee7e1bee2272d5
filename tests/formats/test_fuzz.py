"""Files that are broken at random: each is read or refused, in bounded time and memory.

`make fuzz` breaks more, guided by the code that the readers execute.
"""

from __future__ import annotations

import gc
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.config import ConfigFuzz
from fuzz.edits import KINDS, MOST_LENGTH, Edit, dictionary
from fuzz.readers import READERS as FORMATS
from fuzz.readers import Reader

SECONDS = 2
READERS: dict[str, Reader | ConfigFuzz] = {**FORMATS, ConfigFuzz.name: ConfigFuzz()}

shares = st.floats(0, 1, exclude_max=True)
edits = st.lists(
    st.builds(Edit, st.sampled_from(KINDS), shares, st.integers(1, MOST_LENGTH), shares),
    min_size=1,
    max_size=6,
)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_a_broken_file_is_read_or_refused(name: str, data: st.DataObject) -> None:
    reader = READERS[name]
    text = data.draw(st.sampled_from(reader.seeds))
    for edit in data.draw(edits):
        text = edit.apply(text, reader.words)
    allowed = reader.allowance(text)
    began_s = time.thread_time()
    peak = _peak_of_checking(reader, text)
    assert time.thread_time() - began_s < SECONDS
    if peak > allowed:
        # A reader takes the same each time. What earlier tests left in this process, and what Python builds
        # once, such as the lines of a source file for a traceback, is taken by chance.
        gc.collect()
        peak = _peak_of_checking(reader, text)
    assert peak <= allowed


def _peak_of_checking(reader: Reader | ConfigFuzz, text: bytes) -> int:
    tracemalloc.start()
    try:
        reader.check(text)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_words_of_any_bytes_are_written_as_libfuzzer_reads_them() -> None:
    assert dictionary((b"a/b", b"\xff\x00", b'"')) == '"\\x61\\x2f\\x62"\n"\\xff\\x00"\n"\\x22"\n'
