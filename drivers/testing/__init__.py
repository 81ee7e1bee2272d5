"""The contract of drivers as a suite of tests, for authors of drivers."""

import pytest

pytest.register_assert_rewrite(f"{__name__}.contract")

from .command_line import add_suite  # noqa: E402
from .contract import DriverContract  # noqa: E402
from .rig import (  # noqa: E402
    ACTUATORS,
    LIFETIME_S,
    TICK_S,
    Clock,
    RealTimeRig,
    Rig,
)

__all__ = ["ACTUATORS", "LIFETIME_S", "TICK_S", "Clock", "DriverContract", "RealTimeRig", "Rig", "add_suite"]
