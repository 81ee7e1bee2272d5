"""What touches in a world: of each two bodies, the moment with the largest force since the last report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...base import Floats

OVERLAP_M = 1e-3
"""Bodies that rest on each other are in each other by less."""


def body_name(model: Any, body: int) -> str:
    """Return the name of a body, or its number."""
    return model.body(body).name or f"body {body}"


def shape_name(model: Any, geom: int) -> str:
    """Return the name of a shape, or that of its body, or its number."""
    body = int(model.geom_bodyid[geom])
    return model.geom(geom).name or (model.body(body).name if body else "") or f"shape {geom}"


class Contacts:
    """Watches MuJoCo's contacts from the first report on.

    `bodies`: names of what can touch: bodies, and the shapes of the world itself, by their numbers where they
    have no name.
    `is_watching`: whether anybody has asked for a report.
    """

    def __init__(self, mujoco: Any, model: Any, data: Any) -> None:
        self._force_of, self._model, self._data = mujoco.mj_contactForce, model, data
        names = [
            body_name(model, body) if body else shape_name(model, geom)
            for geom, body in enumerate(model.geom_bodyid.tolist())
        ]
        self.bodies = tuple(dict.fromkeys(names))
        self._body_of = [self.bodies.index(name) for name in names]
        self._force = np.empty(6)
        self._strongest: dict[tuple[int, int], Floats] = {}
        self.is_watching = self._is_reported = False

    def look(self) -> None:
        """Take note of what touches in the step that has passed."""
        if self._is_reported:
            self._strongest.clear()
            self._is_reported = False
        if self._data.ncon:
            for pair, found in self._found().items():
                known = self._strongest.get(pair)
                if known is None or found[6] > known[6]:
                    self._strongest[pair] = found

    def overlaps(self) -> dict[tuple[str, str], float]:
        """Return bodies that are in each other by more than 1 mm now, deepest first, and by how much in m."""
        contact = self._data.contact
        depths: dict[tuple[str, str], float] = {}
        for geoms, distance in zip(contact.geom.tolist(), contact.dist.tolist(), strict=True):
            one, other = sorted(self._body_of[geom] for geom in geoms)
            pair = self.bodies[one], self.bodies[other]
            depths[pair] = max(-distance, depths.get(pair, OVERLAP_M))
        deep = ((pair, depth) for pair, depth in depths.items() if depth > OVERLAP_M)
        return dict(sorted(deep, key=lambda item: -item[1]))

    def _found(self) -> dict[tuple[int, int], Floats]:
        """Return by pair of bodies: centre (3,), force (3,), and the size of that."""
        contact = self._data.contact
        geoms, places, frames = contact.geom, contact.pos, contact.frame
        sums: dict[tuple[int, int], Floats] = {}
        for number in range(self._data.ncon):
            self._force_of(self._model, self._data, number, self._force)
            weight = self._force[0]
            if weight <= 0.0:
                continue
            one, other = (self._body_of[geom] for geom in geoms[number])
            way = 1.0 if one < other else -1.0
            total = sums.setdefault((min(one, other), max(one, other)), np.zeros(7))
            total[:3] += weight * places[number]
            total[3:6] += way * (self._force[:3] @ frames[number].reshape(3, 3))
            total[6] += weight
        for total in sums.values():
            total[:3] /= total[6]
            total[6] = np.sqrt(total[3:6] @ total[3:6])
        return sums

    def report(self, rows: Floats) -> None:
        """Fill in the strongest contacts (slots, 8), as `ActuatorState` has them."""
        self.is_watching = self._is_reported = True
        rows.fill(np.nan)
        strongest = sorted(self._strongest.items(), key=lambda item: (-item[1][6], item[0]))
        for row, (pair, found) in zip(rows, strongest, strict=False):
            row[:2], row[2:] = pair, found[:6]
