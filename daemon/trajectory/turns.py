"""Whole turns of joints that turn without end, where a posture is the same one any number of turns on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from .followers import of_all

if TYPE_CHECKING:
    from motiond.formats.arrays import Floats, Indices

TURN = 2.0 * math.pi


def nearest_turns(start: Floats, target: Floats, turn: Floats, leaders: Indices) -> Floats:
    """Return by how much a target is moved on so that it is nearest to a start, in rad or m, shape (joints,).

    Of two turns that are equally near, it is the upper one. A joint that follows another goes on with that
    one, and on the turn that its own actuator counts. Each of shape (joints,):

    - `start`, `target`: in rad or m; the target keeps how joints follow others, the start but for whole turns
    - `turn`: how far each joint goes in one turn of the joint that it follows; 0 where that has an end
    - `leaders`: the joint that each follows; itself, where it follows none
    """
    away = np.where(turn == 0.0, 0.0, start - target)
    besides = away - away[leaders] * turn / TURN
    turned: Floats = _whole_turns(away)[leaders] * turn + _whole_turns(besides) * TURN
    return turned


def _whole_turns(angle: Floats) -> Floats:
    turns: Floats = np.floor(angle / TURN + 0.5)
    return turns


def endless_within(turn: Floats, leaders: Indices, lower: Floats, upper: Floats) -> Floats:
    """Return `turn` as of `nearest_turns`, 0 where an actuator's range is not longer than a turn.

    `lower`, `upper` (joints,): that range, in rad or m. It stops a joint and all that move with it.
    """
    goes_round = of_all(np.logical_and, upper - lower > np.abs(turn), leaders)
    return np.where(goes_round, turn, 0.0)
