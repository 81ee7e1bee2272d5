"""What every format that is XML shares: slips that are read with a warning, and what to do about errors."""

from __future__ import annotations

import re
import shutil
import sys
import tracemalloc
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.formats import FormatError, load_motions, load_robots
from motiond.formats.io.source import Source
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = Path(__file__).parents[1] / "files" / "good"
XML_SUFFIXES = (".sdf", ".config", ".skel", ".hrdf", ".urdf", ".xmdi")
# A good file of each format, on lines 2 and 3 where another line comes before.
FILES = {
    "hrdf": '<robot version="1.6.0">\n<rigid-body mass="1"/></robot>',
    "skel": (
        '<skel version="1.0"><world><skeleton name="s">\n<body name="b"/>'
        '<joint type="weld" name="j"><parent>world</parent><child>b</child></joint>'
        "</skeleton></world></skel>"
    ),
    "sdf": '<sdf version="1.9">\n<model name="m"><link name="l"/></model></sdf>',
    "urdf": '<robot name="r">\n<link name="l"/></robot>',
    "xmdi": (
        "<xmdi><motions>\n<motion name='m'><servo name='s'><position>0 1</position>"
        "<frames>0 1</frames></servo></motion></motions></xmdi>"
    ),
}
FIRST = "<?xml …?> does not come first; XML wants nothing before it; move it to the top"
DASHES = "'--' in a comment; XML ends comments by it; write - there"
DECLARATION = '<?xml version="1.0"?>'


def load(name: str, data: str | bytes) -> list[Any]:
    raw = data if isinstance(data, bytes) else data.encode()
    found: list[Any] = import_module(f"motiond.formats.{name}").load(raw, Source(Path(f"case.{name}")))
    return found


def warnings(name: str, data: str | bytes) -> list[str]:
    (one,) = load(name, data)
    return [warning.removeprefix(f"case.{name}:") for warning in one.warnings]


def refusal(data: str | bytes) -> str:
    """Return what the SDF reader, whose names may have a prefix, says of a text."""
    with pytest.raises(FormatError) as caught:
        load("sdf", data)
    return str(caught.value)


