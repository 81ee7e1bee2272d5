"""A group's feedback as numpy arrays, without a Python loop over the modules.

hebi-py returns velocities and efforts as views of its memory, and reads every other field module by module,
which takes 20 µs a field for 20 modules. Here all fields are such views, laid out as in `HebiFeedbackRef` of
hebi-py 2.16. A field that a module did not send reads as 0, which could be a position or a pressed m-stop, so
for such fields the bits that say which fields came are checked.
"""

from __future__ import annotations

import ctypes
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import DriverConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..base import Booleans, Floats

WHERE = "driver hebi"
TURN_RAD = 2 * np.pi
WORD_BITS = 32
ABSENT = -1
ENUMS = 6
"""States of temperature, m-stop, position, velocity and effort limit, and command lifetime, in this order."""


class GroupState:
    """Views of one `hebi.GroupFeedback`; they change whenever hebi-py fills it.

    Parameters
    ----------
    feedback : hebi.GroupFeedback
        Kept alive as long as the views.

    Attributes
    ----------
    velocity, effort, temperature_c, voltage_v : ndarray of float32, shape (modules,)
        NaN where a module did not report it.
    orientation : ndarray of float32, shape (modules, 4)
        Of each module in the world, as w, x, y, z.

    Raises
    ------
    DriverConfigError
        If this version of hebi-py has its fields elsewhere.
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

        Parameters
        ----------
        position : ndarray, shape (modules,)
            Filled in, in rad; NaN or meaningless where a module did not send it, as `known` tells.
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

        Returns
        -------
        ndarray of int32, shape (modules, ENUMS)
            The vendor's numbers; ABSENT where a module did not report one.
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
