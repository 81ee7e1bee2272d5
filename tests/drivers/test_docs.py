from pathlib import Path

import pytest

from motiond.drivers.registry import OWN, driver_options_schema

PAGE = (Path(__file__).parents[2] / "docs" / "drivers.md").read_text()


# The options of a composite are parts, explained by an example on a page of their own.
@pytest.mark.parametrize("driver", sorted(OWN.keys() - {"composite"}))
def test_the_page_has_a_row_for_each_option_and_no_other(driver: str) -> None:
    section = PAGE.split(f"\n## `{driver}`\n")[1].split("\n## ")[0]
    rows = {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}
    assert rows == set(driver_options_schema()[driver]["properties"])
