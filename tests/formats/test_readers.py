"""The contract of every reader: all problems at once, true pages, and an end to whatever a file piles up."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from motiond.formats import FormatError, Motion, Source
from tests.suffixes import format_of, suffix_of
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterable

BAD = Path(__file__).parents[1] / "files" / "bad"
PAGES = Path(__file__).parents[2] / "docs" / "formats"
FORMATS = (
    *("hrdf", "sdf", "skel", "urdf"),
    *("seq", "pseq", "bvh", "motion", "xmdi", "npz", "mcap", "yaml", "csv"),
)
LARGE = "counted with all included files; no real robot is that large"


def load(path: Path, within: tuple[Path, ...] = (), text: str = "") -> list[Any]:
    found: list[Any] = format_of(path.suffix).load(text.encode() or path.read_bytes(), Source(path, within))
    return found


def refusal(path: Path, within: tuple[Path, ...] = (), text: str = "") -> str:
    with pytest.raises(FormatError) as caught:
        load(path, within, text)
    return str(caught.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize("name", FORMATS)
def test_all_problems_of_a_file_come_at_once(name: str) -> None:
    (file,) = BAD.rglob(f"many_faults.{name}")
    assert refusal(file) + "\n" == file.with_name(f"many_faults_{name}.txt").read_text()


@pytest.mark.parametrize(
    ("name", "shown_as"), [("hrdf", "arm.hrdf"), ("sdf", "crane.sdf"), ("urdf", "arm.urdf")]
)
def test_messages_on_a_page_are_real(name: str, shown_as: str) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8").splitlines()
    (file,) = BAD.rglob(f"page.{name}")
    shown = [line.strip() for line in page if line.startswith(f"{shown_as}:")]
    assert refusal(file).replace(file.name, shown_as).splitlines() == shown


@table("name, joints")
def test_the_examples_of_a_page_are_read_without_a_warning(name: str, joints: tuple[str, ...]) -> None:
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    examples = re.findall(
        r"```(?:xml|yaml|text)\n((?:<|type:|#WEBOTS|HIERARCHY|time,|joint_names:|play_motion2:).*?)```",
        page,
        re.DOTALL,
    )
    assert examples
    for example in examples:
        (found,) = load(Path("arm").with_suffix(suffix_of(name)), text=example)
        names = found.joint_names if isinstance(found, Motion) else tuple(one.name for one in found.joints)
        assert (names, found.warnings) == (joints, ())


def robot(name: str, inside: str) -> str:
    """Return a file; the text given is on line 2."""
    return {
        "hrdf": f'<robot version="1.6.0">\n{inside}</robot>',
        "sdf": f'<sdf version="1.9"><model name="m"><link name="L"/>\n{inside}</model></sdf>',
        "urdf": f'<robot name="r"><link name="L"/>\n{inside}</robot>',
        "skel": f'<skel><world><skeleton name="s">\n{inside}</skeleton></world></skel>',
    }[name]


@table("name, inside, part")
def test_more_elements_than_any_robot_has_are_refused(name: str, inside: str, part: str) -> None:
    flood = inside.format("".join(part.replace("{n}", str(number)) for number in range(10_001)))
    assert (
        refusal(Path(f"arm.{name}"), text=robot(name, flood))
        == f"arm.{name}:2: more than 10000 elements; {LARGE}"
    )


@table("name, opening, closing")
def test_elements_that_nest_deeper_than_any_robot_are_refused(name: str, opening: str, closing: str) -> None:
    assert refusal(Path(f"arm.{name}"), text=robot(name, opening * 61 + closing * 61)) == (
        f"arm.{name}:2: elements and includes nest deeper than 60; {LARGE}"
    )


@pytest.fixture(params=["hrdf", "sdf"])
def including(request: pytest.FixtureRequest, tmp_path: Path) -> Including:
    return Including(request.param, tmp_path)


class Including:
    """Files of a format that include each other."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder

    def write(self, stem: str, includes: Iterable[str], more: str = "") -> Path:
        include = {
            "hrdf": '<include path="{}.hrdf"/>\n',
            "sdf": "<include><uri>{}.sdf</uri><name>i{}</name></include>\n",
        }[self.name]
        inside = "".join(include.format(other, number) for number, other in enumerate(includes))
        path = self.folder / f"{stem}.{self.name}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(robot(self.name, inside + more))
        return path


def test_files_that_include_each_other_are_refused_with_the_ring(including: Including) -> None:
    first, name = including.write("a", ["b"]), including.name
    including.write("b", ["a"])
    ring = f"a.{name} -> b.{name} -> a.{name}"
    message = f"b.{name}:2: files include each other in a ring; {ring}; remove one <include>"
    assert refusal(first).splitlines()[-1] == message


def test_includes_stay_within_the_folders_that_may_be_read(including: Including) -> None:
    name, models = including.name, including.folder / "models"
    secret = including.write("secret", [])
    path = including.write("models/arm", ["../secret", "link"])
    (models / f"link.{name}").symlink_to(secret)
    assert load(path)
    outside = f"it lies outside of {models}; move it there, or name its folder in `resource_paths`"
    assert refusal(path, (models,)).splitlines() == [
        f"arm.{name}:{line}: may not include '{uri}.{name}'; {outside}"
        for line, uri in ((2, "../secret"), (3, "link"))
    ]


@table("content, message")
def test_an_included_file_of_another_format_is_named_for_what_it_is(
    including: Including, content: str, message: str
) -> None:
    name = including.name
    including.write("part", ["deeper", "none"])
    (including.folder / f"deeper.{name}").write_text(content)
    line, other = 2 + 1, refusal(including.write("arm", ["part"]))
    missing = f"part.{name}:{line}: cannot include 'none.{name}'; "
    assert [text.partition(missing)[1] or text for text in other.splitlines()] == [
        f"deeper.{name}: {message}",
        missing,
    ]


def test_files_that_include_each_other_without_end_are_refused(including: Including) -> None:
    for level in range(62):
        including.write(str(level), [str(level + 1)])
    deep = refusal(including.folder / f"0.{including.name}").splitlines()[-1]
    assert deep.endswith(f"elements and includes nest deeper than 60; {LARGE}")
    for level in range(7):
        including.write(str(level), [str(level + 1)] * 2)
    part = {"hrdf": '<joint axis="rx"/>', "sdf": '<link name="l{}"/>'}[including.name]
    including.write("7", [], "".join(part.format(number) for number in range(100)))
    many = refusal(including.folder / f"0.{including.name}").splitlines()[-1]
    assert many.endswith(f"more than 10000 elements; {LARGE}")


def test_a_file_counts_as_often_as_it_is_included(including: Including) -> None:
    """What no budget of elements counts takes time as well, each time that it is parsed."""
    including.write("part", [], f"<!--{'=' * 250_000}-->")
    assert refusal(including.write("arm", ["part"] * 9)) == (
        f"arm.{including.name}:9: more than 100 MB, or 2000000 tags and attributes; {LARGE}"
    )
