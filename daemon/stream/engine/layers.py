"""Goals that play beside what a robot plays otherwise, each with a clock of its own.

What is played alone is the base. A layer is a player like that, with a setpoint of its own, of which the
joints that it drives are copied into the base's in every tick: so the base's reference is that of all joints,
and stays where a layer has left them. No two of them drive the same joint.

One layer may be added instead: how far it is from its first row, times a weight that comes and goes smoothly.
While it plays, what goes to the actuators is the sum, and the base keeps a reference of its own without it,
from which approaches are planned and to which the sum returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...ipc.states import ResultCode, State
from ...trajectory import FadeAway
from .execution import Phase
from .player import Player

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.arrays import Booleans, Floats

    from .execution import Execution, Result

# Members of enums are slow to look up in every tick.
SETTLE, PAUSED = Phase.SETTLE, State.PAUSED


class Layer:
    """One goal beside the base, on joints of its own. `driven` (joints,): the joints that it moves."""

    def __init__(self, execution: Execution, base: Player, position: Floats) -> None:
        self.driven = execution.route.motion.driven
        self.goal_id = execution.goal_id
        self.player = Player(base.joints, base.units, position.copy(), np.zeros_like(base.velocity))
        self.player.torque = True
        self.player.play(execution)

    @property
    def state(self) -> State:
        """What it does."""
        return self.player.state

    @property
    def is_over(self) -> bool:
        """Whether it moves nothing any more."""
        return self.player.execution is None

    def tick(self, base: Player, ticks: int, due: int) -> None:
        """Move on, and put its joints into the base's reference; a layer that was halted leaves it alone."""
        player = self.player
        if player.active:
            player.tick(ticks, due)
            np.copyto(base.position, player.position, where=self.driven)
            np.copyto(base.velocity, player.velocity, where=self.driven)

    def stop(self, code: ResultCode, message: str, details: dict[str, Any] | None) -> None:
        """Slow down on the path and end with `code`."""
        self.player.stop(code, message, details)


class Addition(Layer):
    """One goal that is added to the base, from its first row on.

    `position`, `velocity` (joints,): where the sum is written. `ramp_s`: how long its weight takes to come
    and to go.
    """

    def __init__(
        self, execution: Execution, base: Player, weight: float, ramp_s: float, rate_hz: float
    ) -> None:
        passes = execution.route.passes
        super().__init__(execution, base, execution.route.motion.positions[passes.first])
        self._first = self.player.position.copy()
        self._offset = np.zeros_like(self._first)
        self._weight, self._fade, self._period_s = weight, FadeAway(ramp_s), 1.0 / rate_hz
        # The sum goes where the base's reference went, and that into memory of its own.
        self.position, self.velocity = base.position, base.velocity
        base.position, base.velocity = base.position.copy(), base.velocity.copy()

    @property
    def state(self) -> State:
        """What it does; it stops until its weight has gone."""
        player = self.player
        fades = player.execution is None or player.phase is SETTLE
        return State.STOPPING if fades and not player.halted else player.state

    @property
    def is_over(self) -> bool:
        """Whether it adds nothing any more."""
        return self.player.halted or (self.player.execution is None and self._fade.is_over)

    def tick(self, base: Player, ticks: int, due: int) -> None:
        """Move on, and write the sum."""
        player, offset, fade = self.player, self._offset, self._fade
        if player.halted:
            return
        player.tick(ticks, due)
        if player.phase is SETTLE:
            fade.leave()
        fade.move(ticks * self._period_s)
        np.subtract(player.position, self._first, offset)
        weight = self._weight * fade.weight
        np.multiply(offset, weight, self.position)
        np.add(self.position, base.position, self.position)
        np.multiply(player.velocity, weight, self.velocity)
        offset *= self._weight * fade.slope
        np.add(self.velocity, offset, self.velocity)
        np.add(self.velocity, base.velocity, self.velocity)
        if fade.is_over and player.phase is SETTLE:
            player.finish()

    def stop(self, code: ResultCode, message: str, details: dict[str, Any] | None) -> None:
        """Let the weight go, and end with `code` once it has."""
        self.player.stop(code, message, details)
        self._fade.leave()

    def leave(self, base: Player) -> None:
        """Let the base's reference go to the actuators again, as the last sum was it, or was halted."""
        base.position, base.velocity = self.position, self.velocity


