"""The contract of drivers as a suite of tests, for authors of drivers.

contract      the tests
rig           what the tests need for one back end
clock         a clock that only tests move
suite         the tests for the driver that the command line names
command_line  the rig for that driver
plugin        adds the suite to a test run that names a driver
"""

import pytest

pytest.register_assert_rewrite(f"{__name__}.contract")

from .clock import Clock  # noqa: E402 - pytest shows what failed assertions compare only where it is told before
from .contract import DriverContract  # noqa: E402
from .plugin import add_suite  # noqa: E402
from .rig import ACTUATORS, LIFETIME_S, TICK_S, RealTimeRig, Rig  # noqa: E402

__all__ = ["ACTUATORS", "LIFETIME_S", "TICK_S", "Clock", "DriverContract", "RealTimeRig", "Rig", "add_suite"]
