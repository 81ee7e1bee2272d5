"""Numbers, formulas, rotations and translations of HRDF."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motiond.formats import BadText
from motiond.formats.hrdf.formula import (
    parse_formula,
    parse_matrix,
    parse_number,
    parse_rotation,
    parse_translation,
)
from tests.tables import table


@table("text, value")
def test_formula_has_its_value(text: str, value: float) -> None:
    assert parse_formula(text) == pytest.approx(value, rel=1e-15, abs=1e-15)


@table("text, message")
def test_what_is_no_formula_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadText) as refused:
        parse_formula(text)
    assert str(refused.value) == message


def test_long_and_deep_formulas_within_bounds_are_read() -> None:
    assert parse_formula("+".join(["1"] * 50_000)) == 50_000
    assert parse_formula("-" * 50_000 + "1") == 1
    assert parse_formula("(" * 50 + "1" + ")" * 50) == 1


@given(st.recursive(
    st.floats(0.1, 1000).map(repr),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: f"({' '.join(parts)})"),
    max_leaves=12,
))  # fmt: skip
def test_formula_agrees_with_python(text: str) -> None:
    try:
        expected = eval(text)  # noqa: S307 - a text of numbers and operators made above
    except ZeroDivisionError:
        with pytest.raises(BadText, match="division by zero"):
            parse_formula(text)
        return
    assert parse_formula(text) == expected


def test_plain_numbers_know_no_formulas() -> None:
    assert parse_number(" -3.24e2 ") == -324
    with pytest.raises(BadText) as refused:
        parse_number("pi")
    assert str(refused.value) == "'pi' is no number; a number is written as 3.24, -.5 or 32e-4"


def test_translation_elements_are_formulas_without_blanks() -> None:
    np.testing.assert_allclose(parse_translation(" 1+1\t-pi/2\n(3) "), [2, -np.pi / 2, 3])


@table("text, message")
def test_what_is_no_translation_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadText) as refused:
        parse_translation(text)
    assert str(refused.value) == message


def test_rotation_of_nine_numbers_is_row_by_row() -> None:
    np.testing.assert_array_equal(parse_rotation("0 -1 0\n1 0 0\n0 0 1"), [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert parse_matrix("1e0 0 0 0 1 0 0 0 1").shape == (3, 3)


def test_rotations_compound_from_left_to_right() -> None:
    x = parse_rotation("Rx(pi / (1 + 1))")
    np.testing.assert_allclose(x, [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-15)
    z = parse_rotation("Rz(0.3)")
    np.testing.assert_allclose(z[:2, :2], [[math.cos(0.3), -math.sin(0.3)], [math.sin(0.3), math.cos(0.3)]])
    y = parse_rotation("Ry(0.3)")
    np.testing.assert_allclose(y[0], [math.cos(0.3), 0, math.sin(0.3)])
    np.testing.assert_allclose(parse_rotation("Rx(pi/2) * Rz(0.3)*Ry(0.3)"), x @ z @ y)


@table("text, message")
def test_what_is_no_rotation_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadText) as refused:
        parse_rotation(text)
    assert str(refused.value) == message


def test_six_decimals_make_a_rotation_and_five_do_not() -> None:
    parse_rotation("0.707107 -0.707107 0 0.707107 0.707107 0 0 0 1")
    with pytest.raises(BadText):
        parse_rotation("0.70711 -0.70711 0 0.70711 0.70711 0 0 0 1")
