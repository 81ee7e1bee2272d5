"""What is shown of a recording: what happened, and how far the joints were from where they should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from motiond.daemon.ipc.ring import COLUMN
from motiond.daemon.recording import RecordingWriter
from motiond.formats import FormatError, load_run
from motiond.formats.mcap import run as run_module
from tests.daemon.recording.recordings import (
    APPROACH,
    JOINTS,
    PARTS,
    PLAYED,
    REST,
    Reports,
    ticks,
    write,
)
from tests.daemon.recording.recordings import about as recorded
from tests.formats.mcap.recordings import recording, state

if TYPE_CHECKING:
    from pathlib import Path

START_NS = 1_795_000_000_000_000_000


def refusal(path: Path) -> str:
    with pytest.raises(FormatError) as caught:
        load_run(path)
    return str(caught.value).replace(f"{path}: ", "")


def test_every_tick_is_a_point_where_they_are_few(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    run = load_run(write(tmp_path / "run.mcap", rows))
    assert run.times.tolist() == [tick / 1000 for tick in range(22)]
    assert run.reference.tobytes() == rows[:, PARTS["reference_position"]].tobytes()
    assert run.feedback.tobytes() == rows[:, PARTS["position"]].tobytes()
    assert (run.error == run.reference - run.feedback).all()
    assert (run.about["points"], run.about["every"], run.about["ticks"]) == (22, 1, 22)


def test_long_recordings_are_thinned_to_their_extremes(tmp_path: Path) -> None:
    rows = ticks([*APPROACH, *(PLAYED[:10] * 100)])
    rows[500, PARTS["position"]] = 99.0
    run = load_run(write(tmp_path / "run.mcap", rows), points=100)
    assert (run.about["every"], run.about["ticks"]) == (32, 1007)
    assert len(run.times) == run.about["points"] == len(run.error) == 64
    assert run.feedback.max(axis=0).tolist() == [99.0] * 3
    error = rows[500, PARTS["reference_position"]] - 99.0
    assert (run.error.min(axis=0) == error).all()
    assert [worst["max"] for worst in run.about["worst"].values()] == np.abs(error).tolist()


def test_it_says_of_what_it_is(tmp_path: Path) -> None:
    shown = load_run(write(tmp_path / "run.mcap", ticks(APPROACH + PLAYED))).about
    known = ("name", "file", "robot", "began_utc", "why", "driver", "version", "is_whole", "duration_s")
    assert {key: shown[key] for key in known} == {
        "name": "run",
        "file": "run.mcap",
        "robot": "arm",
        "began_utc": "2026-11-18T11:06:40.000Z",
        "why": "request",
        "driver": "sim",
        "version": "0.2.0",
        "is_whole": True,
        "duration_s": 0.021,
    }
    assert (shown["joints"], shown["units"]) == ([*JOINTS], ["rad", "rad", "m"])
    assert shown["timing"] == {
        "ticks": 22,
        "missed": 0,
        "skipped": 0,
        "lateness_s": {"p99": 1e-5, "max": 1e-5},
    }


def test_errors_are_of_goals_on_their_way(tmp_path: Path) -> None:
    rows = ticks(APPROACH + PLAYED)
    rows[:, PARTS["reference_position"]] = rows[:, PARTS["position"]]
    rows[[1, 20], PARTS["position"].start] += 9.0  # while it rests
    rows[[8, 9], PARTS["position"].start] += 0.3, -0.4
    rows[:, PARTS["position"].start + 2] = np.nan
    worst = load_run(write(tmp_path / "run.mcap", rows)).about["worst"]
    assert worst["hip"] == {"max": pytest.approx(0.4), "time": 0.009, "rms": pytest.approx(0.5 / 14**0.5)}
    assert worst["left knee"] == {"max": 0.0, "time": 0.0, "rms": 0.0}
    assert worst["lift"] is None


@pytest.mark.parametrize(("there", "here"), [(1e308, -1e308), (np.inf, np.inf)])
def test_numbers_that_no_robot_has_are_shown(tmp_path: Path, there: float, here: float) -> None:
    rows = ticks(APPROACH + PLAYED)
    rows[9, PARTS["reference_position"]], rows[9, PARTS["position"]] = there, here
    run = load_run(write(tmp_path / "run.mcap", rows))
    assert run.reference[9].tolist() == [there] * 3


def test_without_torque_there_is_no_error(tmp_path: Path) -> None:
    rows = ticks(REST)
    rows[4:, COLUMN["torque"]] = 0.0
    run = load_run(write(tmp_path / "run.mcap", rows))
    assert np.isfinite(run.error[:4]).all()
    assert np.isnan(run.error[4:]).all()
    assert run.about["worst"] == dict.fromkeys(JOINTS)


def test_what_happened_stands_at_its_time(tmp_path: Path) -> None:
    rows: Any = np.delete(ticks(APPROACH + PLAYED), [10, 11], axis=0)
    reports: Reports = [
        ("event", {"kind": "marker", "message": "half"}, 0.005),
        ("result", {"motion": "wave", "code": "SUCCESSFUL"}, 0.017),
        ("state", {"state": "idle"}, 0.017),
    ]
    shown = load_run(write(tmp_path / "run.mcap", rows, reports)).about
    assert shown["events"] == [{"time": 0.005, "kind": "marker", "message": "half"}]
    assert shown["results"] == [{"time": 0.017, "motion": "wave", "code": "SUCCESSFUL"}]
    assert shown["gaps"] == [{"time": 0.012, "ticks": 2, "reason": "the daemon came too late to read them"}]
    assert [(phase["time"], phase["state"], phase["goal"]) for phase in shown["phases"]] == [
        (0.0, "idle", 0),
        (0.003, "approaching", 1),
        (0.007, "playing", 1),
        (0.017, "idle", 1),
    ]
    assert shown["phases"][2] == {
        "time": 0.007,
        "state": "playing",
        "torque": True,
        "goal": 1,
        "loop": 1,
        "frame": 7.0,
        "period_s": 0.001,
    }
    assert shown["more"] == 0


def test_what_is_too_much_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "MOST_SHOWN", 3)
    shown = load_run(write(tmp_path / "run.mcap", ticks(APPROACH + PLAYED))).about
    assert (len(shown["phases"]), shown["more"]) == (3, 1)


def test_a_file_that_is_not_finished_says_so(tmp_path: Path) -> None:
    shown = load_run(write(tmp_path / "run.mcap", ticks(APPROACH + PLAYED), is_finished=False)).about
    assert (shown["name"], shown["is_whole"]) == ("run", False)


def test_what_is_attached_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "run.mcap", ticks(PLAYED), attached={"wave.seq": b"x" * 1_000_000})
    (attached,) = load_run(path).about["attachments"]
    assert (attached["name"], attached["bytes"], len(attached["sha256"])) == ("wave.seq", 1_000_000, 64)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bag.mcap"
    path.write_bytes(recording([state(("hip",), [0.5], stamp=1)]))
    assert refusal(path) == (
        "is no recording of motiond; it has neither its metadata nor its topics; "
        "look at it by `motiond inspect`"
    )
    path.write_bytes(b"wave")
    assert refusal(path) == "is no MCAP file; it begins with the bytes 89 'MCAP0'; check what wrote it"
    assert refusal(tmp_path / "none.mcap") == "cannot be read; no such file; check the path"


def test_a_file_that_was_cut_before_its_first_chunk_says_so(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "run.mcap", recorded())
    writer.attach("wave.seq", b"x" * 100_000)
    writer.abandon()
    assert refusal(writer.part) == (
        "was cut short before its first chunk; it holds no ticks; "
        "wait a second where it is being written, else record again"
    )


def test_wherever_a_file_is_damaged_it_is_shown_or_refused(tmp_path: Path) -> None:
    data = bytearray(write(tmp_path / "whole.mcap", ticks(APPROACH + PLAYED)).read_bytes())
    path = tmp_path / "run.mcap"
    for at in range(8, len(data), 11):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x5A]) + data[at + 1 :])
        try:
            run = load_run(path)
        except FormatError:
            continue
        assert len(run.times) == run.about["ticks"]
