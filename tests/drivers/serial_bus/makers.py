"""Servos on a bus of each maker, and of each series that answers otherwise."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tests.drivers.dynamixel import bench as dynamixel
from tests.drivers.feetech import bench as feetech

if TYPE_CHECKING:
    from collections.abc import Callable

MAKERS: dict[str, tuple[type[Any], Callable[..., Any]]] = {
    "dynamixel": (dynamixel.Bench, dynamixel.servo),
    "sts": (feetech.Bench, feetech.servo),
    "scs": (feetech.Bench, partial(feetech.servo, model="SCS0009")),
}
"""The type of a bench, and what makes a servo by its id."""
