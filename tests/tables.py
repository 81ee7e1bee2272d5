"""Tables of cases that stand as text beside their tests: what goes in, and what must come out.

`test_x.py` has its tables in `test_x.txt`. A table begins with a line `[name of the test: its parameters]`.
Each line after it is a row, with ` → ` between its values. A value is a text as it stands, with `⏎` for a
line end, or, after `= `, a Python literal.
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

Test = TypeVar("Test", bound="Callable[..., Any]")


def table(parameters: str, *more: tuple[Any, ...]) -> Callable[[Test], Test]:
    """Run a test with every row of its table, and with more that are too long for a line."""

    def decorate(test: Test) -> Test:
        rows = _tables(Path(inspect.getfile(test)).with_suffix(".txt"))[f"{test.__name__}: {parameters}"]
        count = parameters.count(",") + 1
        assert rows
        assert all(len(row) == count for row in rows), f"each row of {test.__name__} has {count} values"
        decorated: Test = pytest.mark.parametrize(parameters.split(", "), [*rows, *more])(test)
        return decorated

    return decorate


@cache
def _tables(file: Path) -> dict[str, list[list[Any]]]:
    parts = re.split(r"^\[(test_\w+: [\w, ]+)\]$", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        name: [[*map(_value, row.split(" → "))] for row in rows.split("\n") if row]
        for name, rows in zip(parts[1::2], parts[2::2], strict=True)
    }


def _value(text: str) -> Any:
    return ast.literal_eval(text.removeprefix("= ")) if text.startswith("= ") else text.replace("⏎", "\n")
