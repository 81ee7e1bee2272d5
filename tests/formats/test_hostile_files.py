"""Malicious files, tested in the same way for every format that they apply to.

Attacks on one format are among its own tests: bombs of aliases and tags of objects in
`seq/test_bad_files.py`, deep formulas and includes in `hrdf/test_bad_files.py`, includes in
`sdf/test_bad_files.py`.
"""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from motiond.formats import FormatError, Motion
from motiond.formats.io.source import ReadOptions, Source
from motiond.formats.io.yaml import tree
from tests.suffixes import format_of
from tests.tables import table

GOOD = Path(__file__).parents[1] / "files" / "good"
ROOTS = {
    "hrdf": ('<robot version="1.6.0">', "</robot>"),
    "skel": ('<skel version="1.0">', "</skel>"),
    "sdf": ('<sdf version="1.11">', "</sdf>"),
    "urdf": ('<robot name="r">', "</robot>"),
    "xmdi": ("<xmdi>", "</xmdi>"),
}
TEXTS = [*ROOTS, "seq", "motion", "bvh", "pseq", "yaml", "csv"]
FORMATS = [*TEXTS, "npz", "npy", "mcap"]
DOCTYPE = "a document type is not allowed; it could pull in other files; remove <!DOCTYPE …>"
# Messages of libxml2 itself, which change with its version.
NOT_WELL_FORMED = re.compile(r"this is no well-formed XML; \S[^\n]*\S")

BILLION_LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(
        f'<!ENTITY {name} "{f"&{of};" * 10}">' for of, name in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + "]>"
)
EXTERNAL = '<!DOCTYPE x [<!ENTITY e SYSTEM "{secret}">]>'
PARAMETER = '<!DOCTYPE x [<!ENTITY % e SYSTEM "{secret}"> %e;]>'
SEQ = """type: CompositeSeq
formatVersion: 4
frameRate: 10
{top}
components:
  - type: MultiValueSeq
    content: JointDisplacement
    numParts: {parts}
    frames: {rows}
"""


TIMED = """type: CompositeSeq
formatVersion: 4
hasFrameTime: true
components:
  - type: MultiValueSeq
    content: JointDisplacement
    numParts: 1
    frames:
      - [ {first}, 0.5 ]
      - [ {last}, 0.6 ]
"""


def load(name: str, data: str | bytes, *, within: tuple[Path, ...] = ()) -> list[Any]:
    source = Source(Path(f"case.{name}"), within)
    text = data if isinstance(data, bytes) else data.encode()
    found: list[Any] = format_of(f".{name}").load(text, source)
    return found


def good_files(name: str) -> list[Path]:
    """Return the files of a suffix, without configurations and markers in YAML."""
    found = sorted(GOOD.glob(f"**/*.{name}"))
    return [path for path in found if not path.name.endswith((".cfg.yaml", ".markers.yaml"))]


def refusal(name: str, data: str | bytes) -> str:
    with pytest.raises(FormatError) as caught:
        load(name, data)
    return str(caught.value)


def xml(name: str, inside: str, before: str = "") -> str:
    opening, closing = ROOTS[name]
    return f"{before}{opening}{inside}{closing}"


def is_refused_as(message: str, name: str, expected: str | re.Pattern[str]) -> bool:
    where, what = f"case.{name}:1: ", message[len(f"case.{name}:1: ") :]
    fits = expected.fullmatch(what) is not None if isinstance(expected, re.Pattern) else what == expected
    return message.startswith(where) and fits


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize(
    ("before", "inside", "expected"),
    [
        (BILLION_LAUGHS, "&j;", NOT_WELL_FORMED),
        (BILLION_LAUGHS, '<a b="&j;"/>', NOT_WELL_FORMED),
        ('<!DOCTYPE x [<!ENTITY a "&b;"><!ENTITY b "&a;">]>', '<a b="&a;"/>', NOT_WELL_FORMED),
        (EXTERNAL, "&e;", DOCTYPE),
        (EXTERNAL, '<a b="&e;"/>', NOT_WELL_FORMED),
        (PARAMETER, "", DOCTYPE),
        ('<!DOCTYPE x SYSTEM "{secret}">', "", DOCTYPE),
        ("", "&e;", NOT_WELL_FORMED),
    ],
)
def test_entities_neither_explode_nor_pull_in_files(
    tmp_path: Path, name: str, before: str, inside: str, expected: str | re.Pattern[str]
) -> None:
    (tmp_path / "secret").write_text("the secret")
    message = refusal(name, xml(name, inside, before.format(secret=tmp_path / "secret") if before else ""))
    assert is_refused_as(message, name, expected), message
    assert "the secret" not in message


