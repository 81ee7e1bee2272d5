"""A tick of the HEBI driver beside the bare calls of hebi-py that it wraps, on the vendor's imitation group.

python -m bench.hebi
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.drivers.base import ActuatorCommand, ActuatorState
from motiond.drivers.hebi.driver import HebiDriver
from motiond.drivers.hebi.lookup import import_hebi
from motiond.drivers.hebi.options import HebiOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from motiond.drivers.base import Floats

GOAL = 1.5
MODULES, TICKS, ROUNDS = 20, 500, 20


class Network:
    """A lookup that finds every module and gives the imitation group itself, without anything between."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    @property
    def entrylist(self) -> list[Any]:
        return [_Entry(name) for name in self.names]

    def get_group_from_names(
        self, families: list[str], names: list[str], timeout_ms: float | None = None
    ) -> Any:
        del families, timeout_ms
        return import_hebi().util.create_imitation_group(len(names))


class _Entry:
    family, is_stale = "Arm", False

    def __init__(self, name: str) -> None:
        self.name = name


def bare(setpoints: Sequence[Any] | Floats) -> Callable[[int], None]:
    """Return a tick as one writes it with hebi-py alone: set three fields, send, get, copy three fields."""
    hebi = import_hebi()
    group = hebi.util.create_imitation_group(MODULES)
    command, feedback = hebi.GroupCommand(MODULES), hebi.GroupFeedback(MODULES)
    position, velocity, effort = np.empty((3, MODULES))

    def tick(index: int) -> None:
        command.position = setpoints[index]
        command.velocity = setpoints[index]
        command.effort = setpoints[index]
        group.send_command(command)
        group.get_next_feedback(timeout_ms=0, reuse_fbk=feedback)
        position[:] = feedback.position
        velocity[:] = feedback.velocity
        effort[:] = feedback.effort

    return tick


def ours(setpoints: Floats) -> Callable[[int], None]:
    """Return a tick of the driver, which watches temperatures, voltages, flags, silence and lifetimes too."""
    names = [f"module{index}" for index in range(MODULES)]
    driver = HebiDriver(names, HebiOptions(families="Arm"), look=lambda _: Network(names))
    driver.open()
    driver.enable()
    command, state = ActuatorCommand(MODULES), ActuatorState(MODULES)

    def tick(index: int) -> None:
        command.values[:] = setpoints[index]
        driver.write(command)
        driver.read(state)

    return tick


def time_us(tick: Callable[[int], None]) -> float:
    begun_s = time.perf_counter()
    for index in range(TICKS):
        tick(index)
    return (time.perf_counter() - begun_s) / TICKS * 1e6


def main() -> None:
    setpoints = np.sin(np.linspace(0, 3, TICKS))[:, None] * np.ones(MODULES)
    ticks = bare(setpoints), bare(setpoints.tolist()), ours(setpoints)
    rounds = [[time_us(tick) for tick in ticks] for _ in range(ROUNDS)]
    arrays_us, lists_us, ours_us = (min(times) for times in zip(*rounds, strict=True))
    # The three of a round ran right after each other, on a machine equally busy.
    to_arrays, to_lists = (statistics.median(each[2] / each[column] for each in rounds) for column in (0, 1))
    print(f"write and read of {MODULES} HEBI modules, imitation group, best of {ROUNDS} x {TICKS} ticks")
    print(f"  hebi-py alone, setpoints in arrays        {arrays_us:>7.1f} us")
    print(f"  hebi-py alone, setpoints in lists         {lists_us:>7.1f} us")
    print(f"  motiond's driver                          {ours_us:>7.1f} us")
    met = "met" if to_arrays <= GOAL else "MISSED"
    print(f"  {to_arrays:.2f} times the first, {to_lists:.2f} times the second; goal at most {GOAL}: {met}")


if __name__ == "__main__":
    main()
