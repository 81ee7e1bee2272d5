"""What tests of several topics do and look at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from ...base import Floats
    from ..rig import Rig


def open_files() -> int:
    """Return the number of this process's file descriptors."""
    return len(list(Path("/proc/self/fd").iterdir()))


def lifetime_of(rig: Rig) -> float:
    """Return how long actuators hold without a setpoint, in s; skip the test if that is for ever."""
    if rig.lifetime_s is None:
        pytest.skip(f"{type(rig).__name__} says that its actuators hold for ever")
    return rig.lifetime_s


def let_go(rig: Rig) -> None:
    """Wait until actuators without setpoints have let go."""
    rig.wait(lifetime_of(rig) + 0.1)


def assert_at(rig: Rig, position: Floats, expected: list[float] | Floats) -> None:
    """Assert that a position (actuators,) is the expected one within the rig's tolerance."""
    np.testing.assert_allclose(position, expected, rtol=0.0, atol=rig.tolerance)
