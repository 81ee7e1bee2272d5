"""What drivers of servos on serial buses do alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverConfigError, DriverError
from tests.drivers.serial_bus.test_errors import MAKERS

if TYPE_CHECKING:
    from collections.abc import Sequence


def bench_of(maker: str, *buses: Sequence[int]) -> Any:
    bench_type, make_servo = MAKERS[maker]
    return bench_type(*([make_servo(number) for number in bus] for bus in buses))


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("buses", [([1], [1, 2, 3]), ([1, 2, 3], [1])])
def test_the_port_that_takes_longest_bounds_the_rate(maker: str, buses: tuple[Sequence[int], ...]) -> None:
    with bench_of(maker, *buses) as bench, bench_of(maker, [1, 2, 3]) as alone:
        bench.driver.open()
        alone.driver.open()
        at_most_hz = alone.driver.max_rate_hz
        assert bench.driver.max_rate_hz == pytest.approx(at_most_hz)
        with pytest.raises(DriverConfigError, match=f": {bench.ports[buses.index([1, 2, 3])].path} needs "):
            bench.driver.set_period(1 / (1.01 * at_most_hz))


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_not_open_is_not_verified(maker: str) -> None:
    bench = bench_of(maker, [1])
    with pytest.raises(DriverError) as caught:
        bench.driver.verify()
    assert str(caught.value) == f"{bench.driver.family.where}: is not open; open it first"
