"""Fixtures of the command line and of the embedded broker."""

from tests.daemon.broker.conftest import wires  # noqa: F401 - a fixture
from tests.daemon.cli.conftest import rig  # noqa: F401 - a fixture