@pytest.mark.parametrize("name", ROOTS)
def test_xinclude_is_no_include(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("the secret")
    href = f'<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="{tmp_path}/secret" parse="text"/>'
    try:
        told = repr(load(name, xml(name, href)))
    except FormatError as error:
        told = str(error)
    assert "the secret" not in told


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2] + b"\0" + text[len(text) // 2 :],
        lambda text: text[: len(text) // 2] + b"\xfc" + text[len(text) // 2 :],
        lambda text: b"\xff\xfe" + text,
        lambda text: b"\xef\xbb" + text,
        lambda text: text[: len(text) // 2] + "hüft".encode("utf-16") + text[len(text) // 2 :],
        lambda _: b"",
        lambda _: b"\0" * 100,
        lambda _: b"\x7fELF\x02\x01\x01",
    ],
)
def test_what_is_no_text_is_refused_on_a_line_of_it(name: str, damage: Any) -> None:
    data = damage(good_files(name)[0].read_bytes())
    with pytest.raises(FormatError) as caught:
        load(name, data, within=(GOOD,))
    (problem,) = caught.value.problems
    assert problem.file == f"case.{name}"
    assert problem.line <= data.count(b"\n") + 1
    assert problem.line or not data


@pytest.mark.parametrize("name", ROOTS)
def test_an_encoding_that_nobody_knows_is_refused(name: str) -> None:
    message = refusal(name, xml(name, "", '<?xml version="1.0" encoding="klingon"?>'))
    assert is_refused_as(message, name, NOT_WELL_FORMED), message


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize("depth", [300, 100_000])
def test_deep_nesting_ends_in_a_message(name: str, depth: int) -> None:
    message = refusal(name, xml(name, "<a>" * depth + "</a>" * depth))
    no_motion = "there is no <motion>; a root holds a container, and that holds motions; write "
    # XMDI may be as deep as libxml2 reads, as its reader does not recurse.
    expected = f"{no_motion}<xmdi><motions><motion …>" if (name, depth) == ("xmdi", 300) else NOT_WELL_FORMED
    assert is_refused_as(message, name, expected), message


@pytest.mark.parametrize("name", ["seq", "pseq", "yaml"])
@pytest.mark.parametrize("text", ['{"a":' * 50_000, "- " * 50_000, "? " * 50_000, "[" * 50_000])
def test_deep_yaml_ends_in_a_message(name: str, text: str) -> None:
    assert refusal(name, text) == f"case.{name}:1: nested too deeply; 32 levels are read; write it flatter"


@table("name, text, message")
def test_what_a_file_declares_takes_no_memory(name: str, text: str, message: str) -> None:
    tracemalloc.start()
    try:
        assert refusal(name, text) == f"case.{name}:{message}"
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_huge_count_of_frames_is_no_more_than_a_wrong_one() -> None:
    (motion,) = load("seq", SEQ.format(top="numFrames: 1000000000000000000", parts=1, rows="[ [ 0 ] ]"))
    assert motion.warnings == (
        (
            "case.seq:4: numFrames is 1e+18 and component 0 has 1 frames; the frames count; "
            "correct numFrames if none are missing"
        ),
    )


FLOOD = 20_000
SKELETON = (
    '<skeleton name="s"><body name="b"><transformation>0 0 0 0 0 0</transformation></body>'
    '<joint type="free" name="j"><parent>world</parent><child>b</child></joint>{flood}</skeleton>'
)


def test_a_flood_of_problems_ends_after_a_thousand() -> None:
    lines = refusal("hrdf", xml("hrdf", "".join(f"<a{number}/>" for number in range(FLOOD)))).splitlines()
    assert len(lines) == 21
    assert lines[-1] == "case.hrdf: 980 more problems"


@pytest.mark.parametrize("flood", ["<a{}/>", "text{}<!-- -->"])
def test_a_flood_of_warnings_ends_after_a_hundred(flood: str) -> None:
    inside = SKELETON.format(flood="".join(flood.format(number) for number in range(FLOOD)))
    (robot,) = load("skel", f'<skel version="1.0"><world>{inside}</world></skel>')
    assert len(robot.warnings) == 100


@table("name, inside")
def test_meshes_are_never_opened_wherever_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, inside: str
) -> None:
    opened: list[Path] = []
    monkeypatch.setattr(Path, "read_bytes", opened.append)
    monkeypatch.setattr(Path, "open", lambda path, *_: opened.append(path))
    assert load(name, xml(name, inside.replace("{mesh}", "../../../etc/passwd")), within=(tmp_path,))
    assert not opened


