"""How problems are worded: in one line each, of bounded length, whatever stands in a file."""

from __future__ import annotations

import time

import pytest

from motiond.formats import Problem
from motiond.text import listed, nearest

MANY = [f"motion{number:05}" for number in range(100_000)]


def test_a_problem_is_one_line_whatever_it_quotes() -> None:
    problem = Problem("a.seq", 3, "type is 'x\r\n2026-11-22 INFO all is well\x1b[0m'", "it is no type")
    assert str(problem) == (r"a.seq:3: type is 'x\x0d\x0a2026-11-22 INFO all is well\x1b[0m'; it is no type")


def test_what_a_problem_quotes_is_cut() -> None:
    assert str(Problem("a.seq", 3, "x" * 10**6, "y", "z")) == f"a.seq:3: {'x' * 1499}…; y; z"


def test_a_problem_keeps_no_more_of_a_long_text_than_it_shows() -> None:
    problem = Problem("a.seq", 3, f"unknown '{'x' * 10**5}'", "y" * 10**5)
    assert (problem.problem, problem.reason) == (f"unknown '{'x' * 59}…'", "y" * 1499 + "…")


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a, b"),
        (MANY[:20], ", ".join(MANY[:20])),
        (MANY[:21], f"{', '.join(MANY[:20])} and 1 more"),
        (MANY, f"{', '.join(MANY[:20])} and 99,980 more"),
        (["n" * 1000], "n" * 59 + "…"),
    ],
)
def test_a_list_of_names_ends(names: list[str], message: str) -> None:
    assert listed(names) == message


def test_names_may_be_quoted() -> None:
    assert listed({"a": 1, "b": 2}, "'") == "'a', 'b'"
    assert listed(["a"], more=1_000) == "a and 1,000 more"


@pytest.mark.parametrize(
    ("word", "known", "guess"),
    [
        ("Motion00007", MANY, "did you mean 'motion00007'?"),
        ("motion9999", MANY, "did you mean 'motion00499'?"),
        ("x" * 60_000, MANY, ""),
        ("zebra", MANY, ""),
        ("ab" * 25, [f"{'a' * 45}{number:05}" for number in range(100_000)], ""),
    ],
)
def test_a_guess_among_many_names_takes_a_moment(word: str, known: list[str], guess: str) -> None:
    """Requests are answered one at a time, so that a guess must not delay a stop."""
    began_s = time.thread_time()
    assert nearest(word, known) == guess
    assert time.thread_time() - began_s < 0.5
