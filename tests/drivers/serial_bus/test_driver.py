"""What drivers of servos on serial buses do alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from motiond.drivers.base import DriverConfigError, DriverError
from tests.drivers.dynamixel import bench as dynamixel
from tests.drivers.errors import message_of
from tests.drivers.feetech import bench as feetech
from tests.drivers.serial_bus.makers import MAKERS

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
    assert message_of(DriverError, bench.driver.verify) == f"{bench.driver.where}: is not open; open it first"


@pytest.mark.parametrize(("maker", "other"), [(dynamixel, "XL430-W250"), (feetech, "SCS0009")])
def test_says_that_several_servos_may_have_an_id(maker: Any, other: str) -> None:
    with maker.Bench([maker.servo(1), maker.servo(2)]) as bench:
        bench.chains[0].servos += [maker.servo(1, other), maker.servo(2, ticks=2900)]
        path = bench.ports[0].path
        assert message_of(DriverError, bench.driver.open) == (
            f"{bench.driver.where}: no sound answer from base ({path} servo 1), "
            "as where several servos have one id; 1 of 2 answered; "
            "check cables, power, ids and the baud rate; `motiond scan` finds servos"
        )
        del bench.chains[0].servos[2]
        assert message_of(DriverError, bench.driver.open) == (
            f"{bench.where(1)}: no sound answer (3 tries); 1 of 2 answered; "
            "check its cable, and that no other servo has id 2"
        )
