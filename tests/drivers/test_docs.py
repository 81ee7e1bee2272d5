from pathlib import Path

import pytest

from motiond.drivers.registry import driver_options_schema

PAGE = (Path(__file__).parents[2] / "docs" / "drivers.md").read_text()


@pytest.mark.parametrize("driver", ["sim", "hebi", "dynamixel"])
def test_the_page_has_a_row_for_each_option_and_no_other(driver: str) -> None:
    section = PAGE.split(f"\n## `{driver}`\n")[1].split("\n## ")[0]
    rows = {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}
    assert rows == set(driver_options_schema()[driver]["properties"])
