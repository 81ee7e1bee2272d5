"""The state of one robot: it follows events by the table of transitions, and counts its changes."""

from __future__ import annotations

from ..ipc.states import ACTIVE, HALTED, SLOWING, STATES, TRANSITIONS, Event, State


class StateMachine:
    """The state, and whether the actuators hold; it begins in `IDLE`, without torque.

    A base class of the player, and not a part of it, as every tick reads its attributes.

    Attributes
    ----------
    state : State
    active, slowing, halted : bool
        Whether the state is one of `ACTIVE` (something plays), `SLOWING` (on the way to rest, or there), or
        `HALTED`.
    state_number : int
        Its place in `STATES`.
    torque : bool
        Whether the actuators hold; without torque there is no reference.
    changes : int
        Counts what happens to the state, the torque or the goal, so that one look tells whether to report.
    """

    def __init__(self) -> None:
        self.changes = 0
        self._enter(State.IDLE)
        self.torque = False

    def _takes(self, event: Event) -> bool:
        """Whether the state knows an event."""
        return (self.state, event) in TRANSITIONS

    def _apply(self, event: Event) -> None:
        """Go where an event leads; one that the state does not know leaves it as it is."""
        self._enter(TRANSITIONS.get((self.state, event), self.state))

    def _enter(self, state: State) -> None:
        self.changes += 1
        self.state = state
        # Sets and enums are slow to look up in every tick.
        self.active, self.halted, self.slowing = state in ACTIVE, state in HALTED, state in SLOWING
        self.state_number = STATES.index(state)
