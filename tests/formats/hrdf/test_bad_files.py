"""Bad HRDF files are refused with every problem, and oddities warn."""

from pathlib import Path

import pytest

from motiond.formats import FormatError, hrdf
from motiond.formats.io.source import Source
from tests.tables import table

BAD = Path(__file__).parents[2] / "files" / "bad"
PAGE = Path(__file__).parents[3] / "docs" / "formats" / "hrdf.md"


def refusal(text: str | bytes, path: Path = Path("arm.hrdf"), within: tuple[Path, ...] = ()) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(FormatError) as refused:
        hrdf.load(data, Source(path, within))
    return str(refused.value)


def refusal_of_file(path: Path) -> str:
    return refusal(path.read_bytes(), path)


def robot(body: str, version: str = "1.6.0") -> str:
    return f'<robot version="{version}">\n{body}\n</robot>'


CHAIN = "<actuator>, <bracket>, <link>, <rigid-body>, <joint>, <end-effector>, <include>"
SYNTAX = "a formula is made of numbers, pi, + - * / and parentheses"
EMPTY = "check that it is the right file, and that it begins with <"
HOLDS = "HRDF holds elements and comments"
BACK = "neighbours need the same type and the other polarity: put a bracket or a link between actuators"


@table("data, message")
def test_file_that_is_no_hrdf_is_refused(data: bytes, message: str) -> None:
    assert refusal(data) == message


@table("body, message")
def test_what_does_not_belong_is_refused(body: str, message: str) -> None:
    assert refusal(robot(body)) == f"arm.hrdf:2: {message}"


@table("body, message")
def test_wrong_attribute_is_refused(body: str, message: str) -> None:
    assert refusal(robot(body)) == f"arm.hrdf:2: {message}"


@pytest.mark.parametrize(
    ("element", "path", "fault"),
    [
        ("mesh_path", "/a.obj", "is absolute"),
        ("mesh_path", "C:/a.obj", "is absolute"),
        ("mesh_path", "ftp://example.com/a.obj", "is a web address"),
        ("mesh_path", "meshes\\a.obj", "has a backslash"),
        ("path", "/a.hrdf", "is absolute"),
        ("path", "https://example.com/a.hrdf", "is a web address"),
        ("path", "parts\\a.hrdf", "has a backslash"),
        ("path", "", "is empty"),
    ],
)
def test_paths_are_relative(element: str, path: str, fault: str) -> None:
    tag = "include" if element == "path" else 'rigid-body mass="1"'
    assert refusal(robot(f'<{tag} {element}="{path}"/>')) == (
        f"arm.hrdf:2: '{element}' of <{tag.partition(' ')[0]}>: {path!r} {fault}; "
        f"a path is relative, with `/` in it"
    )


@table("body, what, since")
def test_what_a_version_does_not_know_is_refused(body: str, what: str, since: str, tmp_path: Path) -> None:
    before = f"1.{int(since[2]) - 1}.0"
    assert refusal(robot(body, before)) == (
        f"arm.hrdf:2: {what} came with HRDF {since}; this file is of version {before}; "
        f'write version="{since}" in <robot>'
    )
    (tmp_path / "a.hrdf").write_text(f'<robot version="{since}"/>')
    hrdf.load(robot(body, since).encode(), Source(tmp_path / "arm.hrdf"))


def test_first_version_knows_no_formulas_rotations_or_description() -> None:
    assert refusal('<robot rot="Rx(1)" trans="pi 0 0" description="arm"/>') == (
        "arm.hrdf:1: 'rot' of <robot>: 'Rx(1)' has 1 numbers; a rotation is nine numbers, row by row, "
        "or a product such as Rx(pi/2)*Rz(pi)\n"
        "arm.hrdf:1: 'trans' of <robot>: 'pi' is no number; a number is written as 3.24, -.5 or 32e-4\n"
        "arm.hrdf:1: 'description' of <robot> came with HRDF 1.2.0; this file is of version 1.0.0; "
        'write version="1.2.0" in <robot>'
    )


@table("body, message")
def test_what_cannot_be_attached_is_refused(body: str, message: str) -> None:
    assert refusal(robot(body)) == f"arm.hrdf:2: {message}"


@table("body, message")
def test_tag_that_is_no_name_is_refused(body: str, message: str) -> None:
    assert refusal(robot(body)) == f"arm.hrdf:2: {message}"


def test_all_problems_of_a_file_are_told_at_once() -> None:
    path = BAD / "many_faults.hrdf"
    assert refusal_of_file(path).splitlines() == [
        f"{path}:1: unknown attribute 'colour' of <robot>; HRDF 1.6.0 knows version, rot, trans, description",
        (
            f"{path}:2: unknown actuator type 'X5-2'; HRDF 1.6.0 knows X5-1, X5-4, X5-9, X8-3, X8-9, X8-16, "
            "R8-3, R8-9, R8-16, T5-1, T5-4, T5-9, T8-3, T8-9, T8-16, R25-8, R25-20, R25-40, T25-8, "
            "T25-20, T25-40; "
            "did you mean 'X5-9'?"
        ),
        f"{path}:4: text '# a comment as in YAML' in <robot>; {HOLDS}; write a comment as <!-- \u2026 -->",
        f"{path}:5: tag 'elbow' is taken; {path}:3 has it; tags are unique in all included files",
        (
            f"{path}:5: <actuator> X5-4 tag 'elbow' does not fit on "
            f"the <actuator> X5-4 tag 'elbow' of {path}:3; "
            f"its input is X-AH-A and that output is X-AO-A; {BACK}"
        ),
        f"{path}:6: 'extension' of <link>: unexpected ',' at character 2 of '0,3'; {SYNTAX}",
        f"{path}:7: <Bracket> is not allowed in <robot>; it holds {CHAIN}; did you mean 'bracket'?",
    ]


