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
    from collections.abc import Callable

    from motiond.drivers.base import Floats

GOAL = 1.5
MODULES, TICKS, ROUNDS = 20, 500, 20
LIFETIME_S = 5.0
"""Of a setpoint: the longest, as nothing is sent while the others' ticks are measured."""


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


def bare(setpoints: Floats) -> Callable[[int], None]:
    """Return a tick as one writes it with hebi-py alone: set three fields, send, get, copy three fields.

    Rows of a motion are arrays; hebi-py takes lists in half the time, and so gets lists.
    """
    hebi = import_hebi()
    group = hebi.util.create_imitation_group(MODULES)
    command, feedback = hebi.GroupCommand(MODULES), hebi.GroupFeedback(MODULES)
    position, velocity, effort = np.empty((3, MODULES))

    def tick(index: int) -> None:
        row = setpoints[index].tolist()
        command.position = row
        command.velocity = row
        command.effort = row
        group.send_command(command)
        group.get_next_feedback(timeout_ms=0, reuse_fbk=feedback)
        position[:] = feedback.position
        velocity[:] = feedback.velocity
        effort[:] = feedback.effort

    return tick


def ours(setpoints: Floats) -> Callable[[int], None]:
    """Return a tick of the driver, which watches temperatures, voltages, flags, silence and lifetimes too."""
    names = [f"module{index}" for index in range(MODULES)]
    options = HebiOptions(families="Arm", command_lifetime_s=LIFETIME_S)
    driver = HebiDriver(names, options, look=lambda _: Network(names))
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
    ticks = bare(setpoints), ours(setpoints)
    rounds = [[time_us(tick) for tick in ticks] for _ in range(ROUNDS)]
    bare_us, ours_us = (statistics.median(times) for times in zip(*rounds, strict=True))
    # The two of a round ran right after each other, on a machine equally busy.
    ratio = statistics.median(ours / alone for alone, ours in rounds)
    print(f"write and read of {MODULES} HEBI modules, imitation group, median of {ROUNDS} x {TICKS} ticks")
    print(f"  hebi-py alone       {bare_us:>7.1f} us")
    print(f"  motiond's driver    {ours_us:>7.1f} us")
    print(f"  {ratio:.2f} times as long; goal at most {GOAL}: {'met' if ratio <= GOAL else 'MISSED'}")


if __name__ == "__main__":
    main()
