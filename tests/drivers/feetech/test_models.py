"""What the tables say of registers and models."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from motiond.drivers.feetech.family import FEETECH
from motiond.drivers.feetech.models import models, models_by_name
from motiond.drivers.feetech.protocol import PROTOCOL
from motiond.drivers.serial_bus.protocol import Found

if TYPE_CHECKING:
    from motiond.drivers.feetech.models import FeetechModel

STS, SCS = models_by_name()["STS3215"], models_by_name()["SCS0009"]


def test_knows_models_by_number() -> None:
    assert {number: model.name for number, model in models().items()} == {
        777: "STS3215",
        2825: "STS3250",
        11272: "SM8512BL",
        1284: "SCS0009",
    }


@pytest.mark.parametrize("model", models().values(), ids=lambda model: model.name)
def test_registers_do_not_overlap(model: FeetechModel) -> None:
    spans = sorted((one.address, one.end) for one in model.table.items.values())
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))


@pytest.mark.parametrize(
    ("register", "value", "data"),
    [
        ("present_position", 4095, "FF 0F"),
        ("present_position", -1, "01 80"),
        ("present_load", -1000, "E8 07"),
        ("homing_offset", -2047, "FF 0F"),
        ("present_current", -2, "02 80"),
        ("max_position_limit", 4095, "FF 0F"),
    ],
)
def test_values_have_their_sign_in_a_bit(register: str, value: int, data: str) -> None:
    item = STS.table[register]
    assert item.encode(value) == bytes.fromhex(data)
    assert item.decode(bytes.fromhex(data), item.address) == value


def test_a_value_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OverflowError):
        STS.table["homing_offset"].encode(2048)


def test_an_scs_servo_has_the_high_byte_first() -> None:
    item = SCS.table["goal_position"]
    assert item.encode(0x0123) == b"\x01\x23"
    assert item.decode(b"\x01\x23", item.address) == 0x0123


def test_units_are_those_of_the_memory_tables() -> None:
    assert STS.rad_per_tick == math.radians(360 / 4096)
    assert SCS.rad_per_tick == pytest.approx(math.radians(300 / 1024))
    assert STS.acceleration_unit_rad_s2 == pytest.approx(math.radians(8.79), rel=1e-3)
    assert (STS.current_unit_a, SCS.current_unit_a) == (0.0065, None)


@pytest.mark.parametrize(
    ("first", "found"),
    [("03 0A 00 09 03", (STS.number, "3.10")), ("03 2E 01 05 04", (SCS.number, "3.46"))],
)
def test_the_model_number_is_in_the_servos_own_byte_order(first: str, found: tuple[int, str]) -> None:
    assert PROTOCOL.found(7, bytes.fromhex(first)) == Found(7, *found)


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        (0, ""),
        (0x20, "overload"),
        (0x05, "a supply voltage beyond its limits and overheating"),
        (0x48, "overcurrent and unknown error bits 0x40"),
    ],
)
def test_errors_are_in_words(bits: int, words: str) -> None:
    assert FEETECH.in_words(bits) == words
