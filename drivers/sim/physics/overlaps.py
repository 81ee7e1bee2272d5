"""What overlaps in nearly every posture, as the hulls of links close to each other may, and does not touch.

Bodies that joints move, and those that carry them, are looked at whole: where a bearing lets two links
overlap, their other shapes are near it as well. What stands around a robot is looked at shape by shape, as an
arm that overlaps its pedestal is still to meet the table.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .contacts import body_name, shape_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

TOUCHING_SHARE = 0.95
"""What touches in more of the postures cannot but touch, as MoveIt's assistant has it."""


class Overlap(NamedTuple):
    """A body, and another one, or a shape that stands still where `shape` is not negative."""

    body: int
    other: int
    shape: int = -1

    def names(self, model: Any) -> tuple[str, str]:
        """Return the names of both."""
        if self.shape < 0:
            return body_name(model, self.body), body_name(model, self.other)
        return shape_name(model, self.shape), body_name(model, self.body)


def find_overlaps(
    model: Any, data: Any, postures: Iterable[None], joints: NDArray[np.intp], astray: Collection[int]
) -> list[Overlap]:
    """Return what touches in nearly all postures.

    `postures`: puts the robot into one after another. `joints`: those that actuators move. `astray`: bodies
    that may be anywhere, which are left out.
    """
    numbers, touching, count = _numbered(model, joints), Counter[tuple[int, int]](), 0
    for _ in postures:
        count += 1
        touching.update(set(map(tuple, np.sort(numbers[data.contact.geom], axis=1).tolist())))
    always = sorted(pair for pair, times in touching.items() if times >= TOUCHING_SHARE * count)
    shapes = model.nbody
    found = [
        Overlap(body, int(model.geom_bodyid[other - shapes]), other - shapes)
        if other >= shapes
        else Overlap(body, other)
        for body, other in always
    ]
    return [one for one in found if one.body not in astray and one.other not in astray]


def _numbered(model: Any, joints: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the number of each shape's body, or for what stands around, from `nbody` on, its own."""
    carriers = {0}
    for body in model.jnt_bodyid[joints].tolist():
        while body not in carriers:
            carriers.add(body)
            body = int(model.body_parentid[body])  # noqa: PLW2901 - from link to link down to the world
    bodies = model.geom_bodyid
    around = (model.body_weldid[bodies] == 0) & ~np.isin(bodies, [*carriers - {0}])
    return np.where(around, model.nbody + np.arange(model.ngeom), bodies)


def let_pass(spec: Any, model: Any, overlaps: Iterable[Overlap]) -> None:
    """Change a specification, of which `model` was made, so that what overlaps does not touch.

    MuJoCo leaves out pairs of bodies only. So a shape touches nothing by itself, and in pairs what it touched
    before.
    """
    bodies, shapes = ({one.id: one for one in elements} for elements in (spec.bodies, spec.geoms))
    passing: dict[int, set[int]] = {}
    for body, other, shape in overlaps:
        if shape >= 0:
            passing.setdefault(shape, set()).add(body)
        else:
            one, two = (_named(bodies[number], body_name(model, number)) for number in (body, other))
            spec.add_exclude(bodyname1=one, bodyname2=two)
    for shape in passing:
        shapes[shape].contype = shapes[shape].conaffinity = 0
        for other in _touched(model, shape, passing):
            pair = (_named(shapes[number], f"shape {number}") for number in (shape, other))
            spec.add_pair(**dict(zip(("geomname1", "geomname2"), pair, strict=True)))


def _touched(model: Any, shape: int, passing: Mapping[int, Collection[int]]) -> Iterator[int]:
    """Yield the shapes of moving bodies that a shape that stands still is to touch."""
    contype, conaffinity = model.geom_contype, model.geom_conaffinity
    still, excluded = int(model.geom_bodyid[shape]), set(model.exclude_signature.tolist())
    touching = (contype[shape] & conaffinity) | (contype & conaffinity[shape])
    for other in np.flatnonzero(touching).tolist():
        body = int(model.geom_bodyid[other])
        low, high = sorted((body, still))
        if model.body_weldid[body] and body not in passing[shape] and (low << 16) + high not in excluded:
            yield other


def _named(element: Any, name: str) -> str:
    """Return the name of a part of a specification, which gets one where it has none."""
    element.name = element.name or name
    found: str = element.name
    return found
