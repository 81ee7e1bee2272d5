"""A driver is called in the order that docs/writing-a-driver.md promises to its author."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from motiond.daemon.ipc import messages
from motiond.daemon.stream.locks import DeviceLocks
from motiond.daemon.stream.process.devices import reopen
from motiond.daemon.stream.timing.clocks import VirtualClock
from motiond.drivers.sim.driver import SimDriver
from motiond.drivers.sim.options import SimOptions
from tests.daemon.stream.test_loop import JOINTS, START, Bench

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CALLS = ("open", "read", "write", "enable", "disable", "halt", "set_period", "close")


class Noting(SimDriver):
    """A simulated driver that notes what it is called for."""

    calls: list[str]

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in CALLS:
            return found

        def noted(*values: Any) -> Any:
            self.calls.append(name)
            return found(*values)

        return noted


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(100.0)


@pytest.fixture
def driver(clock: VirtualClock) -> Noting:
    options = SimOptions(initial=dict(zip(JOINTS, START, strict=True)))
    driver = Noting(JOINTS, options, clock.now)
    driver.calls = []
    return driver


@pytest.fixture
def bench(tmp_path: Path, driver: Noting, clock: VirtualClock) -> Iterator[Bench]:
    bench = Bench(tmp_path, driver=driver, clock=clock)
    yield bench
    driver.close()
    bench.close()


def since(driver: Noting, act: Callable[[], object]) -> list[str]:
    driver.calls.clear()
    act()
    return list(driver.calls)


def test_without_torque_it_is_read_alone(bench: Bench, driver: Noting) -> None:
    assert driver.calls == ["open"]
    assert since(driver, lambda: bench.step(3)) == ["read"] * 3


def test_torque_is_on_before_it_is_read_and_written(bench: Bench, driver: Noting) -> None:
    bench.step()
    assert since(driver, bench.enable) == ["enable", "read", "write", "read"]
    assert since(driver, lambda: bench.step(2)) == ["write", "read"] * 2
    bench.channel.send(messages.Disable())
    assert since(driver, lambda: bench.step(2)) == ["disable", "read", "read"]


def test_the_period_is_set_at_rest_before_and_after_a_motion(bench: Bench, driver: Noting) -> None:
    bench.enable()
    bench.play()
    played = since(driver, lambda: bench.step_until(lambda: bool(bench.ends())))
    assert (played[0], played.count("set_period"), played[-1]) == ("set_period", 2, "set_period")
    ticks = [name for name in played if name != "set_period"]
    assert ticks == ["write", "read"] * (len(ticks) // 2)


def test_an_emergency_stop_halts_in_place_of_writing(bench: Bench, driver: Noting) -> None:
    bench.enable()
    bench.channel.send(messages.Estop())
    assert since(driver, lambda: bench.step(3)) == ["halt", "read"] * 3
    bench.channel.send(messages.Reset())
    assert since(driver, bench.step) == ["enable", "read", "write", "read"]


def test_a_reconnect_closes_the_instance_opens_it_again_and_switches_torque_off(
    bench: Bench, driver: Noting
) -> None:
    bench.enable()
    again = since(driver, lambda: reopen(driver, DeviceLocks(()), bench.loop.channel, bench.clock))
    assert [name for name, _ in groupby(again)] == ["close", "open", "disable"]
