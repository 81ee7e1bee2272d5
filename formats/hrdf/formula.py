"""Numbers, formulas, translations and rotations as HRDF writes them.

The text of an attribute becomes a float, a (3,) vector in metres or a (3, 3) rotation. Follows the sections
"floating point" to "translation vector" of the HEBI Robot Configuration format 1.6.0. What is none of these
raises `BadText`:

    formula   := product (("+" | "-") product)*
    product   := unary (("*" | "/") unary)*
    unary     := ("+" | "-")* (number | "pi" | "(" formula ")")
    rotation  := turn ("*" turn)*  |  nine numbers, row by row
    turn      := ("Rx" | "Ry" | "Rz") "(" formula ")"
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from motiond.text import quoted

from ..errors import BadText

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..arrays import Floats

WHITESPACE = " \t\r\n"
MOST_NESTED = 50
# Of R·Rᵀ from the identity: six decimals pass and five are refused, as by the vendor's parser.
ROTATION_TOLERANCE = 5e-6

_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_WORD = re.compile(rf"[^{WHITESPACE}]+")
_PLAIN_NUMBER = re.compile(rf"[+-]?{_NUMBER}")
_TOKEN = re.compile(
    rf"(?P<number>{_NUMBER})|(?P<name>[A-Za-z_][A-Za-z_0-9]*)|(?P<sign>[-+*/()])|(?P<other>.)", re.DOTALL
)
_SYNTAX = "a formula is made of numbers, pi, + - * / and parentheses"


def parse_number(text: str) -> float:
    """Read a plain number: `-3.24e2`. Raises `BadText` if it is none, or too large for a float."""
    if not _PLAIN_NUMBER.fullmatch(text.strip(WHITESPACE)):
        raise BadText(f"{quoted(text)} is no number", "a number is written as 3.24, -.5 or 32e-4")
    return _finite(float(text), text)


def parse_formula(text: str) -> float:
    """Read a formula: `(100 + 45) / (3*pi)`; one that divides by zero or overflows is none."""
    parser = _Parser(text)
    value = parser.formula()
    parser.end()
    return value


def parse_translation(text: str, element: Callable[[str], float] = parse_formula) -> Floats:
    """Read `x y z` in metres, shape (3,); each is read by `element` and has no blanks in it."""
    words = _WORD.findall(text)
    if len(words) != 3:
        raise BadText(
            f"{quoted(text)} has {len(words)} elements",
            "a translation is three numbers, x y z",
            "write formulas in it without blanks",
        )
    return np.array([element(word) for word in words])


def has_formula(text: str) -> bool:
    """Whether a translation has an element that is no plain number."""
    return any(_PLAIN_NUMBER.fullmatch(word) is None for word in _WORD.findall(text))


def leading_numbers(text: str) -> list[float]:
    """Return what HEBI's library reads of a translation: the number each element begins with, else 0."""
    found = (_PLAIN_NUMBER.match(word) for word in _WORD.findall(text))
    return [float(match[0]) if match else 0.0 for match in found]


def parse_rotation(text: str) -> Floats:
    """Read `Rx(pi/2)*Rz(1)` or nine numbers row by row, shape (3, 3)."""
    if not re.search(r"[A-DF-Za-df-z(]", text):
        return parse_matrix(text)
    parser = _Parser(text)
    rotation = parser.turn()
    while parser.take("*"):
        rotation = rotation @ parser.turn()
    parser.end("expected `*` between two rotations")
    return rotation


