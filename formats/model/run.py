"""A recording to look at: what the robot did, and its ticks, thinned to as many as are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What a recording of motiond holds.

    Attributes
    ----------
    about : mapping
        JSON-ready: what happened, and the largest errors (docs/http.md, Runs).
    times : ndarray, shape (points,)
        In s, from the first tick.
    reference, feedback, error : ndarray, shape (points, joints)
        In rad or m; NaN where nothing is known. Where ticks were left out, each value is an extreme of the
        ticks around, so that an error is not the difference of the two beside it.
    """

    about: Mapping[str, Any]
    times: Floats
    reference: Floats
    feedback: Floats
    error: Floats
