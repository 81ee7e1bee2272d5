"""The contract suite for the driver that the command line names; `pytest_motiond` has the options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import yaml

from ..base import Driver, DriverConfigError
from ..registry import check_options, make_driver
from .rig import RealTimeRig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..base import Floats


class CommandLineRig(RealTimeRig):
    """A driver as it would stand in a configuration."""

    def __init__(
        self, name: str, options: Mapping[str, Any], actuators: Sequence[str], settle_s: float
    ) -> None:
        super().__init__()
        self._name = name
        self._options = options
        self.actuators = tuple(actuators)
        self.settle_s = settle_s
        checked = check_options(name, options, actuators)
        self.lifetime_s = getattr(checked, "command_lifetime_s", None)

    def make(self, actuators: Sequence[str] | None = None) -> Driver:
        """Return a driver that is not open."""
        return make_driver(
            self._name, self._options, self.actuators if actuators is None else actuators, self.now
        )

    def make_broken(self) -> NoReturn:
        """Skip the test."""
        self.cannot(f"break {self._name}; give it a Rig of its own")

    def push(self, driver: Driver, position: Floats) -> NoReturn:  # noqa: ARG002 - there is no hand
        """Skip the test."""
        self.cannot(f"move what {type(driver).__name__} drives by hand; give it a Rig of its own")


def command_line_rig(config: pytest.Config) -> CommandLineRig:
    """Return the rig for pytest's options.

    Raises pytest.UsageError if there is no such driver, or it refuses its options.
    """
    name, settle_s = config.getoption("motiond_driver"), config.getoption("motiond_driver_settle")
    options = _options(config.getoption("motiond_driver_options"))
    actuators = config.getoption("motiond_driver_actuators").split(",")
    if len(actuators) != len(set(actuators) - {""}) or len(actuators) != len(CommandLineRig.actuators):
        raise pytest.UsageError(
            f"--motiond-driver-actuators: {','.join(actuators)}; the suite needs three; write A,B,C"
        )
    try:
        return CommandLineRig(name, options, actuators, settle_s)
    except DriverConfigError as error:
        raise pytest.UsageError(str(error)) from error


def _options(given: str) -> Mapping[str, Any]:
    """Read options given as JSON or as the name of a YAML file."""
    where = "--motiond-driver-options"
    try:
        options = json.loads(given) if given.startswith("{") else yaml.safe_load(Path(given).read_bytes())
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise pytest.UsageError(f"{where}: {given}; {error}; give JSON or the name of a YAML file") from error
    if not isinstance(options, dict):
        raise pytest.UsageError(f"{where}: {given}; it is no mapping; write `key: value`")
    return options


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
