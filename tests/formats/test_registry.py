"""Which format reads a file, and the refusals when none fits."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from motiond.formats import FormatError, load_motion, load_motions, load_robot, load_robots, registry
from motiond.formats.foreign import foreign_format
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
ARM = '<robot version="1.5.0"><actuator type="X5-1"/></robot>'


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["wave.seq", "wave.SEQ", "wave.yaml", "wave"])
def test_a_motion_is_known_by_suffix_or_content(name: str) -> None:
    Path(name).write_text(WAVE)
    assert [motion.name for motion in load_motions(name)] == ["wave"]


@pytest.mark.parametrize("flow", [None, False, True])
def test_a_motion_with_sorted_keys_is_known_by_content(*, flow: bool | None) -> None:
    document = yaml.safe_load(WAVE)
    document["components"][0]["frames"] = [[0.5]] * 2_000
    Path("wave.yaml").write_text(yaml.dump(document, default_flow_style=flow))
    assert load_motion("wave.yaml").positions.shape == (2_000, 1)


def test_json_is_known_by_content() -> None:
    Path("wave.json").write_text(json.dumps(yaml.safe_load(WAVE)))
    assert load_motion("wave.json").positions.tolist() == [[0]]


def test_a_robot_is_known_by_content() -> None:
    Path("arm.xml").write_text(ARM)
    assert load_robot("arm.xml").dof == 1


@pytest.mark.parametrize(
    ("name", "text", "load", "message"),
    [
        (
            "arm.hrdf",
            ARM,
            load_motions,
            "arm.hrdf: is a robot description (hrdf); a motion is wanted here; give the right file",
        ),
        (
            "wave.seq",
            WAVE,
            load_robots,
            "wave.seq: is a motion (seq); a robot description is wanted here; give the right file",
        ),
        (
            "tea.txt",
            "tea\n",
            load_motions,
            (
                "tea.txt: no motion format fits; seq: not its suffix nor content; "
                "xmdi: not its suffix nor content; name it .seq or .xmdi if it is one"
            ),
        ),
        ("tea.txt", "tea\n", None, "missing.seq: cannot be read; no such file; check the path"),
    ],
)
def test_a_refusal_says_why(name: str, text: str, load: object, message: str) -> None:
    Path(name).write_text(text)
    with pytest.raises(FormatError) as caught:
        load(name) if callable(load) else load_motions("missing.seq")
    assert str(caught.value) == message


URDF = '<?xml version="1.0"?>\n<!-- <sdf> -->\n<robot name="arm">\n  <link name="base"/>\n</robot>\n'
LICENCE = "<!-- " + "as is, without warranty " * 300 + "-->\n"
MATERIALS = "".join(f'  <material name="m{one}"><color rgba="0 0 0 1"/></material>\n' for one in range(200))
POSES: dict[str, object] = {
    "type": "PoseSeq",
    "name": "wave",
    "refs": [{"time": 0, "refer": {"type": "Pose", "joints": [0], "q": [0.5]}}] * 400,
    "targetBody": "SR1",
}
READ_ROBOTS, READ_MOTIONS = (
    "robots are read from HRDF, SKEL and SDFormat",
    "motions are read from .seq and XMDI",
)
IS_URDF = f"is URDF; {READ_ROBOTS}; convert it: `gz sdf -p arm.urdf > arm.sdf`"
IS_CSV = (
    f"is CSV, a table without a frame rate; {READ_MOTIONS}; write it as .seq: "
    "`dump_motion(Motion(name, joints, frame_rate, times, positions), path)`"
)
IS_POSE_SEQ = (
    f"is a PoseSeq, the key poses of Choreonoid's editor; {READ_MOTIONS}; "
    "generate a body motion from it in Choreonoid and save that as .seq"
)


@table(
    "content, message",
    (URDF.replace("<robot", LICENCE + "<robot"), IS_URDF),
    (URDF.replace("  <link", MATERIALS + "  <link"), IS_URDF),
    (URDF.replace("<robot", LICENCE * 10 + "<robot"), IS_URDF),
    (",".join(f"joint_{number}" for number in range(5_000)) + "\n0.5" + ",0.5" * 4_999 + "\n", IS_CSV),
    (",".join(f"joint_{number}" for number in range(2_000)) + "\n0.5" + ",0.5" * 1_999 + "\n", IS_CSV),
    (json.dumps(POSES), IS_POSE_SEQ),
    (json.dumps(POSES, indent=2, sort_keys=True), IS_POSE_SEQ),
    (json.dumps(POSES, sort_keys=True), IS_POSE_SEQ),
    (yaml.dump(POSES), IS_POSE_SEQ),
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


LOOKS = WAVE.replace("components:\n", "source: { name: wave, type: PoseSeq }\nrefs_of: 1\ncomponents:\n")
KEPT = "  - { type: PoseSeq, content: Poses, refs: [ { time: 0, refer: p } ] }\n"
XMDI = (
    "<{0}><m>{1}<motion name='wave'><servo name='hip'>"
    "<position>0</position><frames>0</frames></servo></motion></m></{0}>"
)


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


def test_a_motion_is_known_by_content_after_a_licence() -> None:
    Path("wave.yaml").write_text("# as is, without warranty\n" * 400 + WAVE)
    assert load_motion("wave.yaml").positions.tolist() == [[0]]


def test_a_motion_in_utf_16_is_known_by_content() -> None:
    Path("wave.xml").write_bytes(XMDI.format("motions", "").encode("utf-16"))
    assert load_motion("wave.xml").positions.tolist() == [[0]]


def test_an_old_motion_with_sorted_keys_is_known_by_content() -> None:
    joints = {"type": "MultiValueSeq", "purpose": "JointPosition", "numParts": 1, "frames": [[0.5]] * 2_000}
    old = {"type": "BodyMotion", "frameRate": 10, "components": [joints]}
    Path("old.yaml").write_text(yaml.dump(old))
    assert load_motion("old.yaml").positions.shape == (2_000, 1)


def test_no_file_of_ours_is_taken_for_a_foreign_one() -> None:
    ours = [file for file in (ROOT / "tests" / "files" / "good").rglob("*") if file.is_file()]
    ours += [file for file in (ROOT / "config").rglob("*") if file.is_file()]
    assert len(ours) > 20
    assert [file for file in ours if foreign_format(file.read_bytes())] == []
    assert foreign_format(bytes(range(256))) is None


@table("text")
def test_a_text_that_is_no_table_is_not_taken_for_csv(text: str) -> None:
    assert foreign_format(text.encode()) is None


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


@pytest.mark.parametrize("kind", [registry.ROBOTS, registry.MOTIONS])
def test_every_format_keeps_the_contract(kind: registry.Kind[object]) -> None:
    assert kind.names == [one.NAME for one in kind.formats()]
    for one in kind.formats():
        assert one.NAME
        assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in one.SUFFIXES)
        assert one.sniff(b"") is False
        assert one.sniff(bytes(range(256))) is False
        assert callable(one.load)
