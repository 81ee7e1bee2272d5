from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
import pytest

from motiond.daemon.mqtt.bridge.fitting import Fitted, encode, fit_answer, fit_report
from tests.daemon import answers
from tests.daemon.mqtt import contract

if TYPE_CHECKING:
    from motiond.daemon.api import Subject

MOTION = answers.MOTIONS["motions"][0]
MOTIONS = {"motions": [{**MOTION, "name": f"wave_{number:03d}"} for number in range(100)]}
LONG = "the elbow stands in the way; " * 100
TIMING = {"ticks": 1000, "lateness_histogram": {"counts": [0] * 400}}


def read(fitted: Fitted) -> Any:
    return None if fitted.payload is None else orjson.loads(fitted.payload)


@pytest.mark.parametrize("room", [100, 500, 2_000, 10_000, 15_000])
@pytest.mark.parametrize("more", [0, 7])
def test_a_list_of_motions_is_cut_and_counts_what_it_does_not_list(room: int, more: int) -> None:
    data = {**MOTIONS, "more": more} if more else MOTIONS
    fitted = fit_report("motions", data, 1e6, room)
    cut = read(fitted)
    listed = len(cut["motions"])
    assert len(fitted.payload or b"") <= room
    assert len(encode({**cut, "motions": MOTIONS["motions"][: listed + 1]})) + 3 > room  # no more would fit
    assert cut["motions"] == MOTIONS["motions"][:listed]
    assert cut["more"] == 100 + more - listed
    assert fitted.remedy == f"{listed} of {100 + more} motions are listed"


RESULT = {**answers.result("g1"), "message": LONG, "timing": TIMING, "details": {"reason": LONG}}
RESULT["warnings"] = [LONG[:31]]
SHORTEST = {**RESULT, "timing": None, "details": {}, "warnings": []}
STATE = answers.state("fault", message=LONG)
EVENT = {**answers.event(LONG), "payload": {"light": LONG}}


@pytest.mark.parametrize(
    ("subject", "data", "room", "expected"),
    [
        ("result", RESULT, 6_500, {**RESULT, "timing": None}),
        ("result", RESULT, 4_000, {**RESULT, "timing": None, "details": {}}),
        ("result", RESULT, 1_000, {**SHORTEST, "message": LONG[:361] + "…"}),
        ("result", RESULT, 380, {**SHORTEST, "message": LONG[:44] + "…"}),
        ("event", EVENT, 4_000, answers.event(LONG)),
        ("event", EVENT, 500, answers.event(LONG[:361] + "…")),
        ("state", STATE, 1_000, {**STATE, "message": LONG[:724] + "…"}),
        ("state", STATE, 100, None),
        ("description", answers.DESCRIPTION, 300, None),
        ("availability", {"state": "online", "bridge": "d1"}, 20, None),
    ],
)
def test_a_report_is_shortened_as_far_as_it_has_to_be(
    subject: Subject, data: dict[str, Any], room: float, expected: dict[str, Any] | None
) -> None:
    fitted = fit_report(subject, data, room, room)
    assert read(fitted) == expected
    assert fitted.remedy == ("it is left out" if expected is None else "it is shortened")
    if fitted.payload is not None:
        assert len(fitted.payload) <= room
        contract.check(f"motiond/arm/{subject}", fitted.payload, qos=1, retain=False)


def answer(status: str = "ok", **keys: Any) -> bytes:
    return encode({"status": status, **keys, "transaction": "t1"})


@pytest.mark.parametrize(
    ("whole", "room", "expected", "remedy"),
    [
        (
            answer(data={"distances": [0.123456789] * 200}),
            500,
            {
                "status": "error",
                "code": "TOO_LARGE",
                "error": (
                    "arm/plan: the answer has 2457 bytes; the request was served, and the broker takes less; "
                    "raise it"
                ),
                "data": {"bytes": 2457},
                "transaction": "t1",
            },
            "TOO_LARGE is answered",
        ),
        (
            answer("error", code="INVALID_MOTION", error=LONG, data={"joints": [LONG]}),
            500,
            {
                "status": "error",
                "code": "INVALID_MOTION",
                "error": LONG[:361] + "…",
                "data": {},
                "transaction": "t1",
            },
            "it is shortened",
        ),
        (answer(data={"x": LONG}), 100, None, "it is left out"),
    ],
)
def test_an_answer_that_is_too_long_is_replaced_by_a_short_one(
    whole: bytes, room: float, expected: dict[str, Any] | None, remedy: str
) -> None:
    fitted = fit_answer("arm/plan", whole, room, room, "raise it")
    assert (read(fitted), fitted.remedy) == (expected, remedy)


def test_an_answer_that_lists_motions_is_cut() -> None:
    fitted = fit_answer("arm/motions/reload", answer(data=MOTIONS), 1e6, 2_000, "raise it")
    cut = read(fitted)
    listed = len(cut["data"]["motions"])
    assert cut == {
        "status": "ok",
        "data": {"motions": MOTIONS["motions"][:listed], "more": 100 - listed},
        "transaction": "t1",
    }
    assert 1_700 < len(fitted.payload or b"") <= 2_000
