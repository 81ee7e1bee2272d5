"""Goals that play beside what a robot plays otherwise, each on joints of its own, with a clock of its own.

What is played alone is the base. A layer is a player like that, with a setpoint of its own, of which the
joints that it drives are copied into the base's in every tick: so the base's reference is that of all joints,
and stays where a layer has left them. No two of them drive the same joint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .player import Player

if TYPE_CHECKING:
    from collections.abc import Iterator

    from motiond.formats.arrays import Booleans

    from ...ipc.states import ResultCode
    from .execution import Execution, PassedMarker, Result


class Layer:
    """One goal beside the base. `driven` (joints,): the joints that it moves."""

    def __init__(self, execution: Execution, base: Player) -> None:
        self.driven = execution.route.motion.driven
        self.goal_id = execution.goal_id
        self.player = Player(base.joints, base.units, base.position.copy(), np.zeros_like(base.velocity))
        self.player.torque = True
        self.player.play(execution)

    def tick(self, base: Player, ticks: int, due: int) -> None:
        """Move on, and put its joints into the base's reference; a layer that was halted leaves it alone."""
        player = self.player
        if player.active:
            player.tick(ticks, due)
            np.copyto(base.position, player.position, where=self.driven)
            np.copyto(base.velocity, player.velocity, where=self.driven)


class Layers:
    """All that plays: the base, and what plays beside it.

    `any`: whether there is anything beside the base. `driven` (joints,): the joints that layers move.
    """

    def __init__(self, base: Player) -> None:
        self.base = base
        self.any = False
        self.driven: Booleans = np.zeros(len(base.joints), dtype=bool)
        self._playing: list[Layer] = []
        self._past = 0

    @property
    def active(self) -> bool:
        """Whether anything plays."""
        return self.base.active or self.any

    @property
    def shown(self) -> Player:
        """Whose state is the robot's: the base's, unless only layers play."""
        base = self.base
        return base if base.active or base.halted or not self.any else self._playing[0].player

    @property
    def changes(self) -> int:
        """Grows with each change of a layer's state."""
        return self._past + sum(layer.player.changes for layer in self._playing)

    @property
    def states(self) -> dict[str, str]:
        """The state of each layer, by the id of its goal."""
        return {layer.goal_id: layer.player.state for layer in self._playing}

    def parts(self) -> Iterator[tuple[Player, Booleans]]:
        """Yield all players, and which joints are none of theirs, shape (joints,)."""
        yield self.base, self.driven
        for layer in self._playing:
            yield layer.player, ~layer.driven

    def overlap(self, driven: Booleans) -> Booleans:
        """Return which of some joints move already, or are the base's while it plays; shape (joints,)."""
        taken = self.driven.copy()
        for track in self.base.tracks:
            taken |= track.driven
        return taken & driven

    # -- events ---------------------------------------------------------------------------------------------

    def begin(self, execution: Execution) -> None:
        """Play beside what plays, from where the joints are held."""
        self._playing.append(Layer(execution, self.base))
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
                layer.player.stop(code, message, details)

    def estop(self) -> None:
        """Latch the emergency stop; all goals end with ESTOP."""
        self.base.estop()
        for layer in self._playing:
            layer.player.estop()

    def fault(self, code: ResultCode, message: str, details: dict[str, Any] | None = None) -> None:
        """Latch a fault; all goals end with `code`."""
        self.base.fault(code, message, details)
        for layer in self._playing:
            layer.player.fault(code, message, details)

    # -- time -----------------------------------------------------------------------------------------------

    def tick(self, ticks: int, due: int) -> None:
        """Move all layers on, as `Player.tick`, once the base has moved."""
        for layer in self._playing:
            layer.tick(self.base, ticks, due)

    def take_results(self) -> list[Result]:
        """Return how goals have ended, the base's first, and drop the layers that have."""
        base = self.base
        results = [*base.results]
        base.results.clear()
        if self.any:
            for layer in self._playing:
                results += layer.player.results
                if layer.player.execution is None:
                    self._past += layer.player.changes + 1
            self._playing = [layer for layer in self._playing if layer.player.execution is not None]
            self._note()
        return results

    def take_passed(self) -> Iterator[PassedMarker]:
        """Yield the markers that were passed since the last time, and forget them."""
        for player, _ in self.parts():
            while player.passed:
                yield player.passed.pop(0)

    def _note(self) -> None:
        self.any = bool(self._playing)
        self.driven = np.zeros_like(self.driven)
        for layer in self._playing:
            self.driven |= layer.driven
