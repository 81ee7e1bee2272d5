"""The fake has the signatures of the vendor's classes, without which it would be worthless."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

pytest.importorskip("hebi", reason="hebi-py is not installed")

from hebi._internal.ffi._message_types import GroupFeedback, GroupInfo
from hebi._internal.group import Group
from hebi._internal.lookup import Entry, Lookup

from motiond.drivers.hebi.feedback import GroupState
from motiond.drivers.testing.rig import Clock
from tests.drivers.hebi.fake_hebi import REPORTED, FakeEntry, FakeGroup, FakeLookup, FakeModule


def _public(kind: type) -> list[str]:
    return [name for name, value in vars(kind).items() if inspect.isfunction(value) and name[0] != "_"]


def _parameters(function: Any) -> list[tuple[str, Any, Any]]:
    return [(each.name, each.kind, each.default) for each in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize(("fake", "vendors"), [(FakeLookup, Lookup), (FakeGroup, Group)])
def test_its_methods_are_called_as_the_vendors(fake: type, vendors: type) -> None:
    names = _public(fake)
    assert names
    for name in names:
        assert _parameters(getattr(fake, name)) == _parameters(getattr(vendors, name)), name


@pytest.mark.parametrize(
    ("vendors", "names", "writable"),
    [
        (Lookup, ["entrylist"], False),
        (Group, ["command_lifetime", "feedback_frequency"], True),
        (Entry, FakeEntry.__dataclass_fields__, False),
        (GroupInfo, [*REPORTED, "position_limit_min", "position_limit_max"], False),
    ],
)
def test_its_attributes_are_the_vendors(vendors: type, names: list[str], *, writable: bool) -> None:
    for name in names:
        found = inspect.getattr_static(vendors, name)
        assert isinstance(found, property), name
        assert (found.fset is not None) == writable, name


def test_positions_are_those_that_hebi_py_computes_bit_for_bit() -> None:
    angles = np.random.default_rng(3).uniform(-1000, 1000, 50)
    group = FakeGroup([FakeModule(str(index), angle) for index, angle in enumerate(angles)], Clock())
    feedback = group.get_next_feedback(0, GroupFeedback(50))
    position = np.empty(50)
    assert GroupState(feedback).take_position(position)
    np.testing.assert_array_equal(position, feedback.position)


def test_a_field_that_did_not_come_is_not_taken_for_zero() -> None:
    feedback = GroupFeedback(2)
    feedback.clear()
    state = GroupState(feedback)
    position = np.empty(2)
    assert not state.take_position(position)
    assert feedback.position.tolist() == [0, 0]
    assert feedback.mstop_state.tolist() == [0, 0]
    assert not state.known(position).any()
    assert (state.flags() == -1).all()
