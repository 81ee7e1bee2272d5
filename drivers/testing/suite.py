"""The contract suite for the driver that `pytest --motiond-driver` names; collected by the plugin alone."""

from __future__ import annotations

import pytest

from .command_line import CommandLineRig, command_line_rig
from .contract import DriverContract


class TestDriver(DriverContract):
    """The driver that the command line names."""

    @pytest.fixture
    def rig(self, pytestconfig: pytest.Config) -> CommandLineRig:
        """Give the rig that the command line asks for."""
        return command_line_rig(pytestconfig)
