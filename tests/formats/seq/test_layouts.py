"""Layouts of rows in .seq files: all give the same numbers, and none breaks the reader."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motiond.formats import FormatError, Motion, seq
from motiond.formats.io.source import Source
from motiond.formats.seq.rows import CHUNK_BYTES, cut_rows

if TYPE_CHECKING:
    from collections.abc import Callable

Rows = list[list[float]]

HEAD = """type: CompositeSeq
content: BodyMotion
formatVersion: 2
frameRate: 100
components:
  -
    type: MultiValueSeq
    content: JointDisplacement
    numParts: {parts}
    frames:"""


def load(data: bytes) -> Motion:
    (motion,) = seq.load(data, Source(Path("case.seq")))
    return motion


def flow(row: list[float], separator: str = ", ") -> str:
    return f"[ {separator.join(map(repr, row))} ]"


def document(rows: Rows, frames: str) -> bytes:
    return f"{HEAD.format(parts=len(rows[0]))}{frames}\n".encode()


def one_to_a_line(rows: Rows) -> bytes:
    return document(rows, "".join(f"\n      - {flow(row)}" for row in rows))


def without_indentation(rows: Rows) -> bytes:
    return document(rows, "".join(f"\n    - {flow(row)}" for row in rows))


def with_carriage_returns(rows: Rows) -> bytes:
    return one_to_a_line(rows).replace(b"\n", b"\r\n")


def with_trailing_blanks(rows: Rows) -> bytes:
    return one_to_a_line(rows).replace(b"]\n", b"]  \t \n")


def with_tabs(rows: Rows) -> bytes:
    return document(rows, "".join("\n      - " + flow(row, "\t,\t") for row in rows))


def with_comments_between(rows: Rows) -> bytes:
    return document(rows, "".join(f"\n# row {n} [ 1, 2 ]\n      - {flow(row)}" for n, row in enumerate(rows)))


def with_comments_behind(rows: Rows) -> bytes:
    return document(rows, "".join(f"\n      - {flow(row)} # [ 1 ]" for row in rows))


def with_an_empty_line_in_the_middle(rows: Rows) -> bytes:
    lines = [f"\n      - {flow(row)}" for row in rows]
    return document(rows, "".join([*lines[: len(lines) // 2], "\n\n", *lines[len(lines) // 2 :]]))


def block_style(rows: Rows) -> bytes:
    items = ["".join(f"\n        - {value!r}" for value in row) for row in rows]
    return document(rows, "".join(f"\n      -{item}" for item in items))


def several_to_a_line(rows: Rows) -> bytes:
    return document(rows, f" [ {', '.join(map(flow, rows))} ]")


def rows_over_several_lines(rows: Rows) -> bytes:
    return document(rows, "".join("\n      - " + flow(row, ",\n          ") for row in rows))


def with_a_byte_order_mark(rows: Rows) -> bytes:
    return b"\xef\xbb\xbf" + one_to_a_line(rows)


def after_other_letters(rows: Rows) -> bytes:
    return "# Größe und Höhe, 歩行\n".encode() + one_to_a_line(rows)


def without_a_last_line_end(rows: Rows) -> bytes:
    return one_to_a_line(rows).rstrip(b"\n")


def as_json(rows: Rows) -> bytes:
    component = {
        "type": "MultiValueSeq", "content": "JointDisplacement", "numParts": len(rows[0]), "frames": rows
    }  # fmt: skip
    top = {"type": "CompositeSeq", "content": "BodyMotion", "formatVersion": 2, "frameRate": 100}
    return json.dumps(top | {"components": [component]}).encode()


def as_indented_json(rows: Rows) -> bytes:
    return json.dumps(json.loads(as_json(rows)), indent=2).encode()


LAYOUTS = (
    one_to_a_line, without_indentation, with_carriage_returns, with_trailing_blanks, with_tabs,
    with_comments_between, with_comments_behind, with_an_empty_line_in_the_middle, block_style,
    several_to_a_line, rows_over_several_lines, with_a_byte_order_mark, after_other_letters,
    without_a_last_line_end, as_json, as_indented_json,
)  # fmt: skip

values = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 1.0, 0.1, 1e22, 5e-324]
)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(values, min_size=width, max_size=width), min_size=1, max_size=30)
)


@settings(deadline=None)
@given(tables)
def test_every_layout_gives_the_same_bits(rows: Rows) -> None:
    for layout in LAYOUTS:
        assert load(layout(rows)).positions.tobytes() == np.array(rows).tobytes(), layout.__name__


@pytest.mark.parametrize(
    "layout",
    [
        one_to_a_line,
        without_indentation,
        with_carriage_returns,
        with_trailing_blanks,
        with_tabs,
        after_other_letters,
    ],
)
def test_rows_one_to_a_line_take_the_fast_path(layout: Callable[[Rows], bytes]) -> None:
    rows = [[float(row), 0.5] for row in range(100)]
    text = layout(rows)
    skeleton, blocks = cut_rows(text)
    assert len(blocks) == 1
    assert len(skeleton) < len(text) / 3
    assert skeleton.count(b"\n") == text.count(b"\n")


def test_rows_beyond_one_chunk_stay_in_order() -> None:
    rows = [[float(row), row / 7] for row in range(20_000)]
    text = one_to_a_line(rows)
    assert len(text) > 3 * CHUNK_BYTES
    assert load(text).positions.tobytes() == np.array(rows).tobytes()


def test_a_row_longer_than_a_chunk_is_read() -> None:
    rows = [[value / 7 for value in range(9_000)]] * 9
    text = one_to_a_line(rows)
    assert len(flow(rows[0])) > CHUNK_BYTES
    assert load(text).positions.tobytes() == np.array(rows).tobytes()


@settings(deadline=None)
@given(st.data())
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from([layout([[0.0, 1.5]] * 10) for layout in LAYOUTS]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    damage = data.draw(st.binary(max_size=6) | st.sampled_from([b"*a", b"&a ", b"!!x ", b"[[", b"- ", b": "]))
    with suppress(FormatError):
        assert np.isfinite(load(text[:start] + damage + text[end:]).positions).all()
