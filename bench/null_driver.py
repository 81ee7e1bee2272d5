"""The least that a driver can do, so that what is measured is the engine.

Its actuators are where they are sent to, at once. The stream process finds it as it finds anybody's driver:
by an entry point, of a package that lies in a folder of its own.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers.base import ActuatorCommand, ActuatorState, Driver
from motiond.drivers.registry import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "null"


class NullDriver(Driver):
    """Actuators that obey at once."""

    max_rate_hz = 100_000.0
    devices = ()
    _goal = np.empty(0)

    def open(self) -> None:
        self._goal = np.zeros(len(self.actuators))

    def read(self, state: ActuatorState) -> None:
        state.position[:] = self._goal
        state.stamp_s.fill(self.now())

    def write(self, command: ActuatorCommand) -> None:
        self._goal[:] = command.position

    def enable(self) -> None:
        """Hold where it is; there is nothing to switch."""

    def disable(self) -> None:
        """Release; there is nothing to switch."""

    def halt(self) -> None:
        """Hold where it is."""

    def close(self) -> None:
        """Release nothing."""


@contextmanager
def registered(folder: Path) -> Iterator[None]:
    """Let this process and those that it starts find the driver as `null`."""
    package = folder / "motiond_null_driver-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: motiond-null-driver\nVersion: 1\n")
    (package / "entry_points.txt").write_text(f"[{GROUP}]\n{NAME} = {__name__}:{NullDriver.__name__}\n")
    before = os.environ.get("PYTHONPATH")
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(folder), before)))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
