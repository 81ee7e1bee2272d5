"""The layout of the plant's block of numbers, and the grid of time that it moves on.

Every number is a float64: first those of `Header`, then for each `Row` one value for each actuator.
"""

from __future__ import annotations

from enum import IntEnum

STEP_S = 0.0005
STEPS_PER_S = 2000
LAYOUT = 5.0
"""Version of the layout; must change with every change of `Header` or `Row`."""


class Header(IntEnum):
    """Places of the numbers that are common to all actuators."""

    LAYOUT = 0
    COUNT = 1
    NAMES = 2
    STEP = 3
    COMMAND_STEP = 4
    LIFETIME_STEPS = 5
    TORQUE = 6
    GUIDED = 7  # 1 where the actuators carry their weight alone


class Row(IntEnum):
    """Rows of the numbers that each actuator has, ordered so that those used together are adjacent."""

    FIRST_CHANGE = 0  # of velocity, in the first of the steps that were last taken at once
    POSITION = 1
    VELOCITY = 2
    CHANGE = 3  # of velocity, by the motor in the last step
    TEMPERATURE = 4  # of the winding
    GOAL = 5
    VELOCITY_LEAD = 6  # how far the velocity fed forward shifts the target from the goal
    EFFORT_LEAD = 7  # how far the effort fed forward shifts it
    TARGET = 8  # where the actuator would come to rest
    DRIFT = 9  # velocity of the goal, where a velocity is commanded without a position
    NATURAL_FREQUENCY = 10  # in rad/s
    DAMPING_RATIO = 11
    VELOCITY_LIMIT = 12
    CHANGE_LIMIT = 13
    INERTIA = 14
    ORDER = 15  # of the dynamics; with 0 an actuator is at its target at once
    VISCOUS = 16  # friction by velocity
    COULOMB = 17  # friction at any velocity
    LOAD = 18  # effort from outside
    STUCK = 19  # 1 where nothing moves
    LIMP = 20  # 1 where there is no torque, even while the others have it
    GRIP = 21  # the most effort that gets through; infinite where nothing slips
    HOUSING = 22  # its temperature
    RATED_EFFORT = 23  # that warms the winding as far as it stands
    LOWER_STOP = 24  # position at which the joint's lower stop is; infinite where there is none
    UPPER_STOP = 25


def step_at(time_s: float) -> int:
    """Return the last step of the grid at a monotonic time."""
    return int(time_s * STEPS_PER_S + 1e-4)
