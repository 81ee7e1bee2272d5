"""Layouts of rows in .seq files: all give the same numbers, and none breaks the reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from motiond.formats import FormatError, Motion, seq
from motiond.formats.io.source import Source
from motiond.formats.io.yaml import tree
from motiond.formats.seq import reader
from motiond.formats.seq.rows import CHUNK_BYTES, cut_rows
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

pytestmark = pytest.mark.slow

Rows = list[list[float]]
Document = dict[str, Any]

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


def flow(row: list[float]) -> str:
    return f"[ {', '.join(map(repr, row))} ]"


def document(rows: Rows, frames: str) -> bytes:
    return f"{HEAD.format(parts=len(rows[0]))}{frames}\n".encode()


def one_to_a_line(rows: Rows) -> bytes:
    return document(rows, "".join(f"\n      - {flow(row)}" for row in rows))


def block_style(rows: Rows) -> bytes:
    items = ["".join(f"\n        - {value!r}" for value in row) for row in rows]
    return document(rows, "".join(f"\n      -{item}" for item in items))


def dashes_side_by_side(rows: Rows) -> bytes:
    return block_style(rows).replace(b"-\n        -", b"- -")


def with_comments_behind(rows: Rows) -> bytes:
    return one_to_a_line(rows).replace(b"]\n", b"] # [ 1 ]\n")


def as_json(rows: Rows) -> bytes:
    component = {
        "type": "MultiValueSeq", "content": "JointDisplacement", "numParts": len(rows[0]), "frames": rows
    }  # fmt: skip
    top = {"type": "CompositeSeq", "content": "BodyMotion", "formatVersion": 2, "frameRate": 100}
    return json.dumps(top | {"components": [component]}).encode()


FAST_LAYOUTS: dict[str, Callable[[Rows], bytes]] = {
    "one to a line": one_to_a_line,
    "without indentation": lambda rows: one_to_a_line(rows).replace(b"      - ", b"    - "),
    "with carriage returns": lambda rows: one_to_a_line(rows).replace(b"\n", b"\r\n"),
    "with trailing blanks": lambda rows: one_to_a_line(rows).replace(b"]\n", b"]  \t \n"),
    "with tabs": lambda rows: one_to_a_line(rows).replace(b", ", b"\t,\t"),
    "after other letters": lambda rows: "# Größe und Höhe, 歩行\n".encode() + one_to_a_line(rows),
}
LAYOUTS: dict[str, Callable[[Rows], bytes]] = FAST_LAYOUTS | {
    "comments between": lambda rows: one_to_a_line(rows).replace(b"]\n", b"]\n# [ 1, 2 ]\n"),
    "comments behind": with_comments_behind,
    "empty line": lambda rows: one_to_a_line(rows).replace(b"]\n", b"]\n\n", len(rows) // 2),
    "block style": block_style,
    "several to a line": lambda rows: document(rows, f" [ {', '.join(map(flow, rows))} ]"),
    "over several lines": lambda rows: one_to_a_line(rows).replace(b", ", b",\n          "),
    "byte order mark": lambda rows: b"\xef\xbb\xbf" + one_to_a_line(rows),
    "no last line end": lambda rows: one_to_a_line(rows).rstrip(b"\n"),
    "JSON": as_json,
    "indented JSON": lambda rows: json.dumps(json.loads(as_json(rows)), indent=2).encode(),
}

values = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 1.0, 0.1, 1e22, 5e-324]
)
tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(values, min_size=width, max_size=width), min_size=1, max_size=30)
)


@pytest.mark.parametrize("few_characters", [0, reader.FEW_CHARACTERS])
@given(rows=tables)
def test_every_layout_gives_the_same_bits(few_characters: int, rows: Rows) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "FEW_CHARACTERS", few_characters)
        for name, layout in LAYOUTS.items():
            assert load(layout(rows)).positions.tobytes() == np.array(rows).tobytes(), name


def dumped(document: Document, *, flow: bool | None = None, width: float = 10_000) -> bytes:
    """Write a document as YAML, by default as Choreonoid does: one row to a line."""
    return yaml.dump(document, Dumper=yaml.CSafeDumper, default_flow_style=flow, width=width).encode()


OTHER_LAYOUTS: dict[str, Callable[[Document], bytes]] = {
    "as YAML dumps it": lambda document: dumped(document, width=40),
    "in blocks": lambda document: dumped(document, flow=False),
    "with comments": lambda document: dumped(document).replace(b"]\n", b"]\t# [ 1 ]\n# - [ 3 ]\n\n"),
    "in JSON": lambda document: json.dumps(document).encode(),
    "in JSON with tabs": lambda document: json.dumps(document, indent="\t").encode(),
    "Windows line ends": lambda document: dumped(document, flow=False).replace(b"\n", b"\r\n"),
}
ALL_LAYOUTS = [*OTHER_LAYOUTS.values(), dumped]


def walk(*, timed: bool, parts: int, rows: int = 60) -> tuple[Document, NDArray[np.float64]]:
    """Return a motion of `parts` joints and as many poses, as a document, and its numbers."""
    numbers = np.random.default_rng(1).normal(size=(rows, parts, 7))
    numbers[..., 3:] /= np.linalg.norm(numbers[..., 3:], axis=-1, keepdims=True)
    times = [[row / 50] for row in range(rows)] if timed else [[]] * rows
    shared: dict[str, Any] = {"numParts": parts, "hasFrameTime": timed}
    joints = [time + row for time, row in zip(times, numbers[..., 0].tolist(), strict=True)]
    poses = [time + row for time, row in zip(times, numbers.tolist(), strict=True)]
    vectors = [time + row for time, row in zip(times, numbers[:, 0, :3].tolist(), strict=True)]
    components: list[dict[str, Any]] = [
        {"type": "MultiSE3Seq", "content": "LinkPosition", "SE3Format": "XYZQWQXQYQZ", "frames": poses},
        {"type": "MultiValueSeq", "content": "JointDisplacement", "frames": joints},
    ]
    components = [one | shared for one in components]
    components.append({"type": "Vector3Seq", "content": "ZMP", "frames": vectors, "hasFrameTime": timed})
    top = {"type": "CompositeSeq", "content": "BodyMotion", "formatVersion": 2, "frameRate": 50}
    return top | {"components": components}, numbers


@pytest.mark.parametrize("layout", OTHER_LAYOUTS.values(), ids=OTHER_LAYOUTS)
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("parts", [1, 3])
def test_rows_in_other_layouts_are_not_read_one_by_one_as_yaml(
    layout: Callable[[Document], bytes], *, timed: bool, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, numbers = walk(timed=timed, parts=parts)
    monkeypatch.setattr(tree, "MOST_VALUES", 200)
    motion = load(layout(document))
    assert motion.positions.tobytes() == numbers[..., 0].tobytes()
    assert motion.components["LinkPosition"].tobytes() == numbers.tobytes()
    assert motion.components["ZMP"].tobytes() == numbers[:, 0, :3].tobytes()


STRANGE: tuple[Any, ...] = ([[1, 2], [3, 4, 5]], [{"a": 1}], ["a", "b"], [], "none", [[-1.5, 2.25]] * 20)


@pytest.mark.parametrize("frames", STRANGE, ids=str)
@pytest.mark.parametrize("layout", ALL_LAYOUTS)
def test_rows_beside_a_component_of_unknown_type_are_not_read_one_by_one_as_yaml(
    layout: Callable[[Document], bytes], frames: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, numbers = walk(timed=False, parts=3)
    document["components"].insert(0, {"type": "StrangeSeq", "content": "Odd", "frames": frames})
    monkeypatch.setattr(tree, "MOST_VALUES", 250)
    motion = load(layout(document))
    assert motion.positions.tobytes() == numbers[..., 0].tobytes()
    odd = motion.components["Odd"]
    assert (odd.tolist() if isinstance(odd, np.ndarray) else odd) == frames


@table("old, new")
@pytest.mark.parametrize("layout", ALL_LAYOUTS)
def test_numbers_that_json_does_not_know_are_not_read_one_by_one_as_yaml(
    layout: Callable[[Document], bytes], old: bytes, new: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    document, numbers = walk(timed=False, parts=3)
    before, keyword, rows = layout(document).partition(b"frames")
    text = before + keyword + re.sub(old, new, rows)
    monkeypatch.setattr(tree, "MOST_VALUES", 250)
    motion = load(text)
    assert motion.positions.tobytes() == numbers[..., 0].tobytes()
    assert motion.components["LinkPosition"].tobytes() == numbers.tobytes()


def test_rows_beyond_one_chunk_stay_in_order_in_every_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("rows", "regions"):
        monkeypatch.setattr(f"motiond.formats.seq.{module}.CHUNK_BYTES", CHUNK_BYTES // 8)
    document, numbers = walk(timed=True, parts=2, rows=1_500 // 8)
    for layout in OTHER_LAYOUTS.values():
        text = layout(document)
        assert len(text) > 2 * CHUNK_BYTES // 8
        assert load(text).components["LinkPosition"].tobytes() == numbers.tobytes()


@pytest.mark.parametrize("layout", FAST_LAYOUTS.values(), ids=FAST_LAYOUTS)
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


def test_the_last_row_may_go_on_on_the_next_line() -> None:
    rows = [[float(row), 0.5] for row in range(20)]
    text = one_to_a_line(rows)
    assert load(text[: text.rindex(b", ")] + b",\n   0.5 ]\n").positions.tobytes() == np.array(rows).tobytes()


def test_a_row_longer_than_a_chunk_is_read() -> None:
    rows = [[value / 7 for value in range(9_000)]] * 9
    text = one_to_a_line(rows)
    assert len(flow(rows[0])) > CHUNK_BYTES
    assert load(text).positions.tobytes() == np.array(rows).tobytes()


@given(st.data())
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    """The fast ways may only be faster: what they read, YAML alone reads as the same bits."""
    text = data.draw(st.sampled_from([layout([[0.0, 1.5]] * 10) for layout in LAYOUTS.values()]))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    damages = b"*a|&a |!!x |[[|- |: |\n- |#| # |1 [, |{|'|...|+|+.|-.| 1.,|, ]|,, ]".split(b"|")
    damage = data.draw(st.binary(max_size=6) | st.sampled_from(damages))
    damaged = text[:start] + damage + text[end:]
    assert fast_outcome(damaged) == slow_outcome(damaged)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_tab_before_a_comment_is_read_or_refused_as_yaml_does(layout: Callable[[Any], bytes]) -> None:
    lines = layout([[0.0, 1.5]] * 10).splitlines(keepends=True)
    for before in range(len(lines) + 1):
        text = b"".join([*lines[:before], b"  \t# slower here\n", *lines[before:]])
        assert fast_outcome(text) == slow_outcome(text)


@pytest.mark.parametrize("behind", [b"-", b"- ", b"    -", b" 0.0", b"0.0 ]"])
@pytest.mark.parametrize("layout", [block_style, dashes_side_by_side, with_comments_behind])
def test_a_comment_that_a_tab_sets_apart_is_read_or_refused_as_yaml_does(
    layout: Callable[[Rows], bytes], behind: bytes
) -> None:
    text = layout([[0.0, 1.5]] * 10)
    for place in re.finditer(re.escape(behind), text):
        before, after = text[: place.end()], text[place.end() :]
        damaged = before + (b"\t# here" if after.startswith(b"\n") else b"\t# here\n        ") + after
        assert fast_outcome(damaged) == slow_outcome(damaged)


def fast_outcome(text: bytes) -> bytes | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "FEW_CHARACTERS", 0)
        return outcome(text)


def slow_outcome(text: bytes) -> bytes | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "FEW_CHARACTERS", len(text))
        return outcome(text)


def outcome(text: bytes) -> bytes | str:
    try:
        positions = load(text).positions
    except FormatError as error:
        return str(error)
    assert np.isfinite(positions).all()
    return positions.tobytes()
