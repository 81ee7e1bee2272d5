"""What the daemon refuses, in the words of the command line."""

from __future__ import annotations

import pytest

from motiond.daemon.api import RequestError
from motiond.daemon.cli.requests.words import in_own_words
from motiond.daemon.trajectory.beyond import WAY_BACK


@pytest.mark.parametrize(
    ("said", "here"),
    [
        (
            f"short: arm: joint 'elbow' is at 9 rad, far outside its limits of -2 to 2 rad; {WAY_BACK}",
            (
                "short: arm: joint 'elbow' is at 9 rad, far outside its limits of -2 to 2 rad; check the "
                "actuator, its offset and its turns; "
                "if it is there, `motiond goto arm … --from-beyond` brings it back"
            ),
        ),
    ],
)
def test_a_refusal_names_options_in_place_of_keys(said: str, here: str) -> None:
    assert str(in_own_words(RequestError.of("INVALID_MOTION", said), "arm", "play")) == here
