"""A stop on the daemons' own machine goes to all of them that have the robot, and reports the slowest."""

from __future__ import annotations

import json
from typing import Any

import pytest

from motiond.daemon.cli import stop_here

ELSEWHERE = {"status": "error", "code": "UNKNOWN_ROBOT", "error": "no robot 'left'", "data": {}}
IDLE = {"goal_id": None, "state": "idle", "reached": True, "stops_within_s": 0.0}
PLAYING = {"goal_id": "1f", "state": "stopping", "reached": True, "stops_within_s": 0.4}
BOTH = [{"status": "ok", "data": IDLE}, ELSEWHERE, {"status": "ok", "data": PLAYING}]


@pytest.mark.parametrize("words", [["stop", "left", "--json"], ["stop", "--json", "left"]])
def test_json_of_several_daemons_is_that_of_the_robot_that_stops_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.setattr(stop_here, "_answers", lambda *words: BOTH if words == ("stop", "left") else [])
    assert stop_here.is_stopped_here(words)
    assert json.loads(capsys.readouterr().out) == PLAYING


def test_each_robot_of_the_name_has_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stop_here, "_answers", lambda *_: BOTH)
    assert stop_here.is_stopped_here(["stop", "left"])
    assert capsys.readouterr().out == "left: nothing plays\nleft: stops softly\n"


@pytest.mark.parametrize(
    "answers",
    [
        [ELSEWHERE],
        [{"status": "ok", "data": {**IDLE, "reached": False}}],
        [{"status": "error", "code": "INTERNAL", "error": "", "data": {}}, *BOTH],
    ],
)
@pytest.mark.parametrize("words", [["stop", "left"], ["stop", "left", "--json"]])
def test_what_is_not_plainly_stopped_is_left_to_the_full_program(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answers: list[dict[str, Any]],
    words: list[str],
) -> None:
    monkeypatch.setattr(stop_here, "_answers", lambda *_: answers)
    assert not stop_here.is_stopped_here(words)
    assert capsys.readouterr().out == ""
