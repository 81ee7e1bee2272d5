"""Servos that carry the robot's weight by current, in the operating mode that takes currents alone.

A servo's mode is one of its lasting settings, which are written without torque only. So a robot that holds
is without torque for the few exchanges in which its servos change their mode, there and back. They change
from the position mode and into it: in the others a change of mode would forget whole turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..base import DriverConfigError, DriverError
from ..options import spread
from ..weights import Weights
from .family import DYNAMIXEL
from .options import CURRENT_MODE, MODE_NUMBERS
from .setup import MODE_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from ..base import Floats
    from ..serial_bus.chain import Chain, Servo
    from ..serial_bus.units import Units
    from .options import DynamixelOptions

POSITION_MODE = MODE_NUMBERS["position"]
PROBLEM = "the servos cannot carry the robot's weight"


class Guiding:
    """What the servos of one robot need to carry it. Raises OptionsError if the bodies are wrong."""

    def __init__(self, options: DynamixelOptions, actuators: Sequence[str]) -> None:
        self._actuators = actuators
        gravity = options.gravity
        self._weigh: Callable[[Floats], Floats] = np.zeros_like
        if gravity is not None and not gravity.from_model:
            self._weigh = Weights(DYNAMIXEL.where, gravity, actuators)
        self._by_options = self._refusal = self._refused_by_options(options)
        self._most = np.zeros(len(actuators))
        self._unit = np.ones(len(actuators))

    def _refused_by_options(self, options: DynamixelOptions) -> tuple[str, str] | None:
        """Return reason and hint, or None."""
        if options.gravity is None:
            return "it is not known what they carry", "set `gravity: {from_model: true}`"
        if not any(body.mass for body in options.gravity.bodies):
            return "no description with masses reaches this driver", "name one, or list the bodies"
        option = "torque_constant_nm_per_a"
        constants = spread(DYNAMIXEL.where, option, getattr(options, option), self._actuators, np.nan)
        unknown = [name for name, value in zip(self._actuators, constants, strict=True) if np.isnan(value)]
        if unknown:
            reason = f"the torque of a current is not known of {', '.join(unknown)}"
            return reason, f"set `{option}`"
        return None

    def learn(self, chains: Sequence[Chain], units: Units) -> None:
        """Find out what the servos can do, and how much current they take."""
        self._unit[:] = units.effort_nm
        self._refusal = self._by_options
        for chain in chains:
            limits = np.array(chain.get("current_limit"), float)
            self._most[chain.indexes] = limits
            for servo, mode in zip(chain.servos, chain.get("operating_mode"), strict=True):
                if self._refusal is None:
                    self._refusal = _refused_by(servo, mode)

    def refuse(self) -> None:
        """Raise DriverConfigError where they cannot; as far as that is known."""
        if self._refusal is not None:
            raise DriverConfigError(DYNAMIXEL.where, PROBLEM, *self._refusal)

    def currents(self, position: Floats) -> list[int]:
        """Return what carries the robot at positions (actuators,), in rad, in units of `goal_current`."""
        needed = np.clip(-self._weigh(position) / self._unit, -self._most, self._most)
        currents: list[int] = np.rint(needed).astype(int).tolist()
        return currents


def _refused_by(servo: Servo, mode: int) -> tuple[str, str] | None:
    if servo.model.current_unit_a is None:
        reason = f"{servo.where} is {servo.model.name}, whose current has no unit"
        return reason, "teach with torque off"
    if mode not in {POSITION_MODE, CURRENT_MODE}:
        reason = f"{servo.where} is in {MODE_NAMES[mode]}, and a change of mode would forget its whole turns"
        return reason, "teach with torque off, or choose the position mode"
    return None


def change_mode(chains: Sequence[Chain], mode: int) -> None:
    """Switch torque off, and set the operating mode. Raises DriverError if a servo refuses it."""
    for chain in chains:
        chain.set_all("torque_enable", 0)
    for chain in chains:
        chain.set_all("operating_mode", mode)


def put_back_modes(chain: Chain, watchdog: int) -> list[int]:
    """Set servos that were left guided to the position mode; those that hold, hold where they are then.

    In the current mode they would drift. They are without torque for the few exchanges of it, and forget
    profile and gains.

    Returns the ids of those that hold. Raises DriverError if one refuses what is written; the others hold.
    """
    modes, torque = chain.get("operating_mode"), chain.get("torque_enable")
    left = {one: on for one, mode, on in zip(chain.ids, modes, torque, strict=True) if mode == CURRENT_MODE}
    chain.set("operating_mode", {one: POSITION_MODE for one, on in left.items() if not on})
    held = [one for one, on in left.items() if on]
    goals = _places(chain, held)
    try:
        chain.set("torque_enable", dict.fromkeys(held, 0))
        chain.set("operating_mode", dict.fromkeys(held, POSITION_MODE))
        goals = _places(chain, held)
        chain.set("bus_watchdog", dict.fromkeys(held, 0))
        chain.set("goal_position", goals)
        chain.set("bus_watchdog", dict.fromkeys(held, watchdog))
        chain.set("torque_enable", dict.fromkeys(held, 1))
    except DriverError:
        hold_sound(chain, goals, watchdog)
        raise
    return held


def _places(chain: Chain, ids: Collection[int]) -> dict[int, int]:
    """Return where some servos are, or the nearest goals that they take, by id."""
    if not ids:
        return {}
    registers = ("present_position", "min_position_limit", "max_position_limit")
    here = np.clip(*(np.array(chain.get(register)) for register in registers)).tolist()
    return {one: place for one, place in zip(chain.ids, here, strict=True) if one in ids}


def hold_sound(chain: Chain, wanted: Mapping[int, int], watchdog: int) -> None:
    """Switch torque on in servos that are in the position mode and have their goals, and in no other.

    `wanted`: goals in ticks, by the ids of the servos that are to hold. Raises CommunicationLost if the bus
    is gone.
    """
    if not wanted:
        return
    for name, values in (
        ("torque_enable", dict.fromkeys(wanted, 0)),
        ("operating_mode", dict.fromkeys(wanted, POSITION_MODE)),
        ("bus_watchdog", dict.fromkeys(wanted, 0)),
        ("goal_position", wanted),
    ):
        chain.write(name, values)
    ids = list(wanted)
    modes, found = chain.glance("operating_mode", ids), chain.glance("goal_position", ids)
    sound = [
        one for one, goal in wanted.items() if modes.get(one) == POSITION_MODE and found.get(one) == goal
    ]
    if sound:
        chain.write("bus_watchdog", dict.fromkeys(sound, watchdog))
        chain.write("torque_enable", dict.fromkeys(sound, 1))
