from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest

from motiond.daemon.planning.library import Entry, MotionLibrary, library, reader
from motiond.daemon.planning.library.reader import DEFAULTS, MotionReader
from motiond.drivers.limits import ActuatorLimits
from motiond.formats import ReadOptions, dump_motion, load_motion, load_motions
from motiond.formats.io import open_regular, source
from tests.daemon.rig import write_seq
from tests.robots import map_of, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from motiond.formats import Motion

ELBOW: dict[str, dict[str, Any]] = {"elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 9}}}


def write(path: Path, *rows: float, label: str = "elbow") -> Path:
    path.parent.mkdir(exist_ok=True)
    write_seq(path, np.array(rows).reshape(-1, 1), (label,), 100)
    return path


class Reader(MotionReader):
    def __init__(self, load: Callable[[Path], list[Motion]]) -> None:
        super().__init__()
        self._load = load

    def load_motions(self, path: Path, options: ReadOptions = DEFAULTS) -> list[Motion]:
        return load_motions(path, options=options) if options.map else self._load(path)


def library_of(*places: Path, load: Callable[[Path], list[Motion]] = load_motions) -> MotionLibrary:
    motions = MotionLibrary(map_of(ELBOW), settings_of(ELBOW, motions=list(places)), reader=Reader(load))
    motions.load_all()
    return motions


def entry_of(motions: MotionLibrary, name: str) -> Entry:
    entry = motions.get(name)
    assert entry is not None
    return entry


def test_motions_are_named_by_file_and_listed_by_name(tmp_path: Path) -> None:
    file = write(tmp_path / "wave.seq", 0.0, 0.01, 0.0)
    write(tmp_path / "nod.seq", 0.0, 0.01)
    (tmp_path / "README.md").write_text("no motion")
    write(tmp_path / ".hidden.seq", 0.0)
    motions = library_of(tmp_path)
    assert [entry.name for entry in motions] == ["nod", "wave"]
    joints = {**ELBOW, "base": ELBOW["elbow"], "wrist": ELBOW["elbow"]}
    motions = MotionLibrary(map_of(joints), settings_of(joints, motions=[tmp_path]))
    motions.load_all()
    wave = entry_of(motions, "wave")
    assert wave.plan is not None
    assert wave.payload() == {
        "name": "wave",
        "file": str(file),
        "ok": True,
        "duration": 0.02,
        "frame_rate": 100.0,
        "frames": 3,
        "joints": ["elbow"],
        "holds": ["base", "wrist"],
        "markers": [],
        "warnings": [],
        "max_speed": pytest.approx(4.5),
    }


def test_a_table_in_degrees_is_a_motion_as_any(tmp_path: Path) -> None:
    (tmp_path / "nod.csv").write_text("time,elbow [deg]\n0.000,0\n0.033,1\n0.067,2\n0.100,0\n")
    nod = entry_of(library_of(tmp_path), "nod")
    assert (nod.reason, nod.frames, nod.frame_rate) == ("", 4, 30.0)


def test_a_folder_for_uploads_that_is_not_made_yet_is_empty(tmp_path: Path) -> None:
    file = write(tmp_path / "motions" / "wave.seq", 0.0, 0.01)
    places = [file.parent, {"folder": tmp_path / "taught", "upload": True}]
    motions = MotionLibrary(map_of(ELBOW), settings_of(ELBOW, motions=places))
    motions.load_all()
    assert [entry.name for entry in motions] == ["wave"]
    write(tmp_path / "taught" / "nod.seq", 0.0, 0.01)
    motions.load_all()
    assert [entry.name for entry in motions] == ["nod", "wave"]


def test_what_cannot_be_played_is_listed_with_the_reason(tmp_path: Path) -> None:
    file = write(tmp_path / "far.seq", 2.0, 2.05)
    (tmp_path / "torn.seq").write_text("")
    write(tmp_path / "toe.seq", 0.0, label="toe")
    missing = tmp_path / "no.seq"
    motions = library_of(tmp_path, missing)
    reasons = {entry.name: entry.reason for entry in motions}
    assert reasons["far"] == (
        "far: joint 'elbow' reaches 2.05 rad at 0.010 s (frame 1); its upper limit is 2 rad; "
        "lower the motion or raise `joints.elbow.limits.upper`"
    )
    assert (
        reasons["toe"] == "toe: the robot has no joint 'toe'; it has elbow; map or ignore it by `motion_map`"
    )
    assert reasons["no"] == f"{missing}: cannot be read; no such file; check the path"
    assert reasons["torn"].startswith(f"{tmp_path}/torn.seq")
    assert motions.payload()["motions"][0] == {
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


def test_a_file_with_fewer_rows_than_it_states_is_played_only_where_that_is_allowed(tmp_path: Path) -> None:
    file = write(tmp_path / "wave.seq", 0.0, 0.01, 0.0)
    file.write_text(file.read_text().replace("num_parts: 1", "num_parts: 1\n    num_frames: 5"))
    wave = entry_of(library_of(file), "wave")
    assert wave.plan is None
    assert wave.frames == 3
    assert wave.reason == (
        "wave: JointDisplacement ends after 3 of the 5 frames that its file states; so does a copy that was "
        "interrupted; copy it again, correct the count, or set `allow_short_files: true`"
    )
    warning = (
        f"{file}:11: num_frames is 5 and component 0 has 3 frames; the frames count; "
        "correct num_frames if none are missing"
    )
    assert wave.warnings == (warning,)
    allowed = MotionLibrary(map_of(ELBOW), settings_of(ELBOW, motions=[file], allow_short_files=True))
    allowed.load_all()
    (wave,) = allowed
    assert wave.plan is not None
    assert (wave.reason, wave.warnings) == ("", (warning,))


def test_a_name_that_two_files_share_stands_for_neither(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a" / "wave.seq", 0.0), write(tmp_path / "b" / "wave.seq", 0.0)
    entry = entry_of(library_of(first.parent, second.parent), "wave")
    assert entry.plan is None
    assert (
        entry.reason
        == f"wave: 2 motions have this name; they are in {first} and {second}; rename all but one"
    )


def test_a_name_that_stands_in_xmdi_is_changed_there(tmp_path: Path) -> None:
    first, second = write(tmp_path / "wave.seq", 0.0), tmp_path / "wave200.xmdi"
    dump_motion(load_motion(first), second)
    assert entry_of(library_of(tmp_path), "wave").reason == (
        f"wave: 2 motions have this name; they are in {first} and {second}; "
        "rename all but one, those in XMDI by the `name` of their <motion>"
    )


def test_a_motion_too_slow_for_the_command_lifetime_is_listed_with_the_mend(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01)
    too_few = (
        "wave: 100 frames/s are too few; the actuators release between setpoints that come at less "
        "than 100.5 Hz; `motiond convert --rate 101`, or raise `command_lifetime_s`"
    )
    for min_rate_hz, reason in ((100.0, ""), (100.5, too_few)):
        settings = settings_of(ELBOW, motions=[tmp_path])
        motions = MotionLibrary(map_of(ELBOW), settings, min_rate_hz=min_rate_hz)
        motions.load_all()
        (wave,) = motions
        assert (wave.reason, wave.plan is None) == (reason, bool(reason))


def test_a_reload_reads_what_changed_and_only_that(tmp_path: Path) -> None:
    read: list[str] = []

    def counted(path: Path) -> list[Motion]:
        read.append(path.name)
        return load_motions(path)

    write(tmp_path / "same.seq", 0.0)
    write(tmp_path / "gone.seq", 0.0)
    changed = write(tmp_path / "changed.seq", 0.0, 0.01)
    motions = library_of(tmp_path, load=counted)
    read.clear()
    (tmp_path / "gone.seq").unlink()
    write(tmp_path / "new.seq", 0.0)
    write(changed, 0.0, 0.02)
    os.utime(changed, ns=(1, 1))
    motions.load_all()
    assert read == ["changed.seq", "new.seq"]
    assert [entry.name for entry in motions] == ["changed", "new", "same"]


def test_markers_beside_a_motion_are_listed_with_it(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, 0.02)
    cues = "markers: {end: {time: 0.015, payload: {light: off}}, clap: {frame: 1}}"
    (tmp_path / "wave.markers.yaml").write_text(cues)
    wave = entry_of(library_of(tmp_path), "wave")
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
    wave = entry_of(library_of(tmp_path / "wave.seq"), "wave")
    assert wave.plan is None
    assert wave.reason == (
        "wave: joint 'elbow' reaches 2.05 rad at 0.010 s (frame 1); its upper limit is 2 rad; "
        "lower the motion or raise `joints.elbow.limits.upper`\n"
        f"{cues}:1: frame 2 is beyond the end; the last frame is 1, at 0.01 s; name an earlier one"
    )


def test_markers_that_come_change_and_go_are_read_anew(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01)
    cues = tmp_path / "wave.markers.yaml"
    motions = library_of(tmp_path)
    names = []
    for number, text in enumerate(["markers: {one: {frame: 0}}", "markers: {two: {frame: 0}}", None, None]):
        if text:
            cues.write_text(text)
            os.utime(cues, ns=(number, number))
        else:
            cues.unlink(missing_ok=True)
        motions.load_all()
        names.append([marker.name for entry in motions for marker in entry.markers])
    assert names == [["one"], ["two"], [], []]


def mapped_library(folder: Path, text: str) -> tuple[MotionLibrary, Path]:
    file = folder / "arm.map.yaml"
    file.write_text(text)
    motions = MotionLibrary(map_of(ELBOW), settings_of(ELBOW, motions=[folder], motion_map=file))
    motions.load_all()
    return motions, file


def goes_to(motions: MotionLibrary, name: str = "wave") -> float:
    """Return where a motion ends, in rad."""
    planned = entry_of(motions, name).plan
    assert planned is not None
    return float(planned.positions[-1, 0])


def test_in_a_folder_what_only_says_something_of_motions_is_none(tmp_path: Path) -> None:
    """A file of these names is no motion, whatever is in it; of other YAML, what is a trajectory is one."""
    write(tmp_path / "wave.seq", 0.0, 0.01)
    trajectory = "{joint_names: [elbow], points: [{positions: [0], time_from_start: 0}]}"
    for name in ("arm.map.yaml", "wave.markers.yaml", "ARM.MAP.YAML", "nod.yaml", "bow.yml"):
        (tmp_path / name).write_text(trajectory)
    (tmp_path / "arm.cfg.yaml").write_text("version: 1.0\nfamilies: [Arm]\nnames: [elbow]\n")
    (tmp_path / "motiond.yaml").write_text("robots: {}\n")
    assert [entry.file.name for entry in library_of(tmp_path)] == ["bow.yml", "nod.yaml", "wave.seq"]


def test_a_robots_map_applies_to_its_motions_but_to_those_of_its_own_joints(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, label="J2")
    write(tmp_path / "own.seq", 0.0, 0.01)
    write(tmp_path / "strange.seq", 0.0, 0.01, label="J3")
    motions, _ = mapped_library(tmp_path, "joints: {elbow: {from: J2, sign: -1}}")
    assert (goes_to(motions), goes_to(motions, "own")) == (-0.01, 0.01)
    assert (
        entry_of(motions, "strange").reason
        == "strange: the robot has no joint 'J3'; it has elbow; map or ignore it by `motion_map`"
    )
    assert [entry.name for entry in motions.check(write(tmp_path / "new.seq", 0.0, 0.01, label="J2"))] == [
        "new"
    ]


def test_a_map_that_changes_has_all_motions_read_again_and_only_then(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, label="J2")
    motions, file = mapped_library(tmp_path, "joints: {elbow: {from: J2, sign: -1}}")
    motions.load_all()
    assert motions.files_read == 1
    file.write_text("joints: {elbow: J2}")
    motions.load_all()
    assert (goes_to(motions), motions.files_read) == (0.01, 2)


def test_with_a_wrong_map_no_motion_is_played_and_each_says_why(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, label="J2")
    motions, file = mapped_library(tmp_path, "joints: {elbow: {from: J2, sing: -1}}")
    entry = entry_of(motions, "wave")
    assert entry.plan is None
    assert entry.reason == (
        f"{file}:1: unknown key 'sing'; known are from, sign, offset, unit; did you mean 'sign'?"
    )
    assert [entry.reason for entry in motions.check(tmp_path / "wave.seq")] == [entry.reason]
    file.unlink()
    motions.load_all()
    assert entry_of(motions, "wave").reason == f"{file}: cannot be read; no such file; check the path"


def test_in_a_watched_folder_a_map_counts_once_it_is_written_and_a_broken_one_leaves_what_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, label="J2")
    motions, file = mapped_library(tmp_path, "joints: {elbow: {from: J2, sign: -1}}")
    file.write_text("joints: {elbow: J2}")
    motions.load_all(may_read=lambda path: path != file)
    assert goes_to(motions) == -0.01
    motions.load_all(may_read=lambda _: True)
    assert goes_to(motions) == 0.01
    file.write_text("joints: {elbow: }")
    motions.load_all(may_read=lambda _: True)
    assert goes_to(motions) == 0.01
    (message,) = caplog.messages
    assert message == (
        f"{tmp_path}/wave.seq: the file has changed and cannot be played as it is now; "
        f"{file}:1: joint 'elbow' is empty; it is a name; write it, a number in quotes; "
        "what it held before stays"
    )
    motions.load_all()
    assert entry_of(motions, "wave").plan is None


def test_a_map_that_cannot_be_read_for_a_moment_stays_and_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01, label="J2")
    motions, file = mapped_library(tmp_path, "joints: {elbow: {from: J2, sign: -1}}")
    file.write_text("joints: {elbow: J2}")

    def fail(path: Path) -> Any:
        if path == file:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_regular(path)

    with monkeypatch.context() as patch:
        patch.setattr(source, "open_regular", fail)
        motions.load_all()
        assert motions.problems == (f"{file}: cannot be read; Too many open files; check the path; {STAYS}",)
        assert (goes_to(motions), motions.is_incomplete()) == (-0.01, True)
    motions.load_all(may_read=lambda path: path != file)
    assert (goes_to(motions), motions.is_incomplete()) == (0.01, False)


LOST = (
    "belongs to no motion; those of wave.seq stand in wave.markers.yaml, or in wave.NAME.markers.yaml "
    "if it holds several"
)


def test_each_motion_of_a_file_has_markers_of_its_own_and_others_are_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def two(path: Path) -> list[Motion]:
        (motion,) = load_motions(path)
        return [replace(motion, name=name) for name in ("rise", "fall")]

    write(tmp_path / "dance.seq", 0.0, 0.01)
    (tmp_path / "dance.fall.markers.yaml").write_text("markers: {thud: {frame: 1}}")
    stray = tmp_path / "dance.markers.yaml"
    stray.write_text("markers: {}")
    motions = library_of(tmp_path, load=two)
    assert {entry.name: [marker.name for marker in entry.markers] for entry in motions} == {
        "fall": ["thud"],
        "rise": [],
    }
    motions.load_all()
    assert caplog.messages == [f"arm: {stray}: {LOST}; did you mean 'dance.rise.markers.yaml'?"]


def test_a_marker_file_that_loses_its_motion_is_warned_of_and_is_no_motion(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01)
    cues = tmp_path / "wave.markers.yaml"
    cues.write_text("markers: {}")
    motions = library_of(tmp_path)
    assert caplog.messages == []
    (tmp_path / "wave.seq").unlink()
    motions.load_all()
    assert [entry.name for entry in motions] == []
    assert caplog.messages == [f"arm: {cues}: {LOST}; rename or remove it"]
    caplog.clear()
    cues.unlink()
    motions.load_all()
    cues.write_text("markers: {}")
    motions.load_all()
    assert len(caplog.messages) == 1


def test_an_unknown_motion_is_answered_with_those_there_are(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0)
    assert library_of(tmp_path).unknown("wafe") == (
        "no motion 'wafe'",
        "there are wave",
        "did you mean 'wave'?",
    )
    assert library_of().unknown("wafe") == ("no motion 'wafe'", "there are no motions at all", "")
    write(tmp_path / "far.seq", 9.0)
    assert library_of(tmp_path).unknown("wafe")[1] == "there are wave (far cannot be played)"
    (tmp_path / "wave.seq").unlink()
    assert library_of(tmp_path).unknown("fax")[1:] == (
        "there are none to play (far cannot be played)",
        "did you mean 'far'?",
    )


def named(folder: Path, name: bytes) -> Path:
    return folder / os.fsdecode(name)


def test_a_name_that_is_no_utf_8_is_played_under_a_printable_one(tmp_path: Path) -> None:
    file = write(named(tmp_path, b"wav\xff.seq"), 0.0, 0.01)
    named(tmp_path, b"wav\xff.markers.yaml").write_text("markers: {up: {frame: 1}}\n")
    write(named(tmp_path, b"\x1b[2Jnod\n.seq"), 0.0, 0.01)
    motions = library_of(tmp_path)
    assert [entry.name for entry in motions] == [r"\x1b[2Jnod\x0a", r"wav\xff"]
    wave = entry_of(motions, r"wav\xff")
    assert wave.plan is not None
    assert wave.file == file
    assert [marker.name for marker in wave.markers] == ["up"]
    listed = orjson.loads(orjson.dumps(motions.payload()))["motions"]
    assert [motion["file"] for motion in listed] == [
        rf"{tmp_path}/\x1b[2Jnod\x0a.seq",
        rf"{tmp_path}/wav\xff.seq",
    ]
    orjson.dumps(motions.unknown(r"wav\xfe"))


def test_what_is_no_file_is_listed_beside_the_motions(tmp_path: Path) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01)
    os.mkfifo(tmp_path / "pipe.seq")
    (tmp_path / "folder.seq").mkdir()
    (tmp_path / "loop.seq").symlink_to("loop.seq")
    (tmp_path / "zero.seq").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "wave.markers.yaml")
    reasons = {entry.name: entry.reason for entry in library_of(tmp_path)}
    assert reasons == {
        name: f"{tmp_path}/{name}.{suffix}: cannot be read; {reason}; check the path"
        for name, suffix, reason in (
            ("folder", "seq", "it is a folder"),
            ("loop", "seq", "Too many levels of symbolic links"),
            ("pipe", "seq", "it is a pipe"),
            ("wave", "markers.yaml", "it is a pipe"),
            ("zero", "seq", "it is a device"),
        )
    }


