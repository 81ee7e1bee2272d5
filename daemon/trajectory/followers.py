"""Joints that follow another, and that one: what is true of one of them may have to be of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from motiond.formats.arrays import Indices


def of_all(choose: np.ufunc, values: Any, leaders: Indices) -> Any:
    """Return for each joint what is chosen among a leader and all that follow it, shape (joints,).

    - `choose`: such as `np.minimum`, or `np.logical_and`
    - `values`, `leaders` (ndarray, shape (joints,)): the joint that each follows; itself, where it follows
      none
    """
    chosen = values.copy()
    choose.at(chosen, leaders, values)
    return chosen[leaders]
