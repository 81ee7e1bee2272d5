"""What is counted of each servo on a bus."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverError
from motiond.drivers.feetech.protocol import checksum
from tests.drivers.dynamixel import bench as dynamixel
from tests.drivers.errors import message_of
from tests.drivers.serial_bus.makers import MAKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ONE_BY_ONE = partial(dynamixel.servo, model="2XL430-W250")
WITH_ANSWERS_APART = MAKERS | {"dynamixel": (dynamixel.Bench, ONE_BY_ONE)}


@pytest.fixture(params=WITH_ANSWERS_APART)
def bench(request: pytest.FixtureRequest) -> Iterator[Any]:
    bench_type, make_servo = WITH_ANSWERS_APART[request.param]
    with bench_type([make_servo(1), make_servo(2), make_servo(3)]) as bench:
        yield bench.hold()


def counts_of(bench: Any) -> dict[str, list[int]]:
    """Return what was counted of each servo, without what is 0 for all."""
    errors = bench.driver.errors
    return {name: getattr(errors, name).tolist() for name in errors.NAMES if getattr(errors, name).any()}


def spoil_second(bench: Any, spoil: Callable[[bytes], bytes]) -> None:
    """Let something happen to what the second servo says next."""

    def pick(frame: bytes) -> bytes:
        if frame.count(HEADERS[bench.driver.family.driver]) == 1:  # each servo's answer comes by itself
            bench.chains[0].faults.appendleft(spoil)
            return frame
        size = len(frame) // 3
        return frame[:size] + spoil(frame[size : 2 * size]) + frame[2 * size :]

    bench.chains[0].faults.append(pick)


HEADERS = {"dynamixel": b"\xff\xff\xfd\x00", "feetech": b"\xff\xff"}


def test_nothing_is_counted_while_all_is_well(bench: Any) -> None:
    bench.play([0.1] * 3, ticks=30)
    assert counts_of(bench) == {}


def test_an_answer_that_does_not_come_is_missed(bench: Any) -> None:
    spoil_second(bench, lambda _: b"")
    bench.play([0.1] * 3, ticks=10)
    assert counts_of(bench) == {"missed": [0, 1, 0]}


@pytest.mark.parametrize(
    "spoil", [lambda frame: frame[:-1] + bytes([frame[-1] ^ 1]), lambda frame: frame[:-2]], ids=["bit", "end"]
)
def test_an_answer_that_comes_damaged_is_missed_and_damaged(
    bench: Any, spoil: Callable[[bytes], bytes]
) -> None:
    spoil_second(bench, spoil)
    bench.read()
    assert counts_of(bench) == {"missed": [0, 1, 0], "damaged": [0, 1, 0]}


def of_a_stranger(frame: bytes) -> bytes:
    content = bytes([99]) + frame[3:-1]
    return frame[:2] + content + bytes([checksum(content)])


@pytest.mark.parametrize("maker", ["sts", "scs"])
def test_an_answer_of_a_servo_that_nobody_asked_counts_for_none(maker: str) -> None:
    bench_type, make_servo = WITH_ANSWERS_APART[maker]
    with bench_type([make_servo(1), make_servo(2), make_servo(3)]).hold() as bench:
        spoil_second(bench, of_a_stranger)
        bench.read()
        assert counts_of(bench) == {"missed": [0, 1, 0]}


ANSWERED_PING = {"dynamixel": 14, "feetech": 6}
"""How many bytes answer a ping."""


def lose_feedback(bench: Any) -> None:
    """Let all answers to questions for feedback get lost, as if they came too late, and no others."""
    faults, longest = bench.chains[0].faults, ANSWERED_PING[bench.driver.family.driver]

    def lose(frame: bytes) -> bytes:
        faults.append(lose)
        return frame if len(frame) <= longest else b""

    faults.append(lose)


def test_answers_that_come_in_time_to_none_but_short_questions_are_no_matter_of_wires(bench: Any) -> None:
    lose_feedback(bench)
    assert message_of(DriverError, bench.play, [0.0] * 3, ticks=3) == (
        f"{bench.where(0)}: no feedback in time (3 tries), nor from {bench.where(1)}, nor from "
        f"{bench.where(2)}; it answers when asked alone; free the processor, see the adapter's latency in "
        "`motiond doctor`, or raise `answer_timeout_s`"
    )
    assert "damaged" not in counts_of(bench)


def test_where_any_answer_comes_damaged_wires_are_thought_of(bench: Any) -> None:
    spoil_second(bench, lambda frame: frame[:-2])
    bench.read()
    lose_feedback(bench)
    assert message_of(DriverError, bench.play, [0.0] * 3, ticks=3) == (
        f"{bench.where(1)}: no sound feedback (3 tries); it answers when asked alone; check that no other "
        "servo has id 2, check the wiring and its length, or lower the baud rate"
    )


def test_a_joint_answer_counts_for_all_that_it_is_from() -> None:
    with dynamixel.Bench([dynamixel.servo(1), dynamixel.servo(2)]).hold() as bench:
        bench.chains[0].lose_next()
        bench.read()
        assert counts_of(bench) == {"missed": [1, 1]}
        bench.play([0, 0], ticks=1)
        bench.chains[0].garble_next()
        bench.read()
        assert counts_of(bench) == {"missed": [2, 2], "damaged": [1, 1]}


def test_an_error_is_counted_when_it_begins_and_when_it_begins_again(bench: Any) -> None:
    bench.read()
    for begun in (1, 2):
        bench.servos[1].fail(0x01)
        for _ in range(5):
            with_errors(bench.read)
        assert counts_of(bench) == {"reported": [0, begun, 0]}
        end_errors(bench.servos[1])
        bench.read()


def test_a_servo_that_lost_its_torque_without_an_error_has_restarted_once(bench: Any) -> None:
    bench.servos[2].set("torque_enable", 0)
    for _ in range(3):
        with_errors(bench.driver.verify)
    assert counts_of(bench) == {"restarts": [0, 0, 1]}


def test_counts_are_kept_when_the_bus_is_opened_again(bench: Any) -> None:
    spoil_second(bench, lambda _: b"")
    bench.play([0.1] * 3, ticks=2)
    bench.driver.close()
    bench.driver.open()
    assert counts_of(bench) == {"missed": [0, 1, 0]}


def end_errors(one: Any) -> None:
    one._latched = 0  # Feetech's are kept
    one.fail(0)


def with_errors(call: Callable[[], object]) -> None:
    try:
        call()
    except DriverError:
        return
