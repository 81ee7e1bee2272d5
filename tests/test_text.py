"""How messages word what they name."""

from __future__ import annotations

import pytest

from motiond.text import rounded_down


@pytest.mark.parametrize(
    ("limit", "text"),
    [(1.0195, "1.01"), (9.567, "9.56"), (4.77, "4.77"), (10.0, "10"), (1.0, "1"), (0.12345, "0.123")],
)
def test_a_limit_is_rounded_down_so_that_what_is_read_may_be_asked_for(limit: float, text: str) -> None:
    assert rounded_down(limit) == text
    assert float(text) <= limit
