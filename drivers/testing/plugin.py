"""Tests any driver against the contract from the command line: `pytest --motiond-driver=toy`.

Where files or folders are named, `motiond.drivers.testing.suite` is run beside them, otherwise alone. Without
`--motiond-driver` nothing of motiond is imported but this module and its packages.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("motiond", "contract of motiond's drivers")
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
    """Add the suite to the tests to run, if `--motiond-driver` is given.

    Raises
    ------
    pytest.UsageError
        If there is no such driver, or it refuses its options.
    """
    if config.getoption("motiond_driver") is None:
        return
    pytest.register_assert_rewrite("motiond.drivers.testing.contract")
    from .command_line import command_line_rig  # noqa: PLC0415 - costs nothing unless asked for

    command_line_rig(config)
    suite = str(Path(__file__).with_name("suite.py"))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [suite]
    elif suite not in config.args:  # as it is in a process that pytest-xdist started
        config.args.append(suite)
