"""Which format reads a file, and the refusals when none fits."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import yaml

from motiond.formats import FormatError, load_motion, load_motions, load_robot, load_robots, registry

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


def test_a_motion_that_is_not_there_gets_the_nearest_name() -> None:
    Path("wave.seq").write_text(WAVE)
    assert load_motion("wave.seq", "wave").name == "wave"
    with pytest.raises(FormatError) as caught:
        load_motion("wave.seq", "wafe")
    assert str(caught.value) == "wave.seq: has no motion named 'wafe'; it has wave; did you mean 'wave'?"


@pytest.mark.parametrize(
    ("names", "name", "message"),
    [
        (["left", "right"], None, "two.hrdf: has 2 robots; it has left, right; name one of them"),
        (
            ["left", "right"],
            "rigth",
            "two.hrdf: has no robot named 'rigth'; it has left, right; did you mean 'right'?",
        ),
        (
            ["left", "left"],
            "left",
            "two.hrdf: has 2 robots named 'left'; it has left, left; give each its own name",
        ),
        ([], None, "two.hrdf: has no robot"),
    ],
)
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
    for one in kind.formats():
        assert one.NAME
        assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in one.SUFFIXES)
        assert one.sniff(b"") is False
        assert one.sniff(bytes(range(256))) is False
        assert callable(one.load)