@pytest.mark.parametrize("path", [path for name in FORMATS for path in good_files(name)], ids=str)
def test_a_file_that_was_cut_short_is_refused_or_gives_its_first_rows(path: Path) -> None:
    data = path.read_bytes()
    reader, source = format_of(path.suffix), Source(path, options=ReadOptions(rate_hz=10))
    whole = reader.load(data, source)
    for end in range(0, len(data.rstrip()), 5):
        try:
            found = reader.load(data[:end], source)
        except FormatError:
            continue
        # Only files of rows can end early: a .seq after a whole row, with whole components before it.
        # Of a table, the last number may be cut, too, which is told.
        (motion,) = found
        assert isinstance(motion, Motion)
        cut = any("may have been cut short" in warning for warning in motion.warnings)
        for name, rows in series(motion).items():
            kept = rows[: len(rows) - cut]
            assert np.array_equal(kept.ravel(), series(whole[0])[name][: len(kept)].ravel())


def series(motion: Motion) -> dict[str, Any]:
    joints = {"": motion.positions} if motion.positions.size else {}
    known = {name: rows for name, rows in motion.components.items() if isinstance(rows, np.ndarray)}
    return {**known, **joints}


def test_a_bad_file_does_not_spoil_the_next_one() -> None:
    refusal("sdf", "<sdf>\xfc&nothing;")
    (robot,) = load("sdf", xml("sdf", '<model name="m"><link name="l"><gz:mark/></link></model>'))
    assert robot.name == "m"


def test_times_that_no_clock_shows_are_refused() -> None:
    assert refusal("seq", TIMED.format(first="-1.7e308", last="1.7e308")) == (
        "case.seq:9: row 0 is at -1.7e+308 s; times lie between -1e+12 and 1e+12 s; correct the times\n"
        "case.seq:10: row 1 is at 1.7e+308 s; times lie between -1e+12 and 1e+12 s; correct the times"
    )
    (stamped,) = load("seq", TIMED.format(first="1763800000.00", last="1763800000.25"))
    assert stamped.duration_s == 0.25


@pytest.mark.parametrize("name", ROOTS)
@pytest.mark.parametrize(
    "many", ["<a/>" * 2_000_000, "<a " + 'b="" ' * 2_000_000 + "/>"], ids=["tags", "attributes"]
)
def test_more_tags_than_memory_holds_are_not_even_parsed(name: str, many: str) -> None:
    text = xml(name, many).encode()
    tracemalloc.start()
    try:
        assert refusal(name, text) == (
            f"case.{name}: holds too many tags and attributes; 2000000 are read; split the file"
        )
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ROOTS)
def test_an_element_of_more_attributes_than_any_use_has_is_refused_on_its_line(name: str) -> None:
    many = " ".join(f'b{number}=""' for number in range(1001))
    assert refusal(name, xml(name, f"\n<a {many}/>")) == (
        f"case.{name}:2: <a> has more than 1000 attributes; nothing needs so many; remove some"
    )


@table("name, inside, what")
def test_names_longer_than_anybody_needs_are_refused_on_their_line(name: str, inside: str, what: str) -> None:
    message = f"case.{name}:2: the {what} has 1001 characters; it has at most 1000; shorten it"
    assert refusal(name, xml(name, "\n" + inside.format("q" * 1001))) == message


@table("name, text, message")
@pytest.mark.parametrize(("wrong", "shown"), [("q" * 1001, "q" * 59 + "…"), ("a\u202eb", r"a\u202eb")])
def test_names_of_columns_that_are_too_long_or_hidden_are_refused_on_their_line(
    name: str, text: str, message: str, wrong: str, shown: str
) -> None:
    reason = "it has at most 1000 characters, all printable; rename it"
    assert refusal(name, text.replace("NAME", wrong)) == f"case.{name}:{message} '{shown}'; {reason}"


@table("name, inside, what")
def test_names_that_would_not_be_seen_as_they_are_are_refused(name: str, inside: str, what: str) -> None:
    reason = "it holds a character that would not be seen; rename it"
    assert refusal(name, xml(name, "\n" + inside.format("a\u202eb"))) == (
        f"case.{name}:2: the {what} is 'a\\u202eb'; {reason}"
    )


@table("name, word, inside")
def test_many_numbers_take_little_more_memory_than_their_text(name: str, word: str, inside: str) -> None:
    numbers = word * 20_000
    text = xml(name, inside.format(numbers)).encode()
    tracemalloc.start()
    try:
        assert refusal(name, text)
        assert tracemalloc.get_traced_memory()[1] < 30 * len(numbers) + 100_000
    finally:
        tracemalloc.stop()


def test_more_values_than_memory_holds_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_VALUES", 1_000)
    loose = SEQ.format(top="", parts=1, rows=f"[ {'[ 0 ], ' * 600} ]")
    assert refusal("seq", loose) == (
        "case.seq:9: holds too much besides rows; 1000 values are read; "
        "write each row in [ ], on a line of its own"
    )
    (cut,) = load("seq", SEQ.format(top="", parts=1, rows="\n" + "      - [ 0 ]\n" * 5_000))
    assert len(cut.positions) == 5_000
