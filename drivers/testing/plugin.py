"""Adds the contract suite to a test run that names a driver; `pytest_motiond` has the options."""

from __future__ import annotations

from pathlib import Path

import pytest

from .command_line import command_line_rig


def add_suite(config: pytest.Config) -> None:
    """Add the suite to the tests to run: beside the files or folders that are named, otherwise alone.

    Raises
    ------
    pytest.UsageError
        If there is no such driver, or it refuses its options.
    """
    command_line_rig(config)
    suite = str(Path(__file__).with_name("suite.py"))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [suite]
    elif suite not in config.args:  # as it is in a process that pytest-xdist started
        config.args.append(suite)
