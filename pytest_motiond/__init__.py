"""A pytest plugin for tests that play motions on a daemon with simulated actuators, or test a driver.

This module only declares the fixtures and options. What they do is in `motiond.daemon.testing` and, for
`--motiond-driver`, in `motiond.drivers.testing`; both are imported when a test run first uses them, so every
other test run loads no module of motiond but this one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.client import Result
    from motiond.daemon.testing.failures import DaemonEnded, MotiondFailure, NotInTime, RequestRefused
    from motiond.daemon.testing.plugin import DaemonPool
    from motiond.daemon.testing.process import MotiondDaemon
    from motiond.daemon.testing.robot import Goal, MotiondRobot
    from motiond.daemon.testing.traces import Contact, Series, Trace

__all__ = [
    "Contact",
    "DaemonEnded",
    "Goal",
    "MotiondDaemon",
    "MotiondFailure",
    "MotiondRobot",
    "NotInTime",
    "RequestRefused",
    "Result",
    "Series",
    "Trace",
]

_MODULES = {
    "failures": ("DaemonEnded", "MotiondFailure", "NotInTime", "RequestRefused"),
    "process": ("MotiondDaemon",),
    "robot": ("Goal", "MotiondRobot", "Result"),
    "traces": ("Contact", "Series", "Trace"),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"motiond.daemon.testing.{module}"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of pytest's configuration file and of its command line."""
    parser.addini("motiond_config", "motiond's configuration, relative to this file", default="")
    parser.addini("motiond_robot", "which of its robots the tests move", default="")
    group = parser.getgroup("motiond", "motiond's golden traces, and the contract of its drivers")
    group.addoption(
        "--motiond-update-golden",
        action="store_true",
        help="make the golden traces of `assert_like` anew, by dry runs of what the tests play",
    )
    group.addoption("--motiond-driver", metavar="NAME", help="hold this driver against the contract")
    group.addoption(
        "--motiond-driver-options",
        metavar="JSON|FILE",
        default="{}",
        help="what would stand under `driver:` besides `type`; JSON, or the name of a YAML file",
    )
    group.addoption(
        "--motiond-driver-actuators",
        metavar="A,B,C",
        default="base,shoulder,elbow",
        help="three actuators that turn freely (default: %(default)s)",
    )
    group.addoption(
        "--motiond-driver-settle",
        metavar="SECONDS",
        type=float,
        default=0.5,
        help="how long they take to come to rest after a step of 2 rad (default: %(default)s)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and add the tests of a driver if the command line names one."""
    what = "which robot `motiond_robot` is; the file is relative to the test's own"
    config.addinivalue_line("markers", f"motiond(config, robot): {what}")
    if config.getoption("motiond_driver") is not None:
        from motiond.drivers.testing import add_suite  # noqa: PLC0415 - costs nothing unless asked for

        add_suite(config)


@pytest.fixture(scope="session")
def _motiond_daemons(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DaemonPool]:
    from motiond.daemon.testing.plugin import daemon_pool  # noqa: PLC0415 - costs nothing unless used

    yield from daemon_pool(pytestconfig, tmp_path_factory)


@pytest.fixture
def motiond_daemon(request: pytest.FixtureRequest, _motiond_daemons: DaemonPool) -> Iterator[MotiondDaemon]:
    """Provide the daemon that runs the test's configuration; tests share it as long as nothing goes wrong."""
    from motiond.daemon.testing.plugin import daemon_of_test  # noqa: PLC0415 - costs nothing unless used

    yield from daemon_of_test(request, _motiond_daemons)


@pytest.fixture
def motiond_robot(request: pytest.FixtureRequest, motiond_daemon: MotiondDaemon) -> Iterator[MotiondRobot]:
    """Provide the robot that the marker `motiond` or the option `motiond_robot` names, or the only one."""
    from motiond.daemon.testing.plugin import robot_of_test  # noqa: PLC0415 - costs nothing unless used

    yield from robot_of_test(request, motiond_daemon)