def test_each_problem_names_its_own_file_once() -> None:
    part = BAD / "bad_leg_part.hrdf"
    first, second = refusal_of_file(BAD / "bad_leg.hrdf").splitlines()
    assert (
        first == f"{part}:2: 'mass' of <rigid-body>: unexpected 'heavy' at character 1 of 'heavy'; {SYNTAX}"
    )
    assert second.startswith(f"{BAD / 'bad_leg.hrdf'}:4: unknown actuator type 'Y5'; ")


def test_files_that_include_each_other_are_refused_with_the_ring() -> None:
    ring, back = BAD / "ring.hrdf", BAD / "ring_back.hrdf"
    again = BAD / ".." / "bad" / "ring.hrdf"
    assert refusal_of_file(ring) == (
        f"{back}:3: files include each other in a ring; {ring} -> {back} -> {again}; remove one <include>"
    )


def test_include_that_is_missing_or_no_hrdf_is_refused_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "text.hrdf").write_text("servo: 1")
    path = tmp_path / "arm.hrdf"
    body = '<include path="lost.hrdf"/><include path="."/><include path="text.hrdf"/><joint/>'
    assert refusal(robot(body), path).splitlines() == [
        (f"{path}:2: cannot include 'lost.hrdf'; {tmp_path}/lost.hrdf: no such file; check the path"),
        f"{path}:2: cannot include '.'; {tmp_path}: it is a folder; check the path",
        f"{path}:2: <joint> has no 'axis'; it is required; write axis=\"\u2026\"",
        f"{tmp_path}/text.hrdf:1: this is no well-formed XML; Start tag expected, '<' not found; {EMPTY}",
    ]


def test_symbolic_links_in_a_ring_are_refused(tmp_path: Path) -> None:
    loop, path = tmp_path / "loop.hrdf", tmp_path / "arm.hrdf"
    loop.symlink_to(loop)
    whys = ("symbolic links lead in a ring", "Too many levels of symbolic links")  # from Python 3.13 on
    assert refusal(robot('<include path="loop.hrdf"/>'), path) in {
        f"{path}:2: cannot include 'loop.hrdf'; {loop}: {reason}; check the path" for reason in whys
    }


def test_includes_stay_within_the_model_folders(tmp_path: Path) -> None:
    models, secret = tmp_path / "models", tmp_path / "secret.hrdf"
    models.mkdir()
    secret.write_text('<robot version="1.6.0"/>')
    (models / "link.hrdf").symlink_to(secret)
    text = robot('<include path="../secret.hrdf"/><include path="link.hrdf"/><include path="../lost.hrdf"/>')
    path = models / "arm.hrdf"
    outside = f"it lies outside of {models}, parts; move it there"
    assert refusal(text, path, within=(models, Path("parts"))).splitlines() == [
        f"{path}:2: may not include '{name}'; {outside}"
        for name in ("../secret.hrdf", "link.hrdf", "../lost.hrdf")
    ]
    hrdf.load(text.replace('<include path="../lost.hrdf"/>', "").encode(), Source(path))


def test_endless_files_end_in_a_message(tmp_path: Path) -> None:
    large = "counted with all included files; no real robot is that large"
    assert refusal(robot('<joint axis="rx"/>' * 10_001)) == f"arm.hrdf:2: more than 10000 elements; {large}"
    deep = '<rigid-body mass="1"><output>' * 61 + "</output></rigid-body>" * 61
    assert refusal(robot(deep)) == f"arm.hrdf:2: elements and includes nest deeper than 60; {large}"
    for level in range(61):
        (tmp_path / f"{level}.hrdf").write_text(robot(f'<include path="{level + 1}.hrdf"/>'))
    assert refusal(robot('<include path="0.hrdf"/>'), tmp_path / "arm.hrdf") == (
        f"{tmp_path / '59.hrdf'}:2: elements and includes nest deeper than 60; {large}"
    )
    for level in range(7):
        (tmp_path / f"{level}.hrdf").write_text(robot(f'<include path="{level + 1}.hrdf"/>' * 2))
    (tmp_path / "7.hrdf").write_text(robot('<joint axis="rx"/>' * 100))
    assert "more than 10000 elements" in refusal(robot('<include path="0.hrdf"/>'), tmp_path / "arm.hrdf")


def test_a_file_counts_as_often_as_it_is_included(tmp_path: Path) -> None:
    """What no budget of elements counts takes time as well, each time that it is parsed."""
    (tmp_path / "part.hrdf").write_text(robot(f"<!--{'=' * 250_000}-->"))
    assert refusal(robot('<include path="part.hrdf"/>\n' * 9), tmp_path / "arm.hrdf") == (
        f"{tmp_path}/arm.hrdf:9: more than 100 MB, or 2000000 tags and attributes; "
        "counted with all included files; no real robot is that large"
    )


def test_messages_on_the_page_are_real() -> None:
    page = PAGE.read_text(encoding="utf-8").splitlines()
    shown = [line.strip() for line in page if line.startswith("arm.hrdf:")]
    assert (
        shown == refusal_of_file(BAD / "page.hrdf").replace(str(BAD / "page.hrdf"), "arm.hrdf").splitlines()
    )
