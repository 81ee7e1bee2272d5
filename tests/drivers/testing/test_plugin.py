"""The options of the contract suite, and the example of `docs/writing-a-driver.md`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from motiond.drivers.testing.command_line import command_line_rig
from tests.tables import table

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "motiond-driver-toy"


@table("given, message")
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
