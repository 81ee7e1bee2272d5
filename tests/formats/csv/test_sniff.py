"""Which texts are taken for tables, by their looks."""

from __future__ import annotations

import pytest

from motiond.formats import csv
from tests.tables import table


@table("text")
def test_a_table_is_known_by_its_rows_of_numbers(text: str) -> None:
    assert csv.sniff(text.encode())


@table("text")
def test_a_text_that_is_no_table_is_not_taken_for_one(text: str) -> None:
    assert not csv.sniff(text.encode())


@pytest.mark.parametrize("part", ["t ", ",", ";", "0 ", "time.", "-", '"', "\n", "1\n"])
def test_looking_takes_no_longer_than_the_text_is(part: str) -> None:
    """Where it took the square, each of these would take minutes."""
    many = part * (500_000 // len(part))
    csv.sniff(f"{many}x,hip\n0.5,0.5\n".encode())
