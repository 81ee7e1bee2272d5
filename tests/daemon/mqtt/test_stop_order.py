"""What a stop has overtaken, and what it has not."""

import pytest

from motiond.daemon.mqtt.bridge.stops import LONGEST_S, StopOrder


@pytest.fixture
def clock() -> list[float]:
    return [100.0]


@pytest.fixture
def order(clock: list[float]) -> StopOrder:
    return StopOrder(lambda: clock[0])


def test_what_came_by_before_the_stop_is_overtaken_once_the_stop_is_served(order: StopOrder) -> None:
    before = order.place("arm")
    assert not order.is_overtaken("arm", before)
    order.take("arm")
    between = order.place("arm")
    order.pass_by("arm")
    after = order.place("arm")
    assert order.is_overtaken("arm", before)
    assert order.is_overtaken("arm", between)
    assert not order.is_overtaken("arm", after)
    assert not order.is_overtaken("hand", 0)


def test_a_stop_may_come_by_before_it_is_served(order: StopOrder) -> None:
    before = order.place("arm")
    order.pass_by("arm")
    after = order.place("arm")
    order.take("arm")
    assert order.is_overtaken("arm", before)
    assert not order.is_overtaken("arm", after)


def test_of_several_stops_each_counts(order: StopOrder) -> None:
    order.take("arm")
    order.take("arm")
    order.pass_by("arm")
    between = order.place("arm")
    order.pass_by("arm")
    assert order.is_overtaken("arm", between)
    assert not order.is_overtaken("arm", order.place("arm"))


def test_a_stop_that_never_comes_by_holds_nothing_up_for_good(order: StopOrder, clock: list[float]) -> None:
    before = order.place("arm")
    order.take("arm")
    clock[0] += LONGEST_S - 0.1
    assert order.is_overtaken("arm", order.place("arm"))
    clock[0] += 0.2
    assert not order.is_overtaken("arm", order.place("arm"))
    assert order.is_overtaken("arm", before)


def test_on_a_new_connection_no_earlier_stop_is_waited_for(order: StopOrder) -> None:
    order.take("arm")
    order.start()
    assert not order.is_overtaken("arm", order.place("arm"))
