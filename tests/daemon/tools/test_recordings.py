"""Recordings on the command line: listed, shown, drawn, and written as motions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest
from matplotlib.font_manager import fontManager  # noqa: F401 - where it has no list yet, it asks a program

from motiond.daemon.tools.recordings.drawing import _figure
from motiond.formats import load_motion, load_motions, load_run
from tests.daemon.programs import run_here
from tests.daemon.recording.recordings import (
    APPROACH,
    BEGAN_S,
    JOINTS,
    PARTS,
    PLAYED,
    REST,
    Reports,
    ticks,
    write,
)
from tests.formats.mcap.recordings import recording, state

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

pytestmark = pytest.mark.slow

START_NS = 1_795_000_000_000_000_000
AGAIN = [(state, 2) for state, goal in (*APPROACH, *PLAYED) if goal]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recording of one goal, `run.mcap`, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    rows = ticks(APPROACH + PLAYED)
    rows[:, PARTS["position"]] = rows[:, PARTS["reference_position"]]
    rows[9, PARTS["position"].start] += 0.25
    result = {"motion": "wave", "code": "SUCCESSFUL", "message": "the last row is out and held"}
    marker = {"kind": "marker", "message": "wave: half"}
    reports: Reports = [("event", marker, 0.012), ("result", result, 0.017)]
    write(tmp_path / "run.mcap", rows, reports, {"wave.seq": b"wave"})
    return tmp_path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Return what the program writes, without the blanks between columns."""
    code, out, err = run_here(capsys, "recording", *arguments)
    assert (code, err) == (0, "")
    return [" ".join(line.split()) for line in out.splitlines() if line.strip()]


def test_a_folder_is_listed_the_newest_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = write(folder / "later.mcap", ticks(PLAYED), is_finished=False)
    (folder / "bag.mcap").write_bytes(recording([state(("hip",), [0.5], stamp=1)]))
    (folder / "run.mcap.keep").touch()
    for age, name in enumerate((part.name, "bag.mcap", "run.mcap")):
        os.utime(folder / name, (BEGAN_S - age, BEGAN_S - age))
    code, out, _ = run_here(capsys, "recording", "list", "--json")
    listed = orjson.loads(out)
    assert code == 0
    assert [one["file"] for one in listed["recordings"]] == ["later.mcap.part", "bag.mcap", "run.mcap"]
    run = listed["recordings"][2]
    assert listed["bytes"] == sum(one["bytes"] for one in listed["recordings"])
    assert run == {
        "name": "run",
        "file": "run.mcap",
        "bytes": (folder / "run.mcap").stat().st_size,
        "began_utc": "2026-11-18T11:06:40.000Z",
        "duration_s": 0.021,
        "ticks": 22,
        "gaps": 0,
        "why": "request",
        "motions": ["wave"],
        "codes": ["SUCCESSFUL"],
        "kept": True,
        "is_written": False,
    }
    lines = shown(capsys, "list", str(folder))
    assert lines[0] == "name began s ticks gaps MB why played"
    assert lines[2].startswith("later")
    assert lines[-2].startswith("run 2026-11-18 0.0 22 0 0.0 request wave kept")


def test_a_folder_without_recordings_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(capsys, "recording", "list", str(tmp_path)) == (0, f"{tmp_path}: no recordings\n", "")


@pytest.mark.usefixtures("folder")
def test_what_is_in_a_recording_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "show", "run.mcap")
    assert lines[:4] == [
        "run: arm, from 2026-11-18T11:06:40.000Z, on request",
        "22 ticks in 0.021 s; 0 gaps; driver sim; motiond 0.2.0",
        "lateness in ms: p99 0.010, max 0.010; missed deadlines 0, rows left out 0",
        "attached: wave.seq",
    ]
    for line in (
        "0.017 wave SUCCESSFUL the last row is out and held",
        "0.007 playing on 1 1",
        "0.012 marker wave: half",
        "hip 0.25000 0.009 0.06682 rad",
        "left knee 0.00000 0.000 0.00000 rad",
    ):
        assert line in lines


def test_what_is_shown_is_there_for_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_here(capsys, "recording", "show", "run.mcap", "--json")
    assert (code, orjson.loads(out)) == (0, orjson.loads(orjson.dumps(load_run(folder / "run.mcap").about)))


def test_of_very_many_phases_the_first_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "run.mcap", ticks((APPROACH + PLAYED) * 20))
    lines = shown(capsys, "show", str(path))
    assert "and 50 more" in lines


def test_a_recording_that_is_not_finished_is_shown_as_far_as_it_goes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "run.mcap", ticks(PLAYED), is_finished=False)
    assert "its end is missing, as it is being written or was cut short" in shown(capsys, "show", str(path))


def figure_of(path: Path, columns: list[int], *, errors: bool = False) -> Figure:
    run = load_run(path)
    return _figure(run, columns, [run.about["joints"][column] for column in columns], errors=errors)


def test_references_and_feedback_are_drawn_with_their_errors(folder: Path) -> None:
    run = load_run(folder / "run.mcap")
    figure = figure_of(folder / "run.mcap", [0, 2], errors=True)
    hip, hip_error, lift, _ = figure.axes
    drawn = [np.asarray(line.get_ydata()) for line in (*hip.lines, *hip_error.lines)]
    for values, expected in zip(drawn, (run.reference, run.feedback, run.error), strict=True):
        np.testing.assert_array_equal(values, expected[:, 0])
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["hip in rad", "error of hip in rad", "lift in m", "error of lift in m"]
    assert hip.get_xlabel() == ""
    assert lift.get_xlabel() == "time in s"