@pytest.mark.parametrize("method", ["is_dir", "iterdir"])
def test_a_folder_that_cannot_be_listed_hides_no_other(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    file = write(tmp_path / "open" / "wave.seq", 0.0, 0.01)
    usual = getattr(Path, method)

    def deny(path: Path) -> Any:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path)

    monkeypatch.setattr(Path, method, deny)
    motions = library_of(closed, file.parent)
    assert {entry.name: entry.reason for entry in motions} == {
        "closed": f"{closed}: cannot be listed; Permission denied; check its rights",
        "wave": "",
    }


def test_a_folder_of_too_many_files_is_not_gone_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "MOST_FILES", 3)
    file = write(tmp_path / "open" / "wave.seq", 0.0, 0.01)
    full = tmp_path / "full"
    full.mkdir()
    for number in range(4):
        (full / f"many{number}.seq").symlink_to("gone")
    motions = library_of(full, file.parent)
    assert {entry.name: entry.reason for entry in motions} == {
        "full": f"{full}: cannot be listed; it holds more than 3 files; remove some",
        "wave": "",
    }
    (full / "many0.seq").unlink()
    assert {entry.name for entry in library_of(full, file.parent)} == {"many1", "many2", "many3", "wave"}


STAYS = "what it held before stays"


def test_of_a_folder_that_cannot_be_listed_what_was_held_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "held" / "wave.seq", 0.0, 0.01).parent
    motions = library_of(folder)
    before = motions.get("wave")
    usual = Path.iterdir

    def fail(path: Path) -> Any:
        if path == folder:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return usual(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", fail)
        for _ in range(2):
            motions.load_all()
            assert motions.get("wave") is before
            unlisted = f"{folder}: cannot be listed; Input/output error; check its rights"
            assert motions.problems == (f"{unlisted}; {STAYS}",)
            assert motions.payload()["problems"] == [f"{unlisted}; {STAYS}"]
            assert motions.is_incomplete()
    motions.load_all()
    assert [entry.name for entry in motions] == ["wave"]
    assert "problems" not in motions.payload()
    assert not motions.is_incomplete()


def test_of_a_watched_folder_that_has_gone_what_was_held_stays_until_somebody_asks(tmp_path: Path) -> None:
    folder = write(tmp_path / "held" / "wave.seq", 0.0, 0.01).parent
    write(tmp_path / "other" / "nod.seq", 0.0, 0.01)
    motions = library_of(folder, tmp_path / "other")
    before = motions.get("wave")
    folder.rename(tmp_path / "away")
    motions.load_all(may_read=lambda path: path.parent == tmp_path / "other")
    assert motions.get("wave") is before
    assert motions.problems == (f"{folder}: is no folder at the moment; {STAYS}",)
    (tmp_path / "away").rename(folder)
    motions.load_all(may_read=lambda _: True)
    assert motions.get("wave") is before
    assert "problems" not in motions.payload()
    folder.rename(tmp_path / "away")
    motions.load_all()
    assert motions.get("wave") is None
    held = entry_of(motions, "held")
    assert held.reason == f"{folder}: cannot be read; no such file; check the path"


@pytest.mark.parametrize("name", ["wave.seq", "wave.markers.yaml"])
def test_a_file_that_cannot_be_read_for_a_moment_holds_what_it_held(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "wave.seq", 0.0, 0.01)
    (tmp_path / "wave.markers.yaml").write_text("markers: {a: {frame: 1}}\n")
    motions = library_of(tmp_path)
    before = motions.get("wave")

    def fail(path: Path) -> Any:
        if path.name == name:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return open_regular(path)

    os.utime(tmp_path / "wave.seq", (1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(source, "open_regular", fail)
        for _ in range(2):
            motions.load_all()
            assert motions.get("wave") is before
            unread = f"{tmp_path / name}: cannot be read; Too many open files; check the path"
            assert motions.problems == (f"{unread}; {STAYS}",)
    motions.load_all()
    assert motions.problems == ()
    wave = entry_of(motions, "wave")
    assert wave.plan is not None
    assert wave is not before


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MemoryError(), "cannot be read; there is not enough memory for it; split the motion"),
        (
            ZeroDivisionError("no luck"),
            "failed inside motiond; ZeroDivisionError('no luck'); the daemon's log says more",
        ),
    ],
    ids=["memory", "defect"],
)
def test_a_file_that_fails_unforeseen_hides_no_other(tmp_path: Path, error: Exception, reason: str) -> None:
    bad = write(tmp_path / "bad.seq", 0.0, 0.01)
    write(tmp_path / "wave.seq", 0.0, 0.01)

    def load(path: Path) -> list[Motion]:
        if path == bad:
            raise error
        return load_motions(path)

    motions = library_of(tmp_path, load=load)
    assert {entry.name: entry.reason for entry in motions} == {"bad": f"{bad}: {reason}", "wave": ""}


