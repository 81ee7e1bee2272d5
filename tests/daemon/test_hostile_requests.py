"""What `make fuzz-requests` sends, and that it finds what it is there to find."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fuzz.hostile import RELEASES, ROBOTS, Hostile
from fuzz.requests import Verdict, moved
from motiond.daemon.api import VERBS, RawRequest, RequestError, parse
from motiond.drivers.sim.command_log import row_dtype

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_what_is_sent_covers_every_verb_that_takes_no_torque_and_some_of_it_is_sound() -> None:
    hostile = Hostile(random.Random(1), ["old"])
    sound, sent = set(), set()
    for _ in range(5_000):
        robot, verb, body = hostile.request()
        sent.add((robot, verb))
        try:
            parse(RawRequest(robot, verb, body))
        except RequestError:
            continue
        sound.add(verb)
    wanted = {(robot, verb) for robot in ROBOTS for verb in VERBS if verb not in RELEASES[robot]}
    assert wanted <= sent
    assert not {(robot, verb) for robot in ROBOTS for verb in RELEASES[robot]} & sent
    assert sound >= set(VERBS) - {"estop", "fleet/commit"}  # a commit names all members and is rarely sound


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"status": "error", "code": "INTERNAL"}, 500),
        ({"status": "error", "code": "INTERNAL"}, 200),
        ({"status": "error", "code": "OFFLINE"}, 503),
    ],
)
def test_an_answer_that_says_that_the_daemon_failed_is_found(answer: dict[str, str], status: int) -> None:
    verdict = Verdict()
    verdict.count("HTTP", {"status": "ok"})
    assert verdict.failures == []
    verdict.count("HTTP", answer, status)
    assert verdict.failures == [f"HTTP: {status} {answer}"]
    assert verdict.answers["HTTP"] == {"ok": 1, answer["code"]: 1}


@pytest.mark.parametrize(
    ("places", "enabled", "found"),
    [
        ([0.1, 0.1, 0.1], [False, True, True], []),
        ([0.3, 0.1, 0.1], [False, True, True], []),
        ([0.1, 0.1, 0.100001], [True, True, True], ["open: its setpoints moved by 1e-06 rad"]),
        ([0.1, 0.1, 0.1], [False, False, False], ["open: it has never held"]),
    ],
    ids=["still", "before it held", "moved", "never held"],
)
def test_a_setpoint_that_moved_is_found(
    tmp_path: Path, places: list[float], enabled: list[bool], found: list[str]
) -> None:
    trace = np.zeros(len(places), row_dtype(2))
    trace["position"], trace["enabled"] = np.array(places)[:, None], enabled
    np.save(tmp_path / "open.npy", trace)
    assert moved(tmp_path, "open") == found
