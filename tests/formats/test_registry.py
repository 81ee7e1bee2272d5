"""Which format reads a file, and the refusals when none fits."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from motiond.formats import FormatError, load_motion, load_motions, load_robot, load_robots, registry
from motiond.formats.io import foreign_format
from tests.tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]

WAVE = """type: CompositeSeq
content: BodyMotion
formatVersion: 2
frameRate: 10
components:
  - { type: MultiValueSeq, content: JointDisplacement, numParts: 1, frames: [ [ 0 ] ] }
"""
URDF = '<?xml version="1.0"?>\n<!-- <sdf> -->\n<robot name="arm">\n  <link name="base"/>\n</robot>\n'
LICENCE = "<!-- " + "as is, without warranty " * 300 + "-->\n"
MATERIALS = "".join(f'  <material name="m{one}"><color rgba="0 0 0 1"/></material>\n' for one in range(200))
ARM = '<robot version="1.5.0"><actuator type="X5-1"/></robot>'


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def motion_of(rows: int, version: str = "2") -> dict[str, Any]:
    """Return a motion as a document, whose keys are sorted when it is dumped."""
    document: dict[str, Any] = yaml.safe_load(WAVE)
    document["components"][0]["frames"] = [[0]] * rows
    if version == "1":
        document["components"][0] |= {"purpose": "JointPosition"}
        del document["components"][0]["content"], document["content"], document["formatVersion"]
        document["type"] = "BodyMotion"
    return document


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wave.seq", WAVE),
        ("wave.SEQ", WAVE),
        ("wave.yaml", WAVE),
        ("wave", WAVE),
        ("wave.yaml", "# as is, without warranty\n" * 400 + WAVE),
        ("wave.json", json.dumps(motion_of(1))),
        ("wave.yaml", yaml.dump(motion_of(2_000))),
        ("wave.yaml", yaml.dump(motion_of(2_000), default_flow_style=False)),
        ("wave.yaml", yaml.dump(motion_of(2_000), default_flow_style=True)),
        ("old.yaml", yaml.dump(motion_of(2_000, "1"))),
    ],
)
def test_a_motion_is_known_by_suffix_or_content(name: str, content: str) -> None:
    Path(name).write_text(content)
    motion = load_motion(name)
    assert (motion.name, motion.positions[0].tolist()) == (Path(name).stem, [0])


@pytest.mark.parametrize("name", ["arm.hrdf", "arm.HRDF", "arm.xml"])
def test_a_robot_is_known_by_suffix_or_content(name: str) -> None:
    Path(name).write_text(f"<?xml version='1.0'?><!-- <sdf> -->{ARM}")
    assert load_robot(name).dof == 1


@pytest.mark.parametrize("name", ["arm.urdf", "arm.URDF", "arm.xml", "arm.urdf.xacro"])
@pytest.mark.parametrize(
    "content",
    [
        URDF,
        URDF.replace("<robot", LICENCE + "<robot"),
        URDF.replace("  <link", MATERIALS + "  <link"),
        URDF.replace("<robot", "<robot xmlns:xacro='http://www.ros.org/wiki/xacro'"),
        URDF.encode("utf-16"),
        URDF.encode("utf-32"),
    ],
)
def test_urdf_is_known_from_hrdf_by_what_is_in_it(name: str, content: str | bytes) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert load_robot(name).format == "urdf"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("arm.hrdf", "URDF", "(urdf); its suffix is that of hrdf; name it .urdf"),
        ("arm.sdf", "URDF", "(urdf); its suffix is that of sdf; name it .urdf"),
        ("arm.urdf", "ARM", "(hrdf); its suffix is that of urdf; name it .hrdf"),
        ("arm.urdf", "<sdf version='1.9'/>", "(sdf); its suffix is that of urdf; name it .sdf"),
    ],
)
def test_a_robot_under_the_suffix_of_another_format_is_named_for_what_it_is(
    name: str, content: str, message: str
) -> None:
    Path(name).write_text({"URDF": URDF, "ARM": ARM}.get(content, content))
    with pytest.raises(FormatError) as caught:
        load_robots(name)
    assert str(caught.value) == f"{name}: is a robot description {message}"


def test_a_file_that_nothing_reads_is_refused_with_the_reason() -> None:
    Path("arm.hrdf").write_text(ARM)
    Path("wave.seq").write_text(WAVE)
    Path("tea.txt").write_text("tea\n")
    messages: dict[tuple[str, Callable[[str], object]], str] = {
        ("arm.hrdf", load_motions): "is a robot description (hrdf); a motion is wanted here",
        ("wave.seq", load_robots): "is a motion (seq); a robot description is wanted here",
    }
    for (name, load), problem in messages.items():
        with pytest.raises(FormatError) as caught:
            load(name)
        assert str(caught.value) == f"{name}: {problem}; give the right file"
    with pytest.raises(FormatError) as caught:
        load_motions("tea.txt")
    nor = "; ".join(f"{name}: not its suffix nor content" for name in registry.MOTIONS.names)
    suffixes = " or ".join(suffix for one in registry.MOTIONS.formats() for suffix in one.SUFFIXES)
    assert str(caught.value) == f"tea.txt: no motion format fits; {nor}; name it {suffixes} if it is one"
    assert nor.startswith("npz: not its suffix nor content; ")
    assert suffixes.startswith(".npz or ")


@table(
    "content, message",
)
@pytest.mark.parametrize(
    ("load", "name"),
    [
        (load_robots, "arm.hrdf"),
        (load_robots, "arm.xml"),
        (load_motions, "arm.seq"),
        (load_motions, "arm.txt"),
    ],
)
def test_a_foreign_file_is_named_for_what_it_is(
    content: str | bytes, message: str, load: Callable[[str], object], name: str
) -> None:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(FormatError) as caught:
        load(name)
    assert str(caught.value) == f"{name}: {message}"


@table("name, text")
def test_a_good_motion_may_look_like_something_else(name: str, text: str) -> None:
    Path(name).write_text(text)
    assert load_motion(name).positions.tolist() == [[0]]


@table("text")
def test_what_is_wrong_with_a_motion_that_looks_like_something_else_is_told(text: str) -> None:
    Path("wave.seq").write_text(re.sub("(frameRate.*) 10", r"\1 -1", text))
    with pytest.raises(FormatError) as caught:
        load_motion("wave.seq")
    assert "frameRate is -1" in str(caught.value)


def test_braces_in_a_comment_make_no_template_of_a_description() -> None:
    Path("arm.sdf").write_text("<!-- of {{ arm }} <% 1 %> -->\n<sdf version='1.9'><model/></sdf>")
    with pytest.raises(FormatError) as caught:
        load_robots("arm.sdf")
    assert str(caught.value).startswith("arm.sdf:2: <model> has no")


def test_no_file_of_ours_is_taken_for_a_foreign_one() -> None:
    ours = [file for file in (ROOT / "tests" / "files" / "good").rglob("*") if file.is_file()]
    ours += [file for file in (ROOT / "config").rglob("*") if file.is_file()]
    assert len(ours) > 20
    assert [file.name for file in ours if foreign_format(file.read_bytes())] == ["arm.cfg.yaml"]
    assert foreign_format(bytes(range(256))) is None


@pytest.mark.parametrize(
    "part",
    ["{% a", "{{ a", "<% a", "<!-- ", "#", '"', "t ", "time.", "positions ", "deg"],
)
def test_what_a_file_is_takes_no_longer_than_its_length(part: str) -> None:
    """Where it took the square, each of these would take minutes."""
    many = part * (500_000 // len(part))
    for text in (many, f"<a>{many}", f"{many}x,hip\n0.5,0.5\n"):
        foreign_format(text.encode())


def test_a_file_in_a_folder_whose_suffix_says_little_is_a_motion_by_its_content(tmp_path: Path) -> None:
    files = {
        "wave.seq": b"",
        "home.yaml": b"joint_names: [a]\npoints: [{positions: [0], time_from_start: 0}]\n",
        "body.yaml": WAVE.encode(),
        "motiond.yaml": b"robots: {arm: {motions: [.]}}\n",
        "empty.yml": b"",
        "notes.txt": WAVE.encode(),
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    found = [name for name in files if registry.is_motion_file(tmp_path / name)]
    assert found == ["wave.seq", "home.yaml", "body.yaml"]


def test_a_motion_that_is_not_there_gets_the_nearest_name() -> None:
    Path("wave.seq").write_text(WAVE)
    assert load_motion("wave.seq", "wave").name == "wave"
    with pytest.raises(FormatError) as caught:
        load_motion("wave.seq", "wafe")
    assert str(caught.value) == "wave.seq: has no motion named 'wafe'; it has wave; did you mean 'wave'?"


@table("names, name, message")
def test_a_robot_is_picked_only_where_one_is_meant(
    names: list[str], name: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("arm.hrdf").write_text(ARM)
    arm = load_robot("arm.hrdf")
    robots = [dataclasses.replace(arm, name=one) for one in names]
    monkeypatch.setattr(registry, "load_robots", lambda _: robots)
    with pytest.raises(FormatError) as caught:
        load_robot("two.hrdf", name)
    assert str(caught.value) == message


def test_every_format_that_robots_are_written_in_keeps_the_contract() -> None:
    for name, writer in zip(registry.ROBOT_WRITERS, registry.robot_writers(), strict=True):
        assert name == writer.NAME
        assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in writer.SUFFIXES)
        assert callable(writer.dump)


@pytest.mark.parametrize("kind", [registry.ROBOTS, registry.MOTIONS])
def test_every_format_keeps_the_contract(kind: registry.Kind[object]) -> None:
    assert kind.names == [one.NAME for one in kind.formats()]
    assert [entry.suffixes for entry in kind.entries.values()] == [one.SUFFIXES for one in kind.formats()]
    for one in kind.formats():
        assert one.NAME
        assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in one.SUFFIXES)
        assert one.sniff(b"") is False
        assert one.sniff(bytes(range(256))) is False
        assert callable(one.load)
