"""Results that are kept on disk until they can be published."""

import logging
from pathlib import Path

import pytest

from motiond.daemon.api import Report
from motiond.daemon.mqtt.bridge.results import MOST_KEPT, KeptResults

RESULTS = [Report("arm", "result", {"goal_id": f"g{number}"}) for number in range(3)]


def test_what_is_kept_is_there_for_the_next_daemon_of_the_same_id(tmp_path: Path) -> None:
    KeptResults(tmp_path / "new", "d1").keep(RESULTS)
    assert KeptResults(tmp_path / "new", "d1").load() == RESULTS
    assert KeptResults(tmp_path / "new", "d2").load() == []
    renamed = KeptResults(tmp_path / "new", "d1@broker", "d1")
    renamed.keep(renamed.load())
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["results-d1@broker.jsonl"]
    assert renamed.load() == RESULTS
    renamed.keep([])
    KeptResults(tmp_path / "new", "d1").keep(RESULTS)
    KeptResults(tmp_path / "new", "d1").keep([])
    assert KeptResults(tmp_path / "new", "d1").load() == []
    assert list((tmp_path / "new").iterdir()) == []


def test_no_more_than_the_newest_are_kept(tmp_path: Path) -> None:
    KeptResults(tmp_path, "d1").keep(RESULTS * MOST_KEPT)
    assert KeptResults(tmp_path, "d1").load() == (RESULTS * MOST_KEPT)[-MOST_KEPT:]


def test_lines_that_are_no_results_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    results = KeptResults(tmp_path, "d1")
    caplog.set_level(logging.WARNING, "motiond")
    results.keep(RESULTS)
    file = tmp_path / "results-d1.jsonl"
    file.write_bytes(b'\xff\n3\n["arm"]\n[1,{}]\n["arm",2]\n' + file.read_bytes() + b'["arm",{"cut o')
    caplog.clear()
    assert results.load() == RESULTS
    assert caplog.messages == [f"{file}: a line is no result and was left out"] * 6


def test_a_folder_that_cannot_be_used_costs_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    results = KeptResults(tmp_path / "file", "d1")
    results.keep(RESULTS)
    assert results.load() == []
    where = tmp_path / "file" / "results-d1.jsonl"
    assert caplog.messages == [
        f"{where}: 3 results are lost; [Errno 17] File exists: '{tmp_path / 'file'}'",
        f"{where}: results of an earlier run cannot be published; Not a directory",
    ]


def test_without_a_folder_the_loss_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    KeptResults(None, "d1@broker:1883").keep([])
    assert caplog.messages == []
    KeptResults(None, "d1@broker:1883").keep(RESULTS)
    assert caplog.messages == [
        f"{len(RESULTS)} results are lost; there is no folder for them; set XDG_STATE_HOME"
    ]
