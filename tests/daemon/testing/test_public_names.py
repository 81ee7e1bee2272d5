"""Every name of the plugin that the documentation and the example use is public and there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest_motiond

CHECKOUT = Path(__file__).parents[3]
PAGE = (CHECKOUT / "docs" / "testing-your-robot.md").read_text(encoding="utf-8")
EXAMPLE = (CHECKOUT / "examples" / "robot-tests" / "test_arm.py").read_text(encoding="utf-8")
IMPORT = re.compile(r"^from pytest_motiond import (.*)$", re.MULTILINE)


def test_what_the_page_and_the_example_import_is_public() -> None:
    imported = {
        name for text in (PAGE, EXAMPLE) for names in IMPORT.findall(text) for name in names.split(", ")
    }
    assert {"MotiondRobot", "RequestRefused"} <= imported <= set(pytest_motiond.__all__)


def test_the_page_lists_every_exception_and_no_other() -> None:
    table = PAGE.split("| `pytest_motiond.` | |", 1)[1]
    listed = {
        name
        for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
        for name in re.findall(r"`(\w+)", row)
    }
    public = {name: getattr(pytest_motiond, name) for name in pytest_motiond.__all__}
    assert listed == {name for name, one in public.items() if issubclass(one, pytest_motiond.MotiondFailure)}


def test_every_public_name_is_there() -> None:
    assert [name for name in pytest_motiond.__all__ if not hasattr(pytest_motiond, name)] == []