def parse_matrix(text: str) -> Floats:
    """Read a rotation of nine numbers row by row, shape (3, 3)."""
    words = _WORD.findall(text)
    if len(words) != 9:
        raise BadText(
            f"{quoted(text)} has {len(words)} numbers",
            "a rotation is nine numbers, row by row, or a product such as Rx(pi/2)*Rz(pi)",
        )
    matrix = np.array([parse_number(word) for word in words]).reshape(3, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(matrix @ matrix.T - np.eye(3)).max()
    if not error <= ROTATION_TOLERANCE or np.linalg.det(matrix) < 0:
        raise BadText(
            f"{quoted(text)} is no rotation",
            "its rows must be of length 1, at right angles, and right-handed",
            "give at least six decimals, or write it with Rx, Ry and Rz",
        )
    return matrix


def _finite(value: float, text: str) -> float:
    if not math.isfinite(value):
        raise BadText(f"{quoted(text)} is too large", "it overflows a floating-point number")
    return value


class _Token(NamedTuple):
    kind: str
    text: str
    column: int


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        if match[0] not in WHITESPACE:
            yield _Token(match.lastgroup or "", match[0], match.start() + 1)
    yield _Token("end", "the end", len(text) + 1)


class _Parser:
    """Reads a text from left to right; each method consumes what it understands and leaves the rest."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        # A formula may have millions of tokens; one is kept.
        self._tokens = _tokens(text)
        self._token = next(self._tokens)

    def take(self, *signs: str) -> str:
        """Consume and return one of some signs; return '' if another token is next."""
        token = self._token
        if token.kind != "sign" or token.text not in signs:
            return ""
        self._token = next(self._tokens)
        return token.text

    def end(self, reason: str = _SYNTAX) -> None:
        """Refuse anything that follows."""
        if self._token.kind != "end":
            raise self._unexpected(reason)

    def formula(self) -> float:
        """Read a sum."""
        value = self._product()
        while sign := self.take("+", "-"):
            value = self._checked(value + (self._product() if sign == "+" else -self._product()))
        return value

    def turn(self) -> Floats:
        """Read `Rx(…)`, shape (3, 3)."""
        axis = self._token
        if axis.text not in {"Rx", "Ry", "Rz"}:
            raise self._unexpected("expected Rx(…), Ry(…) or Rz(…); case matters")
        self._token = next(self._tokens)
        if self._token.text != "(":
            raise self._unexpected(f"expected `(` after {axis.text}")
        return axis_rotation("xyz".index(axis.text[1]), self._parenthesis())

    def _product(self) -> float:
        value = self._unary()
        while sign := self.take("*", "/"):
            column = self._token.column
            factor = self._unary()
            if sign == "/" and factor == 0:
                raise BadText(
                    f"division by zero at character {column} of {quoted(self._text)}", "it has no value"
                )
            value = self._checked(value * factor if sign == "*" else value / factor)
        return value

    def _unary(self) -> float:
        positive = True
        while sign := self.take("+", "-"):
            positive ^= sign == "-"
        value = self._primary()
        return value if positive else -value

    def _primary(self) -> float:
        token = self._token
        if token.text == "(":
            return self._parenthesis()
        if token.kind != "number" and token.text != "pi":
            raise self._unexpected(_SYNTAX)
        self._token = next(self._tokens)
        return math.pi if token.text == "pi" else self._checked(float(token.text))

    def _parenthesis(self) -> float:
        """Read `(…)`; the caller has seen the opening one."""
        self._token = next(self._tokens)
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise BadText(f"{quoted(self._text)} is too deep", f"parentheses nest up to {MOST_NESTED} times")
        value = self.formula()
        if not self.take(")"):
            raise self._unexpected(_SYNTAX)
        self._depth -= 1
        return value

    def _checked(self, value: float) -> float:
        return _finite(value, self._text)

    def _unexpected(self, reason: str) -> BadText:
        token = self._token
        found = "the end" if token.kind == "end" else repr(token.text)
        hint = "pi is written in lower case" if token.text.casefold() == "pi" != token.text else ""
        return BadText(
            f"unexpected {found} at character {token.column} of {quoted(self._text)}", reason, hint
        )


def axis_rotation(axis: int, angle_rad: float) -> Floats:
    """Return the rotation (3, 3) about principal axis 0, 1 or 2."""
    rotation = np.eye(3)
    first, second = (axis + 1) % 3, (axis + 2) % 3
    cosine, sine = math.cos(angle_rad), math.sin(angle_rad)
    rotation[[first, second], [first, second]] = cosine
    rotation[first, second], rotation[second, first] = -sine, sine
    return rotation
