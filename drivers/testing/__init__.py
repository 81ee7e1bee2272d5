"""The contract of drivers as a suite of tests, for authors of drivers.

contract      the tests
rig           what the tests need for one back end, and a clock that only tests move
suite         the tests for the driver that the command line names
command_line  the rig for that driver; adds the suite to a test run
"""

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
