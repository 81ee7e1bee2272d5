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

SYNTAX = "a formula is made of numbers, pi, + - * / and parentheses"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3.24", 3.24), (".324", 0.324), ("1.", 1), ("324", 324), ("3.24e2", 324),
        ("-3.24E-2", -0.0324), ("-3.24e+2", -324), ("-32E4", -320000), ("1.e2", 100),
        ("pi", math.pi), ("pi / 4", math.pi / 4), ("1 + 4", 5), ("32*45", 1440),
        ("1 + 2 / 3 - 4 * 5", 1 + 2 / 3 - 20), ("1 + 2 / (3 - 4) * 5", -9), ("8/4/2", 1), ("8-4-2", 2),
        ("(100 + 45) / (3*pi)", 145 / (3 * math.pi)), ("32e-2*pi", 0.32 * math.pi),
        ("----1", 1), ("- 1.3", -1.3), ("+-+1", -1), ("2*-3", -6), ("-(-(-1)-(-1))", -2), ("1--1", 2),
        (" \t\r\n( 1 )\n", 1), ("1e-400", 0),
    ],
)  # fmt: skip
def test_formula_has_its_value(text: str, value: float) -> None:
    assert parse_formula(text) == pytest.approx(value, rel=1e-15, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2.4.3", f"unexpected '.3' at character 4 of '2.4.3'; {SYNTAX}"),
        ("2,000", f"unexpected ',' at character 2 of '2,000'; {SYNTAX}"),
        ("3e2.4", f"unexpected '.4' at character 4 of '3e2.4'; {SYNTAX}"),
        (".", f"unexpected '.' at character 1 of '.'; {SYNTAX}"),
        ("1. 02", f"unexpected '02' at character 4 of '1. 02'; {SYNTAX}"),
        ("2 pi", f"unexpected 'pi' at character 3 of '2 pi'; {SYNTAX}"),
        ("2pi", f"unexpected 'pi' at character 2 of '2pi'; {SYNTAX}"),
        ("2 4", f"unexpected '4' at character 3 of '2 4'; {SYNTAX}"),
        ("2(3)", f"unexpected '(' at character 2 of '2(3)'; {SYNTAX}"),
        ("PI", f"unexpected 'PI' at character 1 of 'PI'; {SYNTAX}; pi is written in lower case"),
        ("pi2", f"unexpected 'pi2' at character 1 of 'pi2'; {SYNTAX}"),
        ("1e", f"unexpected 'e' at character 2 of '1e'; {SYNTAX}"),
        ("1e 3", f"unexpected 'e' at character 2 of '1e 3'; {SYNTAX}"),
        ("0x10", f"unexpected 'x10' at character 2 of '0x10'; {SYNTAX}"),
        ("1_0", f"unexpected '_0' at character 2 of '1_0'; {SYNTAX}"),
        ("inf", f"unexpected 'inf' at character 1 of 'inf'; {SYNTAX}"),
        ("2**3", f"unexpected '*' at character 3 of '2**3'; {SYNTAX}"),
        ("*1", f"unexpected '*' at character 1 of '*1'; {SYNTAX}"),
        ("1+", f"unexpected the end at character 3 of '1+'; {SYNTAX}"),
        ("(1", f"unexpected the end at character 3 of '(1'; {SYNTAX}"),
        ("1)", f"unexpected ')' at character 2 of '1)'; {SYNTAX}"),
        ("()", f"unexpected ')' at character 2 of '()'; {SYNTAX}"),
        ("", f"unexpected the end at character 1 of ''; {SYNTAX}"),
        ("1\u00a0+1", f"unexpected '\\xa0' at character 2 of '1\\xa0+1'; {SYNTAX}"),
        ("\u0663", f"unexpected '\u0663' at character 1 of '\u0663'; {SYNTAX}"),
        ("1/0", "division by zero at character 3 of '1/0'; it has no value"),
        ("1/(1-1)", "division by zero at character 3 of '1/(1-1)'; it has no value"),
        ("1e400", "'1e400' is too large; it overflows a floating-point number"),
        ("1/(1e308*10)", "'1/(1e308*10)' is too large; it overflows a floating-point number"),
        ("(" * 51 + "1" + ")" * 51, f"'{'(' * 51}1{')' * 7}…' is too deep; parentheses nest up to 50 times"),
    ],
)  # fmt: skip
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