class Layers:
    """All that plays: the base, and what plays beside it.

    `any`: whether there is anything beside the base. `addition`: what is added; None without one. `driven`,
    `taken` (joints,): the joints that layers move, and those of them that they move by themselves.
    """

    def __init__(self, base: Player) -> None:
        self.base = base
        self.any = False
        self.addition: Addition | None = None
        self.driven: Booleans = np.zeros(len(base.joints), dtype=bool)
        self.taken: Booleans = np.zeros(len(base.joints), dtype=bool)
        self._playing: list[Layer] = []
        self._changes = 0

    @property
    def active(self) -> bool:
        """Whether anything plays."""
        return self.base.active or self.any

    @property
    def state(self) -> State:
        """The robot's state: the base's; where only layers play, that of the first which is not paused."""
        base = self.base
        if base.active or base.halted or not self.any:
            return base.state
        return next((layer.state for layer in self._playing if layer.state is not PAUSED), PAUSED)

    @property
    def is_paused(self) -> bool:
        """Whether something plays, and all of that is paused; what is added may come or go meanwhile."""
        base = self.base
        if not self.any:
            return base.state is PAUSED
        rests = self.addition is None and (base.state is PAUSED or not base.active)
        return rests and all(layer.state is PAUSED for layer in self._playing)

    @property
    def states(self) -> dict[str, str]:
        """The state of each layer, by the id of its goal."""
        return {layer.goal_id: layer.state for layer in self._playing}

    def player_of(self, goal_id: str | None) -> Player | None:
        """Return what plays a goal, the base without an id; None where it has ended."""
        playing = self.base.execution
        if goal_id is None or (playing is not None and playing.goal_id == goal_id):
            return self.base
        return next((layer.player for layer in self._playing if layer.goal_id == goal_id), None)

    def joints_of(self, player: Player) -> Booleans:
        """Return the joints that a player moves by itself, shape (joints,)."""
        own = (layer.driven for layer in self._playing if layer.player is player)
        return next(own, ~self.taken)

    def parts(self) -> Iterator[tuple[Player, Booleans]]:
        """Yield all players, and which joints are none of theirs, shape (joints,)."""
        yield self.base, self.taken
        for layer in self._playing:
            yield layer.player, ~layer.driven

    def overlap(self, driven: Booleans) -> Booleans:
        """Return which of some joints move by more than what is added, or are the base's while it plays."""
        taken = self.taken.copy()
        for track in self.base.tracks:
            taken |= track.driven
        return taken & driven

    def overlap_of_layers(self, driven: Booleans) -> bool:
        """Whether some joints, shape (joints,), move beside the base, or something is added to it."""
        return self.addition is not None or bool((self.taken & driven).any())

    # -- events ---------------------------------------------------------------------------------------------

    def begin(self, execution: Execution) -> None:
        """Play beside what plays, from where the joints are held."""
        self._playing.append(Layer(execution, self.base, self.base.position))
        self._note()

    def add(self, execution: Execution, weight: float, ramp_s: float) -> None:
        """Add a goal to what plays, or is held; only where none is added yet."""
        self.addition = Addition(execution, self.base, weight, ramp_s, execution.rate_hz)
        self._playing.append(self.addition)
        self._note()

    def stop(
        self,
        code: ResultCode,
        message: str,
        details: dict[str, Any] | None = None,
        goal_id: str | None = None,
    ) -> None:
        """Stop all that plays softly, or the goal of an id alone."""
        base = self.base
        goal = base.pursuit or base.execution
        if goal_id is None or (goal is not None and goal.goal_id == goal_id):
            base.stop(code, message, details)
        for layer in self._playing:
            if goal_id in {None, layer.goal_id}:
                layer.stop(code, message, details)

    def estop(self) -> None:
        """Latch the emergency stop; all goals end with ESTOP."""
        self.base.estop()
        for layer in self._playing:
            layer.player.estop()
        self._leave_addition()

    def fault(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        """Latch a fault; all goals end with `code`."""
        self.base.fault(code, message, details)
        for layer in self._playing:
            layer.player.fault(code, message, details)
        self._leave_addition()

    def _leave_addition(self) -> None:
        if self.addition is not None:
            self.addition.leave(self.base)
            self.addition = None

    # -- time -----------------------------------------------------------------------------------------------

    def tick(self, ticks: int, due: int) -> None:
        """Move all layers on, as `Player.tick`, once the base has moved; what is added comes last."""
        for layer in self._playing:
            if layer is not self.addition:
                layer.tick(self.base, ticks, due)
        if self.addition is not None:
            self.addition.tick(self.base, ticks, due)
        self._report()

    def take_results(self) -> list[Result]:
        """Return how goals have ended, the base's first, and drop the layers that have."""
        base = self.base
        results = [*base.results]
        base.results.clear()
        over = [layer for layer in self._playing if layer.is_over]
        for layer in over:
            results += layer.player.results
            if layer is self.addition:
                self._leave_addition()
        if over:
            self._playing = [layer for layer in self._playing if layer not in over]
            self._note()
        return results

    def _report(self) -> None:
        """Let the base carry what is reported of layers: the markers that they pass, and that they change."""
        changes = 0
        for layer in self._playing:
            changes += layer.player.changes + layer.is_over
            self.base.passed += layer.player.passed
            layer.player.passed.clear()
        if changes != self._changes:
            self._changes = changes
            self.base.changes += 1

    def _note(self) -> None:
        self.any = bool(self._playing)
        self.driven, self.taken = np.zeros_like(self.driven), np.zeros_like(self.driven)
        for layer in self._playing:
            self.driven |= layer.driven
            if layer is not self.addition:
                self.taken |= layer.driven