@pytest.mark.parametrize("name", FILES)
@table("before, expected")
def test_slips_that_other_readers_let_pass_are_read_with_a_warning(
    name: str, before: str, expected: list[str]
) -> None:
    assert warnings(name, before + FILES[name]) == expected


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_slips_are_read_in_every_utf(name: str, encoding: str) -> None:
    declaration = f'<?xml version="1.0" encoding="{encoding[:6]}"?>'
    text = f"<!-- ä -- b -->\n{declaration}{FILES[name]}"
    assert warnings(name, text.encode(encoding)) == [f"1: {DASHES}", f"2: {FIRST}"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_neither_a_comment_before_the_declaration_nor_utf_16_hides_a_format(
    name: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "file.xml"
    path.write_bytes(f"<!-- a -- b --> {DECLARATION}{FILES[name]}".encode(encoding))
    (found,) = (load_motions if name == "xmdi" else load_robots)(path)
    assert len(found.warnings) == 2


def test_lines_keep_their_numbers_where_a_declaration_is_moved() -> None:
    text = f'<!-- -- \n -->\n<?xml version="1.0"\n  encoding="utf-8"?>\n{FILES["sdf"]}'
    assert warnings("sdf", text.replace('<link name="l"/>', '<link name="l"/><zzz/>')) == [
        f"1: {DASHES}",
        f"3: {FIRST}",
        "6: unknown element <zzz> in <model>; it is not read",
    ]


def test_a_declaration_that_comes_late_still_names_the_encoding() -> None:
    text = f'\n<?xml version="1.0" encoding="iso-8859-1"?>{FILES["sdf"]}'.replace('"m"', '"bär"')
    (robot,) = load("sdf", text.encode("latin-1"))
    assert robot.name == "bär"


def test_what_only_looks_like_a_comment_stays() -> None:
    (robot,) = load("hrdf", '<robot version="1.6.0"><rigid-body mass="1" tag="a--b"/></robot>')
    assert (robot.warnings, robot.links[0].name) == ((), "a--b")
    text = FILES["sdf"].replace('name="m">', 'name="m"><static><![CDATA[<!--f--alse-->]]></static>')
    assert refusal(text) == (
        "case.sdf:2: <static> '<!--f--alse-->' is neither true nor false; write true, false, 1 or 0"
    )


@table("text, message")
def test_an_error_in_the_xml_is_told_with_what_to_do(text: str | bytes, message: str) -> None:
    line, _, said = message.partition(": ")
    assert refusal(text) == f"case.sdf:{line}: this is no well-formed XML; {said}"


def test_a_prefix_that_nothing_declares_is_an_error_but_in_sdf() -> None:
    with pytest.raises(FormatError) as caught:
        load("skel", "<skel><x:y/></skel>")
    assert str(caught.value) == (
        "case.skel:1: this is no well-formed XML; Namespace prefix x on y is not defined; "
        'remove the prefix, or declare it with xmlns:…="…"'
    )


@pytest.mark.parametrize(
    "slips",
    ["<!-- -- -->" * 2_000, f"<!--{'-- ' * 100_000}-->", "<!--<!-- -->" * 2_000],
    ids=["many comments", "many dashes", "openings in comments"],
)
def test_a_flood_of_slips_takes_little_more_memory_than_its_text(slips: str) -> None:
    data = (slips + FILES["sdf"]).encode()
    tracemalloc.start()
    try:
        (robot,) = load("sdf", data)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 20 * len(data) + 300_000
    assert 1 <= len(robot.warnings) <= 1000


def test_a_file_of_openings_without_an_end_is_refused() -> None:
    assert refusal("<!--" * 50_000) == (
        "case.sdf:1: this is no well-formed XML; Double hyphen within comment: <!--<!; "
        "write - there, and end the comment with -->"
    )


def limits_of(name: str, lower: str) -> list[float]:
    """Return the lower limit that a format reads, of a joint or, where it has none, the first position."""
    ends = "<parent>world</parent><child>b</child>"
    limit = f"<axis><xyz>0 0 1</xyz><limit><lower>{lower}</lower><upper>2</upper></limit></axis>"
    joint = f'<joint type="revolute" name="j">{ends}{limit}</joint>'
    text = {
        "skel": f'<skel><world><skeleton name="s"><body name="b"/>{joint}</skeleton></world></skel>',
        "sdf": f'<sdf version="1.9"><model name="m"><link name="b"/>{joint}</model></sdf>',
        "xmdi": FILES["xmdi"].replace("0 1</position>", f"{lower} 1</position>"),
    }[name]
    (found,) = load(name, text)
    assert found.warnings == ()
    return [found.positions[0, 0]] if name == "xmdi" else [found.joints[0].coordinates[0].lower]


@pytest.mark.parametrize("name", ["skel", "sdf", "xmdi"])
@table("lower")
def test_a_comment_within_an_element_does_not_cut_its_value(name: str, lower: str) -> None:
    assert limits_of(name, lower) == [-1.05]


@pytest.mark.parametrize("name", ["skel", "sdf", "xmdi"])
@pytest.mark.parametrize("lower", ["<deg/>-1.05", "-1.05<deg/>", "-1<deg>0</deg>.05"])
def test_an_element_within_a_value_is_refused(name: str, lower: str) -> None:
    with pytest.raises(FormatError) as caught:
        limits_of(name, lower)
    tag, line = ("position", 2) if name == "xmdi" else ("lower", 1)
    problem = f"<deg> in <{tag}>; it holds a value alone; remove it"
    assert str(caught.value) == f"case.{name}:{line}: {problem}"


@pytest.mark.parametrize("name", ["skel", "sdf"])
@pytest.mark.parametrize("lower", ["", " ", "<!-- -1.05 -->", "<?lower -1.05?>", "<![CDATA[]]>"])
def test_a_limit_that_is_empty_is_refused_rather_than_none(name: str, lower: str) -> None:
    with pytest.raises(FormatError) as caught:
        limits_of(name, lower)
    problem = "<lower> is empty; it would limit nothing; write a number, or remove it"
    assert str(caught.value) == f"case.{name}:1: {problem}"


@pytest.mark.parametrize(
    "written",
    [
        lambda text: f"<!-- 1 -->{text}",
        lambda text: f"<?unit m?>{text}",
        lambda text: f"{text}<!-- 2 --><?unit m?>",
        lambda text: f"{text[: len(text) // 2]}<!-- 3 -->{text[len(text) // 2 :]}",
        lambda text: f" <![CDATA[{text}]]>\t",
        lambda text: "".join(f"&#{ord(character)};" for character in text),
    ],
    ids=["comment before", "instruction before", "comment after", "comment within", "CDATA", "references"],
)
def test_a_file_means_the_same_however_xml_writes_its_texts(
    written: Callable[[str], str], tmp_path: Path
) -> None:
    """Of every format, with what it includes: limits, masses, poses, names and paths."""
    shutil.copytree(GOOD, tmp_path, dirs_exist_ok=True)
    files = ("crane.sdf", "sdf/rover.sdf", "workshop.skel", "legs/leg.hrdf", "urdf/picker.urdf")
    robots = [tmp_path / name for name in files]
    motions = [tmp_path / name for name in ("gestures.xmdi", "written.xmdi")]

    def read() -> str:
        found = [*map(load_robots, robots), *map(load_motions, motions)]
        with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
            return repr(found)

    plain, texts = read(), 0
    for path in (path for path in tmp_path.rglob("*") if path.suffix in XML_SUFFIXES):
        text, count = re.subn(
            r"(?<=>)[^<>]*[^<>\s][^<>]*(?=</)", lambda found: written(found[0]), path.read_text()
        )
        path.write_text(text)
        texts += count
    assert texts > 100
    assert read() == plain


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("sdf", '<sdf version="1.9"><model name="m"><link name="b"/><gz:system/></model></sdf>'),
        ("urdf", '<robot name="m"><link name="b"/><gz:system/></robot>'),
    ],
)
def test_a_default_namespace_means_nothing_to_sdf_and_urdf(name: str, plain: str) -> None:
    text = re.sub("<(sdf|robot)", r'<\1 xmlns="http://sdformat.org"', plain)
    ((robot,), (other,)) = load(name, text), load(name, plain)
    assert (robot.links[0].name, robot.warnings) == (other.links[0].name, other.warnings) == ("b", ())
