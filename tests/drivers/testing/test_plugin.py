"""The options of the contract suite, and the example of `docs/writing-a-driver.md`."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from motiond.drivers.testing.command_line import command_line_rig

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "motiond-driver-toy"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"driver": "sin"}, "driver sin: there is no such driver; there are ...; did you mean 'sim'?"),
        (
            {"options": '{"noise": -1}'},
            "driver sim: option 'noise' is -1; it should be greater than or equal to 0; correct it",
        ),
        (
            {"options": "[1]"},
            (
                "--motiond-driver-options: [1]; [Errno 2] No such file or directory: '[1]'; "
                "give JSON or the name of a YAML file"
            ),
        ),
        (
            {"options": "{1}"},
            (
                "--motiond-driver-options: {1}; "
                "Expecting property name enclosed in double quotes: line 1 column 2 (char 1); "
                "give JSON or the name of a YAML file"
            ),
        ),
        (
            {"options": os.devnull},
            f"--motiond-driver-options: {os.devnull}; it is no mapping; write `key: value`",
        ),
        ({"actuators": "a,b,a"}, "--motiond-driver-actuators: a,b,a; the suite needs three; write A,B,C"),
    ],
)
def test_reports_what_is_wrong_on_the_command_line(given: dict[str, str], message: str) -> None:
    options: dict[str, Any] = {
        "motiond_driver": given.get("driver", "sim"),
        "motiond_driver_options": given.get("options", "{}"),
        "motiond_driver_actuators": given.get("actuators", "a,b,c"),
        "motiond_driver_settle": 0.5,
    }
    with pytest.raises(pytest.UsageError) as caught:
        command_line_rig(cast("pytest.Config", SimpleNamespace(getoption=options.__getitem__)))
    there_are, _, rest = str(caught.value).partition("there are composite")
    assert (f"{there_are}there are ...;{rest.split(';')[1]}" if rest else there_are) == message


@pytest.mark.parametrize("name", ["motiond_driver_toy.py", "test_toy.py"])
def test_the_page_quotes_the_example_as_it_is(name: str) -> None:
    page = (ROOT / "docs" / "writing-a-driver.md").read_text()
    assert f"```python\n{(EXAMPLE / name).read_text()}```" in page
