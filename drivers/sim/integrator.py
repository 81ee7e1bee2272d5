"""One step of actuators that are not free: limits, friction, load, and joints that are stuck, limp or slip.

The integrator takes the free motion of one step of the grid and corrects it. The motor pushes within its
limit, load and viscous friction push as well, and dry friction takes away what velocity it can:

    velocity += pushed + (load - viscous * velocity) / inertia * step
    velocity -= clip(velocity, -dry, dry),  dry = coulomb / inertia * step

where `pushed` is the change of velocity by the motor. Where nothing is cut off, the motion is the free one,
which is exact. The motor of a guided joint pushes against the weight that it carries, and else nothing.

No joint passes a stop from inside, whatever pushes it; one that was put beyond a stop goes no further out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .layout import STEP_S, Row

if TYPE_CHECKING:
    from ..base import Floats


class Stops:
    """The stops of all joints of one plant; made again when they change.

    `lowest`, `highest` (actuators,): between which positions the joints can move now. `any_beyond`: whether
    one was put beyond a stop, by more than stops `give_way`.
    """

    def __init__(self, rows: Floats, give_way: float = 0.0) -> None:
        self._give_way = give_way
        self._lower, self._upper = rows[Row.LOWER_STOP], rows[Row.UPPER_STOP]
        self._position, self._velocity = rows[Row.POSITION], rows[Row.VELOCITY]
        self.exist = bool(np.isfinite(rows[[Row.LOWER_STOP, Row.UPPER_STOP]]).any())
        self.lowest, self.highest, self._between = np.empty((3, rows.shape[1]))
        self.displace()

    def displace(self) -> None:
        """Accept where the joints have been put, beyond a stop or not."""
        position, way = self._position, self._give_way
        self.lowest[:] = np.where(position < self._lower - way, position, self._lower)
        self.highest[:] = np.where(position > self._upper + way, position, self._upper)
        self.any_beyond = True
        self.look()

    def look(self) -> None:
        """Let the stops hold again for joints that have come back."""
        if self.any_beyond:
            np.copyto(self.lowest, self._lower, where=self._position >= self._lower)
            np.copyto(self.highest, self._upper, where=self._position <= self._upper)
            outside = (self.lowest < self._lower) | (self.highest > self._upper)
            self.any_beyond = bool(outside.any())

    def bound(self, positions: Floats) -> None:
        """Bring positions (actuators,) between the stops, in place."""
        np.maximum(positions, self.lowest, positions)
        np.minimum(positions, self.highest, positions)

    def are_passed(self) -> bool:
        """Return whether a joint is where its stops do not let it be."""
        self._between[:] = self._position
        self.bound(self._between)
        return bool(self._between.tobytes() != self._position.tobytes())

    def hold(self) -> None:
        """Bring joints that have passed a stop back to it, at rest."""
        self._between[:] = self._position
        self.bound(self._position)
        self._velocity[self._between != self._position] = 0.0
        self.look()


COAST_TIME_S = 0.1
"""Time constant with which friction stops an actuator that has no torque, unless its friction is set."""
EXACTLY_FREE = 1e-12


class Integrator:
    """Moves actuators by single steps; made again when a setting, the torque or a fault changes."""

    @np.errstate(divide="ignore", invalid="ignore")  # a block that is not configured yet holds zeros
    def __init__(self, rows: Floats, *, torque: bool, guided: bool = False) -> None:
        self._load, self._target = rows[Row.LOAD], rows[Row.TARGET]
        self._position, self._velocity, self._change = rows[Row.POSITION : Row.CHANGE + 1]
        limp, slipping = (rows[Row.LIMP] > 0) | (not torque), np.isfinite(rows[Row.GRIP])
        self._stuck = rows[Row.STUCK] > 0
        self._any_stuck = bool(self._stuck.any())
        self._change_by_effort = STEP_S / rows[Row.INERTIA]
        stiffness = rows[Row.INERTIA] * rows[Row.NATURAL_FREQUENCY] ** 2
        self._yield = np.where(rows[Row.ORDER] > 0, 1 / stiffness, 0.0)
        rate = rows[Row.VISCOUS] / rows[Row.INERTIA]
        coasts = (limp | slipping | guided) & (rate == 0)
        self._lost_velocity = -np.expm1(-STEP_S * np.where(coasts, 1 / COAST_TIME_S, rate))
        grip = np.where(slipping, rows[Row.GRIP] * self._change_by_effort, np.inf)
        self._most_pushed = np.where(limp, 0.0, np.minimum(grip, rows[Row.CHANGE_LIMIT]))
        self._fastest = np.where(limp | guided, np.inf, rows[Row.VELOCITY_LIMIT])
        self._guided, self._carried_change = guided, np.zeros(len(limp))
        self._dry = rows[Row.COULOMB] * self._change_by_effort
        rough = rows[[Row.VISCOUS, Row.COULOMB, Row.LOAD, Row.STUCK]].any()
        self.needed = bool(rough or guided or (torque and (limp | slipping).any()))
        self._make_room(len(limp))
        self.weigh()

    def _make_room(self, count: int) -> None:
        self._state = np.empty((2, 1, count))
        self._error, self._before = self._state[:, 0]
        self._products = np.empty((2, 4, count))
        self._by_error, self._by_velocity = self._products
        self._free = np.empty((4, count))
        # Bound here, because looking up an enum's member takes as long as the arithmetic itself.
        self._free_position, self._free_change = self._free[Row.POSITION], self._free[Row.CHANGE]
        self._besides, self._pushed, self._reached, self._slowed, self._scratch = np.empty((5, count))

    def weigh(self, weight: Floats | None = None) -> None:
        """Read the load again from the block; `weight` (actuators,): what of it guided joints carry."""
        self._load_change = self._load * self._change_by_effort
        if weight is not None:
            np.multiply(weight, -self._change_by_effort, self._carried_change)
        self._sag = self._load * self._yield

    def step(self, power: Floats) -> None:
        """Move the actuators by one step."""
        np.add(self._target, self._sag, self._scratch)
        np.subtract(self._position, self._scratch, self._error)
        self._before[:] = self._velocity
        np.multiply(power, self._state, self._products)
        np.add(self._by_error, self._by_velocity, self._free)
        np.add(self._free_position, self._scratch, self._free_position)
        self._push()
        self._brake()
        self._move()

    def _push(self) -> None:
        """Apply load, viscous friction, and the motor's push of the free motion within its limit."""
        np.multiply(self._lost_velocity, self._before, self._besides)
        np.subtract(self._load_change, self._besides, self._besides)
        if self._guided:
            np.copyto(self._pushed, self._carried_change)
        else:
            np.subtract(self._free_change, self._besides, self._pushed)
        _bound(self._pushed, self._most_pushed, self._scratch, self._pushed)
        np.add(self._before, self._pushed, self._reached)
        np.add(self._reached, self._besides, self._reached)

    def _brake(self) -> None:
        """Apply dry friction and the limit of velocity; the motor pushes less where velocity is limited."""
        _bound(self._reached, self._dry, self._scratch, self._slowed)
        np.subtract(self._reached, self._slowed, self._slowed)
        _bound(self._slowed, self._fastest, self._scratch, self._velocity)
        np.subtract(self._velocity, self._slowed, self._slowed)
        np.add(self._pushed, self._slowed, self._change)
        if self._any_stuck:
            self._velocity[self._stuck] = 0.0

    def _move(self) -> None:
        np.add(self._before, self._free_change, self._scratch)
        np.subtract(self._scratch, self._velocity, self._scratch)
        is_free = np.abs(self._scratch, self._scratch) < EXACTLY_FREE
        np.add(self._before, self._velocity, self._scratch)
        np.multiply(self._scratch, STEP_S / 2, self._scratch)
        if self._any_stuck:
            is_free &= ~self._stuck
            self._scratch[self._stuck] = 0.0
        np.add(self._position, self._scratch, self._position)
        np.copyto(self._position, self._free_position, where=is_free)


def _bound(values: Floats, most: Floats, scratch: Floats, out: Floats) -> None:
    """Clip values to plus or minus `most`; much faster than np.clip on a few actuators."""
    np.negative(most, scratch)
    np.maximum(values, scratch, out)
    np.minimum(out, most, out)
