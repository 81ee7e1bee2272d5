"""How warm the windings of simulated motors get: two bodies, each of which warms and cools exponentially.

Losses grow with the square of the effort (copper losses). The winding warms over the housing, and the
housing over the surroundings, each towards its own end and with its own time constant: the thermal model of
motor catalogues (J. Braun, "Formulae Handbook", maxon academy, chapter on the thermal behaviour of motors).
The numbers are those of a motor that drives robots' joints, from the data sheet of maxon's EC 45 flat of 70 W
(part numbers 651614 to 651621, lines 17 to 22): 6.64 K/W from the winding to the housing and 2.55 K/W from
there to the air, time constants of 43.1 s and 127 s, and, at the rated torque in surroundings of 25 °C, a
winding of 125 °C, the most that it stands.

An actuator's effort limit is its rated effort; without a limit it is `RATED_EFFORT`. A drive lets no more
through, so no effort warms the winding beyond `HOTTEST_C`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ..base import Floats

AMBIENT_C = 25.0
HOTTEST_C = 125.0
"""Of the winding, once the rated effort has lasted for long."""
RATED_EFFORT = 20.0
"""In N·m or N, of an actuator without an effort limit."""
WINDING_K_PER_W, HOUSING_K_PER_W = 6.64, 2.55
WINDING_TIME_S, HOUSING_TIME_S = 43.1, 127.0
HOUSING_SHARE = HOUSING_K_PER_W / (WINDING_K_PER_W + HOUSING_K_PER_W)


def warm(winding_c: Floats, housing_c: Floats, load: Floats, duration_s: float) -> None:
    """Let windings and housings warm or cool, in place; exact for any time at a constant load.

    Parameters
    ----------
    winding_c, housing_c : ndarray, shape (actuators,)
        Their temperatures.
    load : ndarray, shape (actuators,)
        The effort as a share of the rated one.
    """
    rise = (HOTTEST_C - AMBIENT_C) * np.minimum(np.square(load), 1.0)
    over_housing = winding_c - housing_c
    over_housing += ((1.0 - HOUSING_SHARE) * rise - over_housing) * -np.expm1(-duration_s / WINDING_TIME_S)
    housing_c += (AMBIENT_C + HOUSING_SHARE * rise - housing_c) * -np.expm1(-duration_s / HOUSING_TIME_S)
    np.add(housing_c, over_housing, winding_c)
