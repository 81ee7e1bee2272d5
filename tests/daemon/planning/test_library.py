from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.planning.library import MotionLibrary
from motiond.formats import load_motions
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from motiond.formats import Motion

ELBOW: dict[str, dict[str, Any]] = {"elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 9}}}


def write(path: Path, *rows: float, label: str = "elbow") -> Path:
    lines = [
        "type: CompositeSeq",
        "content: BodyMotion",
        "format_version: 4",
        "frame_rate: 100",
        "components:",
        "  - type: MultiValueSeq",
        "    content: JointDisplacement",
        "    num_parts: 1",
        f"    part_labels: [{label}]",
        "    frames:",
        *(f"      - [{row}]" for row in rows),
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def library_of(*places: Path, load: Callable[[Path], list[Motion]] = load_motions) -> MotionLibrary:
    found = MotionLibrary(map_of(ELBOW), settings_of(ELBOW, motions=list(places)), load=load)
    found.load_all()
    return found


def test_motions_are_named_by_file_and_listed_by_name(tmp_path: Path) -> None:
    file = write(tmp_path / "wave.seq", 0.0, 0.01, 0.02)
    write(tmp_path / "nod.seq", 0.0, 0.01)
    (tmp_path / "README.md").write_text("no motion")
    write(tmp_path / ".hidden.seq", 0.0)
    found = library_of(tmp_path)
    assert [entry.name for entry in found] == ["nod", "wave"]
    wave = found.get("wave")
    assert wave is not None
    assert wave.plan is not None
    assert wave.payload() == {
        "name": "wave",
        "file": str(file),
        "ok": True,
        "duration": 0.02,
        "frame_rate": 100.0,
        "frames": 3,
        "joints": ["elbow"],
        "holds": [],
        "markers": [],
        "warnings": [],
        "max_speed": pytest.approx(9.0),
    }


def test_what_cannot_be_played_is_listed_with_the_reason(tmp_path: Path) -> None:
    file = write(tmp_path / "far.seq", 2.0, 2.05)
    (tmp_path / "torn.seq").write_text("")
    write(tmp_path / "toe.seq", 0.0, label="toe")
    missing = tmp_path / "no.seq"
    found = library_of(tmp_path, missing)
    reasons = {entry.name: entry.reason for entry in found}
    assert reasons["far"] == (
        "far: joint 'elbow' reaches 2.05 rad at 0.010 s (frame 1); its upper limit is 2 rad; "
        "lower the motion or raise `joints.elbow.limits.upper`"
    )
    assert reasons["toe"] == "toe: the robot has no joint 'toe'; it has elbow"
    assert reasons["no"] == f"{missing}: cannot be read; no such file; check the path"
    assert reasons["torn"].startswith(f"{tmp_path}/torn.seq")
    assert found.payload()["motions"][0] == {
        "name": "far",
        "file": str(file),
        "ok": False,
        "duration": 0.01,
        "frame_rate": 100.0,
        "frames": 2,
        "joints": ["elbow"],
        "holds": [],
        "markers": [],
        "warnings": [],
        "reason": reasons["far"],
    }


def test_joints_without_rows_are_listed_as_held(tmp_path: Path) -> None:
    joints = {**ELBOW, "base": ELBOW["elbow"], "wrist": ELBOW["elbow"]}
    file = write(tmp_path / "wave.seq", 0.0, 0.01)
    found = MotionLibrary(map_of(joints), settings_of(joints, motions=[file]))
    found.load_all()
    (wave,) = found.payload()["motions"]
    assert (wave["joints"], wave["holds"]) == (["elbow"], ["base", "wrist"])


def test_a_name_that_two_files_share_stands_for_neither(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a" / "wave.seq", 0.0), write(tmp_path / "b" / "wave.seq", 0.0)
    entry = library_of(first.parent, second.parent).get("wave")
    assert entry is not None
    assert entry.plan is None
    assert (
        entry.reason
        == f"wave: 2 motions have this name; they are in {first} and {second}; rename all but one"
    )


def test_a_reload_reads_what_changed_and_only_that(tmp_path: Path) -> None:
    read: list[str] = []

    def counted(path: Path) -> list[Motion]:
        read.append(path.name)
        return load_motions(path)

    write(tmp_path / "same.seq", 0.0)
    write(tmp_path / "gone.seq", 0.0)
    changed = write(tmp_path / "changed.seq", 0.0, 0.01)
    found = library_of(tmp_path, load=counted)
    read.clear()
    (tmp_path / "gone.seq").unlink()
    write(tmp_path / "new.seq", 0.0)
    write(changed, 0.0, 0.02)
    os.utime(changed, ns=(1, 1))
    found.load_all()
    assert read == ["changed.seq", "new.seq"]
    assert [entry.name for entry in found] == ["changed", "new", "same"]


def test_motions_are_planned_anew_for_another_rate(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, 0.02)
    found = library_of(tmp_path)
    found.max_rate_hz = 60.0
    found.load_all()
    wave = found.get("wave")
    assert wave is not None
    assert wave.plan is not None
    assert wave.plan.rate_hz == 50.0


def test_markers_beside_a_motion_are_listed_with_it(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, 0.02)
    cues = "markers: {end: {time: 0.015, payload: {light: off}}, clap: {frame: 1}}"
    (tmp_path / "wave.markers.yaml").write_text(cues)
    wave = library_of(tmp_path).get("wave")
    assert wave is not None
    assert wave.plan is not None
    assert wave.payload()["markers"] == [
        {"name": "clap", "frame": 1.0, "time": 0.01},
        {"name": "end", "frame": 1.5, "time": 0.015},
    ]
    assert wave.markers[1].payload == {"light": False}


def test_a_motion_whose_markers_are_wrong_is_not_played(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 2.0, 2.05)
    cues = tmp_path / "wave.markers.yaml"
    cues.write_text("markers: {clap: {frame: 2}}")
    wave = library_of(tmp_path / "wave.seq").get("wave")
    assert wave is not None
    assert wave.plan is None
    assert wave.reason == (
        "wave: joint 'elbow' reaches 2.05 rad at 0.010 s (frame 1); its upper limit is 2 rad; "
        "lower the motion or raise `joints.elbow.limits.upper`\n"
        f"{cues}:1: frame 2 is beyond the end; the last frame is 1, at 0.01 s; name an earlier one"
    )


def test_markers_that_come_change_and_go_are_read_anew(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01)
    cues = tmp_path / "wave.markers.yaml"
    found = library_of(tmp_path)
    names = []
    for number, text in enumerate(["markers: {one: {frame: 0}}", "markers: {two: {frame: 0}}", None, None]):
        if text:
            cues.write_text(text)
            os.utime(cues, ns=(number, number))
        else:
            cues.unlink(missing_ok=True)
        found.load_all()
        names.append([marker.name for entry in found for marker in entry.markers])
    assert names == [["one"], ["two"], [], []]


def test_each_motion_of_a_file_has_markers_of_its_own(tmp_path: Path) -> None:
    def two(path: Path) -> list[Motion]:
        (motion,) = load_motions(path)
        return [replace(motion, name=name) for name in ("rise", "fall")]

    write(tmp_path / "dance.seq", 0.0, 0.01)
    (tmp_path / "dance.fall.markers.yaml").write_text("markers: {thud: {frame: 1}}")
    stray = tmp_path / "dance.markers.yaml"
    stray.write_text("markers: {}")
    found = library_of(tmp_path, load=two)
    assert {entry.name: [marker.name for marker in entry.markers] for entry in found} == {
        "dance.markers.yaml": [],
        "fall": ["thud"],
        "rise": [],
    }
    lost = found.get("dance.markers.yaml")
    assert lost is not None
    assert lost.plan is None
    assert lost.reason == (
        f"{stray}: belongs to no motion; those of wave.seq stand in wave.markers.yaml, or in "
        "wave.NAME.markers.yaml if it holds several; did you mean 'dance.rise.markers.yaml'?"
    )


def test_markers_of_a_motion_that_cannot_be_read_are_not_called_lost(tmp_path: Path) -> None:
    (tmp_path / "torn.seq").write_text("")
    (tmp_path / "torn.markers.yaml").write_text("markers: {}")
    (tmp_path / ".other.markers.yaml").write_text("markers: {}")
    assert [entry.name for entry in library_of(tmp_path)] == ["torn"]


def test_an_unknown_motion_is_answered_with_those_there_are(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0)
    assert (
        library_of(tmp_path).unknown("wafe") == "arm: no motion 'wafe'; there are wave; did you mean 'wave'?"
    )
    assert library_of().unknown("wafe") == "arm: no motion 'wafe'; there are no motions at all"
