"""What a user should know of how a world begins, although it is simulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from motiond.text import listed

from .contacts import body_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .world import World

FREE = 6
"""Degrees of freedom of what nothing holds."""


def oddities(world: World) -> Iterator[str]:
    """Yield what overlaps in a world that has begun, and what falls for ever in it, a line each."""
    for one, other in world.untouched:
        yield f"{one} and {other} overlap in nearly every posture; they do not touch in the simulation"
    if depths := world.contacts.overlaps():
        pairs = listed([f"{one} and {other} ({1e3 * deep:.0f} mm)" for (one, other), deep in depths.items()])
        hint = "choose another posture by `initial`, or another place for what stands there"
        yield f"the world begins with {pairs} in each other; that pushes them apart; {hint}"
    if names := _falling(world.model):
        reason, hint = "nothing that stands still is there to land on", "set `floor: true`, or name a `scene`"
        yield f"what nothing holds falls for ever: {listed(names)}; {reason}; {hint}"


def _falling(model: Any) -> list[str]:
    """Return what nothing holds, where gravity pulls and all that touches moves."""
    stands = model.body_weldid[model.geom_bodyid] == 0
    touches = (model.geom_contype | model.geom_conaffinity) != 0
    if not model.opt.gravity.any() or (stands & touches).any() or model.npair:
        return []
    free = np.flatnonzero(model.body_dofnum == FREE)
    return [body_name(model, body) for body in free.tolist() if not model.body_parentid[body]]
