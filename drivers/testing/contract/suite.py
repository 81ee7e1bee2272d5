"""All tests of the contract in one class, which authors of drivers subclass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .failures import FailureContract
from .feedback import FeedbackContract
from .lifecycle import LifecycleContract
from .limits import LimitsContract
from .motion import MotionContract
from .torque import TorqueContract

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...base import Driver
    from ..rig import Rig


class DriverContract(
    LifecycleContract, LimitsContract, FeedbackContract, TorqueContract, MotionContract, FailureContract
):
    """The contract's tests; a subclass adds the fixture `rig`."""

    @pytest.fixture
    def driver(self, rig: Rig) -> Iterator[Driver]:
        driver = rig.make()
        driver.open()
        yield driver
        driver.close()
