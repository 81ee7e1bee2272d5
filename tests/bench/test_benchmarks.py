"""Every benchmark that can be named is there, and runs as it is called."""

from __future__ import annotations

import importlib
import inspect

import pytest

from bench.__main__ import NAMES, TIMED, TOGETHER, chosen


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_needs_nothing_and_takes_a_time_where_it_is_timed(name: str) -> None:
    parameters = inspect.signature(importlib.import_module(f"bench.{name}").main).parameters
    assert all(one.default is not inspect.Parameter.empty for one in parameters.values())
    assert (next(iter(parameters), None) == "seconds") == (name in TIMED)


def test_a_name_for_several_stands_for_benchmarks_that_there_are() -> None:
    assert set(NAMES) >= TIMED
    assert all(set(chosen([name])) <= set(NAMES) for name in TOGETHER)
    assert chosen([]) == [*NAMES]
