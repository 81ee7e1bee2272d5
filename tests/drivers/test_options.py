"""Options of every driver: what is wrong is refused all at once, each with its path."""

from __future__ import annotations

import re
from typing import Any

import pytest

from motiond.drivers.base import DriverConfigError
from motiond.drivers.options import OptionsError
from motiond.drivers.registry import check_options
from tests.drivers.errors import message_of
from tests.tables import table

ACTUATORS = {
    "sim": ["elbow", "wrist"],
    "hebi": ["base", "elbow"],
    "dynamixel": ["base", "elbow"],
    "composite": ["shoulder", "finger", "elbow"],
}


def without_lists(line: str) -> str:
    """Remove the names of all drivers, and of all options of one, from a message."""
    line = re.sub(r"(driver (?:sim|composite): unknown option .*; it takes )[^;]+", r"\1...", line)
    return re.sub(r"(there are )composite[^;]+", r"\1...", line)


@table("driver, options, message")
def test_wrong_options_are_refused_all_at_once(driver: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(DriverConfigError) as caught:
        check_options(driver, options, ACTUATORS.get(driver, ()))
    assert "\n".join(map(without_lists, str(caught.value).splitlines())) == message


ARM = {"type": "sim", "actuators": ["shoulder", "elbow"]}


@table("driver, options, paths")
def test_reports_a_program_which_option_is_wrong(
    driver: str, options: dict[str, Any], paths: list[tuple[str, ...]]
) -> None:
    with pytest.raises(OptionsError) as caught:
        check_options(driver, options, ACTUATORS[driver])
    assert [problem.option for problem in caught.value.problems] == paths


@pytest.mark.parametrize(
    ("driver", "options", "option"),
    [
        ("hebi", {"names": ["a"] * 1001}, "names"),
        ("sim", {"faults": [{"fault": "clear"}] * 1001}, "faults"),
        ("sim", {"initial": dict.fromkeys(map(str, range(1001)), 0.0)}, "initial"),
        ("dynamixel", {"ports": [{"port": "/dev/x", "ids": dict.fromkeys(range(1001), 1)}]}, "ports.0.ids"),
    ],
)
def test_no_option_takes_more_entries_than_a_robot_can_need(
    driver: str, options: dict[str, Any], option: str
) -> None:
    assert message_of(OptionsError, check_options, driver, options) == (
        f"driver {driver}: option '{option}' has 1001 entries; it takes at most 1000; remove some"
    )
