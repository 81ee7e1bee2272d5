"""The contract suite for the driver that `pytest --motiond-driver` names; collected by the plugin alone."""

from __future__ import annotations

import pytest

from .command_line import CommandLineRig, command_line_rig
from .contract import DriverContract


class TestDriver(DriverContract):
    """The driver that the command line names."""

    @pytest.fixture
    def rig(self, pytestconfig: pytest.Config) -> CommandLineRig:
        """Return the rig for the options of the command line."""
        return command_line_rig(pytestconfig)
