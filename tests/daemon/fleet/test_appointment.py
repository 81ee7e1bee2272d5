"""When a group starts, by the clocks of its members."""

from __future__ import annotations

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.fleet.coordinator.appointment import Appointment, Prepared, appoint

NOW = 1_763_800_000.0
AGREED = (-0.01, 0.02)


def group(left: tuple[float, float] = AGREED, right: tuple[float, float] = AGREED) -> dict[str, Prepared]:
    return {"left": Prepared(0.5, left), "right": Prepared(2.0, right)}


def test_the_first_row_is_due_as_soon_as_the_slowest_can_be_there() -> None:
    assert appoint("choir", group(), NOW) == Appointment(NOW + 3.0, 1.0)


def test_where_answers_take_long_the_commit_has_twice_as_long() -> None:
    assert appoint("choir", group(right=(-0.5, 1.0)), NOW) == Appointment(NOW + 5.0, 3.0)


def test_an_appointed_time_is_taken_as_it_is() -> None:
    assert appoint("choir", group(), NOW, start_at=NOW + 60.0) == Appointment(NOW + 60.0, 58.0)


def test_a_time_from_now_on_is_taken_as_it_is() -> None:
    assert appoint("choir", group(), NOW, start_in=5.0) == Appointment(NOW + 5.0, 3.0)


@pytest.mark.parametrize("ahead_s", [-3600.0, 3600.0])
def test_a_coordinator_whose_clock_is_wrong_goes_by_that_of_the_members(ahead_s: float) -> None:
    prepared = group((ahead_s - 0.5, ahead_s), (ahead_s - 0.25, ahead_s + 0.5))
    nearest_s = ahead_s if ahead_s < 0.0 else ahead_s - 0.25
    assert appoint("choir", prepared, NOW) == Appointment(NOW + nearest_s + 3.5, 1.5)
    assert appoint("choir", prepared, NOW, start_in=5.0) == Appointment(NOW + nearest_s + 5.0, 3.0)
    start_at = NOW + nearest_s + 60.0
    assert appoint("choir", prepared, NOW, start_at=start_at) == Appointment(start_at, 58.0)


def test_members_whose_clocks_do_not_agree_are_refused() -> None:
    with pytest.raises(RequestError) as caught:
        appoint("choir", group((11.0, 12.5), (-0.5, 0.5)), NOW)
    assert (caught.value.code, str(caught.value)) == (
        "CLOCK",
        (
            "choir: the clock of left is at least 10.500 s ahead of that of right; robots that start "
            "together need one time; let chrony or another service set the clocks of all machines"
        ),
    )


def test_clocks_that_are_nearly_together_are_taken_for_one() -> None:
    assert appoint("choir", group((0.125, 0.25), (-0.25, 0.0)), NOW) == Appointment(NOW + 3.0625, 1.0)


@pytest.mark.parametrize("wanted", [{"start_at": NOW + 2.0}, {"start_in": 2.0}])
def test_what_the_slowest_cannot_keep_is_refused(wanted: dict[str, float]) -> None:
    with pytest.raises(RequestError) as caught:
        appoint("choir", group(), NOW, **wanted)
    assert (caught.value.code, str(caught.value)) == (
        "TOO_LATE",
        (
            "choir: start_at is 0.300 s too early; right needs 2.000 s to the first row, and the commit "
            "0.3 s; set it later"
        ),
    )
    assert caught.value.data == {"too_late_s": 0.3, "needs_s": 2.3}
