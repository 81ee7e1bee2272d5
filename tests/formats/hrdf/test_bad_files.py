"""Bad HRDF files are refused with every problem, and oddities warn."""

from pathlib import Path

import pytest

from motiond.formats import FormatError, hrdf
from motiond.formats.io.source import Source
from tests.tables import table

BAD = Path(__file__).parents[2] / "files" / "bad"


def refusal(text: str | bytes, path: Path = Path("arm.hrdf"), within: tuple[Path, ...] = ()) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(FormatError) as refused:
        hrdf.load(data, Source(path, within))
    return str(refused.value)


def refusal_of_file(path: Path) -> str:
    return refusal(path.read_bytes(), path)


def robot(body: str, version: str = "1.6.0") -> str:
    return f'<robot version="{version}">\n{body}\n</robot>'


SYNTAX = "a formula is made of numbers, pi, + - * / and parentheses"
EMPTY = "check that it is the right file, and that it begins with <"


@table("data, message")
def test_file_that_is_no_hrdf_is_refused(data: bytes, message: str) -> None:
    assert refusal(data) == message


@table("body, message")
def test_what_does_not_belong_is_refused(body: str, message: str) -> None:
    assert refusal(robot(body)) == f"arm.hrdf:2: {message}"


@table("body, message")
def test_wrong_attribute_is_refused(body: str, message: str) -> None:
    assert refusal(robot(body)) == f"arm.hrdf:2: {message}"


@table("element, path, fault")
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


def test_each_problem_names_its_own_file_once() -> None:
    part = BAD / "bad_leg_part.hrdf"
    first, second = refusal_of_file(BAD / "bad_leg.hrdf").splitlines()
    assert (
        first == f"{part}:2: 'mass' of <rigid-body>: unexpected 'heavy' at character 1 of 'heavy'; {SYNTAX}"
    )
    assert second.startswith(f"{BAD / 'bad_leg.hrdf'}:4: unknown actuator type 'Y5'; ")


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
