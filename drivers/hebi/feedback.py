"""A group's feedback as numpy arrays, without a Python loop over the modules.

hebi-py returns velocities and efforts as views of its memory, and reads every other field module by module,
which takes 20 µs a field for 20 modules. Here all fields are such views, laid out as in `HebiFeedbackRef` of
hebi-py 2.16. A field that a module did not send reads as 0, which could be a position or a pressed m-stop, so
for such fields the bits that say which fields came are checked.

The numbers of states are those of `FeedbackEnumField` in hebi-py 2.16.
"""

from __future__ import annotations

import ctypes
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import DriverConfigError, DriverError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ..base import Booleans, Floats
    from .lookup import Module

WHERE = "driver hebi"
TURN_RAD = 2 * np.pi
WORD_BITS = 32
ABSENT = -1
ENUMS = 6
"""States of temperature, m-stop, position, velocity and effort limit, and command lifetime, in this order."""


class GroupState:
    """Views of one `hebi.GroupFeedback`; they change whenever hebi-py fills it.

    `velocity`, `effort`, `temperature_c`, `voltage_v` (modules,): NaN where a module did not report it.
    `orientation` (modules, 4): of each module in the world, as w, x, y, z. Raises DriverConfigError if this
    version of hebi-py has its fields elsewhere.
    """

    def __init__(self, feedback: Any) -> None:
        api, ctypes_defs, enums = _internals()
        self._feedback = feedback
        bits = ctypes_defs.HebiFeedbackMetadata()
        api.hebiFeedbackGetMetadata(ctypes.byref(bits))
        angle = np.dtype({"names": ["turns", "rest_rad"], "formats": ["<i8", "<f4"], "itemsize": 16})
        words = -(-bits.message_bitfield_count_ // WORD_BITS)
        refs = feedback.refs
        self._came = _view(refs, "message_bitfield_", words, np.dtype(np.int32))
        floats = _view(refs, "float_fields_", bits.float_field_count_, np.dtype(np.float32))
        angles = _view(refs, "high_res_angle_fields_", bits.high_res_angle_field_count_, angle)
        self._enums = _view(refs, "enum_fields_", bits.enum_field_count_, np.dtype(np.int32))[:, :ENUMS]
        fields = enums.FeedbackFloatField
        self.velocity, self.effort = floats[:, fields.Velocity.value], floats[:, fields.Effort.value]
        self.temperature_c = floats[:, fields.MotorWindingTemperature.value]
        self.voltage_v = floats[:, fields.Voltage.value]
        self.orientation = feedback.orientation
        column = enums.FeedbackHighResAngleField.Position.value
        self._turns, self._rest_rad = angles["turns"][:, column], angles["rest_rad"][:, column]
        word, bit = divmod(bits.high_res_angle_field_bitfield_offset_ + column, WORD_BITS)
        self._position_word, self._position_bit = self._came[:, word], np.int32(1 << bit)
        self._has_position = np.zeros(feedback.size, bool)
        self._all_came = False
        enum_bits = bits.enum_field_bitfield_offset_ + np.arange(ENUMS)
        self._enum_words, self._enum_shifts = enum_bits // WORD_BITS, enum_bits % WORD_BITS
        self._last_came = self._last_enums = b""
        self._changed = True

    def take_position(self, position: Floats) -> bool:
        """Fill in positions, and return whether all modules sent theirs.

        `position` (modules,): filled in, in rad; NaN or meaningless where a module did not send it, as
        `known` shows.
        """
        came = self._came.tobytes()  # bytes compare ten times as fast as arrays of this size
        if came != self._last_came:
            self._last_came, self._changed = came, True
            np.not_equal(self._position_word & self._position_bit, 0, self._has_position)
            self._all_came = bool(self._has_position.all())
        np.multiply(self._turns, TURN_RAD, position)
        np.add(position, self._rest_rad, position)
        return self._all_came and math.isfinite(position.sum())

    def known(self, position: Floats) -> Booleans:
        """Return which of the positions just taken were sent: (modules,)."""
        known: Booleans = np.isfinite(position) & self._has_position
        return known

    def flags_changed(self) -> bool:
        """Return whether `flags` may have changed since the last call; call `take_position` before."""
        enums, changed = self._enums.tobytes(), self._changed
        changed = changed or enums != self._last_enums
        self._last_enums, self._changed = enums, False
        return changed

    def flags(self) -> NDArray[np.int32]:
        """Return all states that the modules report.

        Returns shape (modules, ENUMS): the vendor's numbers; ABSENT where a module did not report one.
        """
        came = (self._came[:, self._enum_words] >> self._enum_shifts) & 1
        return np.where(came == 1, self._enums, np.int32(ABSENT))


def _internals() -> tuple[Any, Any, Any]:
    """Return the modules of hebi-py that define the layout of its fields."""
    try:
        from hebi._internal.ffi import (  # noqa: PLC0415 - hebi-py is optional, and slow to import
            api,
            ctypes_defs,
            enums,
        )
    except ImportError as error:
        raise _unknown_layout(str(error)) from error
    return api, ctypes_defs, enums


def _unknown_layout(reason: str) -> DriverConfigError:
    return DriverConfigError(
        WHERE, "this version of hebi-py keeps its feedback elsewhere", reason, "pip install 'hebi-py==2.16.*'"
    )


def _view(refs: Any, field: str, columns: int, kind: np.dtype[Any]) -> NDArray[Any]:
    """Return one field of all modules as a view of shape (modules, columns)."""
    starts = [ctypes.cast(getattr(ref, field), ctypes.c_void_p).value or 0 for ref in refs]
    steps = {after - before for before, after in pairwise(starts)}
    if len(steps) > 1 or 0 in starts:
        raise _unknown_layout(f"`{field}` is not evenly spaced")
    step = steps.pop() if steps else columns * kind.itemsize
    length = step * (len(starts) - 1) + columns * kind.itemsize
    memory = memoryview((ctypes.c_char * length).from_address(starts[0]))
    return np.ndarray((len(starts), columns), kind, memory, strides=(step, kind.itemsize))


TEMPERATURE, MSTOP, POSITION_LIMIT, LIFETIME = 0, 1, 2, 5
NORMAL, CRITICAL, MOTOR_TOO_HOT, BOARD_TOO_HOT = range(4)
PRESSED, NOT_PRESSED = 0, 1
INSIDE = 2
UNLOCKED, LOCKED_BY_OTHER, LOCKED_BY_US = range(3)
NOTICES = {
    TEMPERATURE: {
        NORMAL: "its temperature is normal again",
        CRITICAL: "it limits its output because it is hot",
        MOTOR_TOO_HOT: "its motor is too hot",
        BOARD_TOO_HOT: "its electronics are too hot",
    },
    MSTOP: {PRESSED: "its m-stop is pressed", NOT_PRESSED: "its m-stop is released"},
    POSITION_LIMIT: {
        0: "it is below its lower position limit",
        1: "it is at its lower position limit",
        INSIDE: "it is within its position limits again",
        3: "it is at its upper position limit",
        4: "it is above its upper position limit",
        5: "it was never within its position limits since it was switched on",
    },
}
QUIET = {TEMPERATURE: NORMAL, MSTOP: NOT_PRESSED, POSITION_LIMIT: INSIDE}


class Flags:
    """The last reported states of a group's modules.

    `modules`: in the group's order. `stopped`, `hot`, `foreign`, `unlocked` (modules,): modules with their
    m-stop pressed; switched off by heat; commanded by another program; without a living command. `torque`
    (modules,): 1 where a living command is obeyed, 0 where none is; NaN where the module does not report it.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = modules
        self._states = np.full((len(modules), LIFETIME + 1), ABSENT, np.int32)
        self._derive()

    def update(self, states: NDArray[np.int32]) -> list[str]:
        """Take new states, and return notices of changes that a user should know."""
        before, self._states = self._states, states
        self._derive()
        return [
            f"{self._modules[index]}: {NOTICES[kind][int(states[index, kind])]}"
            for index, kind in np.argwhere(states != before).tolist()
            if _is_worth_reporting(kind, int(before[index, kind]), int(states[index, kind]))
        ]

    def _derive(self) -> None:
        states = self._states
        self.stopped = states[:, MSTOP] == PRESSED
        self.hot = states[:, TEMPERATURE] >= MOTOR_TOO_HOT
        self.foreign = states[:, LIFETIME] == LOCKED_BY_OTHER
        self.unlocked = states[:, LIFETIME] == UNLOCKED
        self.failing = bool((self.stopped | self.hot | self.foreign).any())
        self.any_unlocked = bool(self.unlocked.any())
        self.torque = np.where(states[:, LIFETIME] == ABSENT, np.nan, 1.0)
        self.torque[self.stopped | self.hot | self.unlocked] = 0.0

    def failure(self) -> DriverError | None:
        """Return the error for the gravest state that keeps modules from following commands, if any."""
        if self.stopped.any():
            return DriverError(
                WHERE,
                f"the m-stop is pressed on {self._named(self.stopped)}",
                "their motors obey it and not motiond",
                "release it, then reset and enable the robot",
            )
        if self.hot.any():
            return DriverError(
                WHERE,
                f"too hot: {self._named(self.hot)}",
                "they have switched their motors off",
                "let them cool down, then reset and enable the robot",
            )
        if self.foreign.any():
            return DriverError(
                WHERE,
                f"another program commands {self._named(self.foreign)}",
                "they take no one else's commands while its command lifetime lasts",
                "close it, then reset and enable the robot",
            )
        return None

    def _named(self, which: Booleans) -> str:
        return named(self._modules, which)


def named(modules: Sequence[Module], which: Booleans) -> str:
    """Return the names of the modules for which `which` (modules,) is true."""
    return ", ".join(str(modules[index]) for index in np.flatnonzero(which))


def _is_worth_reporting(kind: int, before: int, now: int) -> bool:
    """Return whether a change is news; a first report that all is well is none."""
    return now in NOTICES.get(kind, ()) and not (before == ABSENT and now == QUIET[kind])
