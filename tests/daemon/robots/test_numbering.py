"""The numbers and times of what a robot reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from motiond.daemon.robots.numbering import Numbering


def test_states_and_results_are_counted_apart_and_stamped_in_utc() -> None:
    moment = [datetime(2026, 11, 22, 16, 4, 5, 250_900, tzinfo=UTC)]
    numbering = Numbering(lambda: moment[0])
    assert numbering.number("state", {"state": "idle"}) == {
        "state": "idle",
        "sequence": 1,
        "stamp_utc": "2026-11-22T16:04:05.250Z",
    }
    moment[0] += timedelta(milliseconds=750)
    second = numbering.number("state", {"state": "idle"})
    assert (second["sequence"], second["stamp_utc"]) == (2, "2026-11-22T16:04:06.000Z")
    assert numbering.number("result", {})["sequence"] == 1


def test_what_is_not_numbered_stays_as_it_is() -> None:
    data = {"kind": "marker"}
    assert Numbering().number("event", data) is data


def test_the_time_is_that_of_the_world() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    stamp = datetime.fromisoformat(Numbering().number("state", {})["stamp_utc"])
    assert before <= stamp <= datetime.now(UTC)