def test_gaps_are_drawn(tmp_path: Path) -> None:
    path = write(tmp_path / "run.mcap", np.delete(ticks(PLAYED), [4, 5], axis=0))
    (panel,) = figure_of(path, [0]).axes
    (lines,) = panel.collections
    assert [float(np.asarray(line.vertices)[0, 0]) for line in lines.get_paths()] == [0.006]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_is_written(folder: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = folder / f"out{suffix}"
    asked = ("plot", "run.mcap", target.name, "--joints", "hip,lift", "--errors")
    assert shown(capsys, *asked) == [f"out{suffix}: drawn"]
    assert target.read_bytes().startswith({".png": b"\x89PNG", ".svg": b"<?xml"}[suffix])
    refused = f"out{suffix}: exists already; it would be overwritten; name another file, or --force it\n"
    assert run_here(capsys, "recording", *asked) == (2, "", refused)


@pytest.mark.usefixtures("folder")
def test_pictures_that_cannot_be_drawn_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (("out.pdf",), "out.pdf: its suffix '.pdf' names no picture; PNG and SVG are drawn; choose another"),
        (
            ("out.png", "--joints", "hop"),
            "run: no joint 'hop'; it has hip, left knee, lift; did you mean 'hip'?",
        ),
    ):
        assert run_here(capsys, "recording", "plot", "run.mcap", *arguments) == (2, "", f"{message}\n")


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".seq", ".mcap"])
def test_what_was_played_is_written_as_a_motion(
    folder: Path, suffix: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (played,) = load_motions(folder / "run.mcap")
    lines = shown(capsys, "export", "run.mcap", f"out{suffix}")
    assert lines == [f"out{suffix}: out; 0.01 s, 11 frames at 1000/s, 3 joints"]
    written = load_motion(folder / f"out{suffix}")
    assert written.joint_names == JOINTS
    assert written.positions.tobytes() == played.positions.tobytes()
    assert (written.frame_rate, written.is_uniform) == (1000, True)


def test_what_a_crash_left_is_written_whatever_motions_are_attached_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    attached = {"wave.seq": b"type: CompositeSeq\n", "wave.pseq": b"type: PoseSeq\n", "arm.xmdi": b"<xmdi/>"}
    rows = ticks(PLAYED)
    path = write(tmp_path / "run.mcap", rows, attached=attached, is_finished=False)
    target = tmp_path / "out.npz"
    code, _, err = run_here(capsys, "recording", "export", str(path), str(target), "--whole")
    reason = "what is whole ends 0.013 s after its beginning; the daemon repairs it at its next start"
    assert (path.suffix, code, err) == (".part", 0, f"warning: {path}: was cut short; {reason}\n")
    written = load_motion(target).positions
    assert len(written) >= len(rows) // 3
    assert written.tobytes() == rows[: len(written), PARTS["reference_position"]].tobytes()


def test_its_feedback_all_of_it_or_one_of_its_goals_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ticks(APPROACH + PLAYED + AGAIN)
    path = str(write(tmp_path / "run.mcap", rows))
    for arguments, key, first, last in (
        (("--goal", "2"), "reference_position", 26, 37),
        (("--goal", "1", "--source", "feedback"), "position", 7, 18),
        (("--whole",), "reference_position", 0, len(rows)),
        (("--whole", "--source", "feedback"), "position", 0, len(rows)),
    ):
        target = tmp_path / "out.npz"
        assert run_here(capsys, "recording", "export", path, str(target), "--force", *arguments)[0] == 0
        assert load_motion(target).positions.tobytes() == rows[first:last, PARTS[key]].tobytes()


def test_which_goal_is_written_has_to_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "run.mcap", ticks(APPROACH + PLAYED + AGAIN))
    known = "there are 1 (0.010 s), 2 (0.010 s); choose one by --goal, or --whole"
    for arguments, problem in (((), "holds 2 goals"), (("--goal", "3"), "has no goal 3")):
        asked: Any = ("recording", "export", str(path), str(tmp_path / "out.csv"), *arguments)
        assert run_here(capsys, *asked) == (2, "", f"{path}: {problem}; {known}\n")
    asked = ("recording", "export", str(path), str(tmp_path / "out.csv"), "--goal", "1", "--whole")
    code, _, err = run_here(capsys, *asked)
    assert code == 2
    assert "--goal and --whole exclude each other; choose one" in err


def test_a_recording_of_rest_can_be_written_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, target = write(tmp_path / "run.mcap", ticks(REST)), tmp_path / "out.csv"
    code, _, err = run_here(capsys, "recording", "export", str(path), str(target))
    assert (code, err) == (
        2,
        (
            f"{path}: has no motion; no goal came to its first row, and the robot was idle; "
            "`motiond recording export --whole` writes all its ticks\n"
        ),
    )
    assert run_here(capsys, "recording", "export", str(path), str(target), "--whole")[0] == 0


def test_only_what_is_dropped_is_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run_here(capsys, "recording", "export", "run.mcap", "out.motion")
    assert code == 2
    assert "add --drop 'JointVelocity'" in err
    dropped = ("--drop", "JointVelocity", "--drop", "JointEffort")
    assert run_here(capsys, "recording", "export", "run.mcap", "out.motion", *dropped)[0] == 0
    assert len(load_motion(folder / "out.motion").positions) == 11


@pytest.mark.usefixtures("folder")
def test_another_rate_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "export", "run.mcap", "out.csv", "--rate", "500")
    assert lines == ["out.csv: out; 0.01 s, 6 frames at 500/s, 3 joints"]


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bag.mcap"
    path.write_bytes(recording([state(("hip",), [0.5], stamp=1)]))
    refused = "is no recording of motiond; it has neither its metadata nor its topics"
    for command in ("show", "plot"):
        code, out, err = run_here(capsys, "recording", command, str(path))
        assert (code, out) == (2, "")
        assert err == f"{path}: {refused}; look at it by `motiond inspect`\n"
