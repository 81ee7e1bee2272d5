"""Checks whether modules count the right turn: after a power cycle a position may be off by 360°.

A module counts the wrong turn if it is out of its range and would be within it on another turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import DriverError
from .feedback import TURN_RAD, WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..base import Floats
    from .lookup import Module

MARGIN_RAD = 0.2
"""A module this little outside its range has merely overshot a limit."""


def stored_ranges(info: Any) -> tuple[Floats, Floats]:
    """Return the position limits that are stored in the modules.

    Parameters
    ----------
    info : hebi.GroupInfo
        Has 0 for a limit that a module did not report.

    Returns
    -------
    lower, upper : ndarray, shape (modules,)
        In rad; NaN where a module has none.
    """
    lower, upper = (np.array(bound, float) for bound in (info.position_limit_min, info.position_limit_max))
    unset = ~(np.isfinite(lower) & np.isfinite(upper) & (lower < upper))
    lower[unset] = upper[unset] = np.nan
    return lower, upper


def refuse_turns(modules: Sequence[Module], position: Floats, lower: Floats, upper: Floats) -> None:
    """Raise if positions are whole turns away from their range.

    Raises
    ------
    DriverError
        With every such module, its position, its range, and the number of turns.
    """
    turns = np.where(
        position > upper, np.ceil((position - upper) / TURN_RAD), np.floor((position - lower) / TURN_RAD)
    )
    there = position - turns * TURN_RAD
    outside = (position > upper + MARGIN_RAD) | (position < lower - MARGIN_RAD)
    wrong = outside & (lower <= there) & (there <= upper)
    if not wrong.any():
        return
    raise DriverError(
        WHERE,
        ", ".join(
            f"{modules[index]} is at {position[index]:.3f} rad, {turns[index]:+g} turns from its range of "
            f"{lower[index]:g} to {upper[index]:g} rad"
            for index in np.flatnonzero(wrong)
        ),
        "modules may count another turn once they were switched off",
        "switch them on within their range, or set their position with HEBI Scope, then enable",
    )