def test_loading_ends_before_the_next_file_once_it_is_told_to(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        write(tmp_path / f"{name}.seq", 0.0, 0.01)
    read: list[str] = []

    def load(path: Path) -> list[Motion]:
        read.append(path.name)
        return load_motions(path)

    motions = MotionLibrary(map_of(ELBOW), settings_of(ELBOW, motions=[tmp_path]), reader=Reader(load))
    assert not motions.load_all(lambda: len(read) == 2)
    assert (read, [*motions]) == (["a.seq", "b.seq"], [])
    assert motions.load_all()
    assert [entry.name for entry in motions] == ["a", "b", "c"]


def test_of_very_many_motions_a_part_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "MOST_LISTED", 30)
    for number in range(35):
        write(tmp_path / f"m{number:02}.seq", 0.0, 0.01)
    motions = library_of(tmp_path)
    payload = motions.payload()
    assert [motion["name"] for motion in payload["motions"]] == [f"m{number:02}" for number in range(30)]
    assert payload["more"] == 5
    known = ", ".join(f"m{number:02}" for number in range(20))
    there_are = f"there are {known} and 15 more"
    assert motions.unknown("m99") == ("no motion 'm99'", there_are, "did you mean 'm29'?")
    monkeypatch.setattr(library, "MOST_LISTED_BYTES", 1_000)
    size = len(orjson.dumps(payload["motions"][0]))
    assert len(motions.payload()["motions"]) == 1_000 // size


