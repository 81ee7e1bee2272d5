"""The pages on drivers have each option, and name what is public."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from motiond.drivers.registry import OWN, driver_options_schema

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "drivers.md").read_text()
TEXT = "".join(page.read_text() for page in sorted(DOCS.glob("**/*.md")))
NAMES = set(re.findall(r"`(motiond\.drivers(?:\.\w+)+)", TEXT))
FACES = {"motiond.drivers.testing", "motiond.drivers.sim"}


@pytest.mark.parametrize("name", sorted(NAMES - FACES))
def test_what_pages_mention_is_there(name: str) -> None:
    module, _, last = name.rpartition(".")
    assert last in import_module(module).__all__


@pytest.mark.parametrize("maker", ["dynamixel", "feetech"])
def test_the_page_of_a_maker_lists_every_model_and_no_other(maker: str) -> None:
    page = (DOCS / f"{maker}.md").read_text()
    rows = [line for line in page.split("## Models")[1].splitlines() if line.startswith("|")]
    named = {word.strip("`,") for row in rows for word in row.split() if word.startswith("`")}
    assert named == set(import_module(f"motiond.drivers.{maker}").models_by_name())


# The options of a composite are parts, explained by an example on a page of their own.
@pytest.mark.parametrize("driver", sorted(OWN.keys() - {"composite"}))
def test_the_page_has_a_row_for_each_option_and_no_other(driver: str) -> None:
    section = PAGE.split(f"\n## `{driver}`\n")[1].split("\n## ")[0]
    rows = {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}
    assert rows == set(driver_options_schema()[driver]["properties"])
