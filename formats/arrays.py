"""Types of arrays, and how an array becomes read-only."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Booleans: TypeAlias = NDArray[np.bool_]
Integers: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.intp]
AnyArray: TypeAlias = NDArray[Any]


def frozen(array: Floats) -> Floats:
    """Make an array read-only in place, and return it."""
    array.flags.writeable = False
    return array