def test_a_motion_is_listed_by_no_more_than_a_part_of_what_it_holds(tmp_path: Path) -> None:
    file = write(tmp_path / "wave.seq", 0.0, 0.01)
    (motion,) = load_motions(file)
    labels = tuple(f"toe{number}" for number in range(5_000))
    many = replace(
        motion,
        joint_names=labels,
        positions=np.zeros((2, 5_000)),
        warnings=tuple(f"warning {number}" for number in range(1_000)),
    )
    motions = library_of(file, load=lambda _: [many])
    (listed,) = motions.payload()["motions"]
    assert listed["joints"] == list(labels[:1_000])
    assert listed["warnings"] == [*(f"warning {number}" for number in range(20)), "and 980 more warnings"]
    assert listed["reason"].splitlines() == [
        *(
            f"wave: the robot has no joint 'toe{number}'; it has elbow; map or ignore it by `motion_map`"
            for number in range(20)
        ),
        "and 4980 more problems",
    ]


def test_motions_are_planned_again_where_actuators_allow_less_and_where_they_allow_more(
    tmp_path: Path,
) -> None:
    fast = {"elbow": {"limits": {"lower": -2, "upper": 2, "velocity": 99}}}
    write(tmp_path / "wave.seq", 0.0, 0.3, 0.6)
    own = map_of(fast)
    motions = MotionLibrary(own, settings_of(fast, motions=[tmp_path]))
    motions.load_all()
    before = entry_of(motions, "wave").plan
    assert before is not None
    limit = "servo 2's own max_position_limit"
    motions.joint_map = own.within(ActuatorLimits.none(1).narrowed("upper", 0.5, limit))
    motions.load_all()
    wave = entry_of(motions, "wave")
    assert (wave.plan, wave.reason) == (
        None,
        (
            "wave: joint 'elbow' reaches 0.6 rad at 0.020 s (frame 2); its upper limit is 0.5 rad "
            f"({limit}); lower the motion or change that limit"
        ),
    )
    assert [(violation.kind, violation.limited_by) for violation in wave.violations] == [("upper", limit)]
    motions.joint_map = own
    motions.load_all(may_read=lambda _: True)  # as the watch of the folder reads
    again = entry_of(motions, "wave").plan
    assert again is not None
    assert again.max_speed == before.max_speed
