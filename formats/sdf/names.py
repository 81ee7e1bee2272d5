"""Unique names for siblings: elements that share a name are refused or, where old files need it, renamed.

Follows "Unique names and reserved names" of SDFormat 1.7, and libsdformat in what is renamed: a frame that
has the name of a model in its world, and before 1.7 any element that has the name of a sibling of another
kind. In an axis, the name of its own model stands for the model's frame.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from motiond.text import echoed

from .elements import (
    MODEL,
    Element,
    FrameElement,
    JointElement,
    LinkElement,
    ModelElement,
    WorldElement,
)
from .node import SCOPES

if TYPE_CHECKING:
    from ..errors import Where
    from .elements import AxisElement

Named = TypeVar("Named", bound=WorldElement | Element)

# In the order in which elements take their names.
_KINDS = {ModelElement: "model", LinkElement: "link", JointElement: "joint", FrameElement: "frame"}
# From this version on, siblings of different kinds need different names.
UNIQUE_SINCE = 7


class Names:
    """The names that are taken in a scope.

    `renames`: whether an element with the name of one of another kind is renamed rather than refused.
    """

    def __init__(self, *, renames: bool = False) -> None:
        self._taken: dict[str, tuple[str, Where]] = {}
        self._renames = renames

    def take(self, kind: str, element: Named) -> Named:
        """Take the name of an element of some kind, and return the element, renamed if need be."""
        if not element.name:
            return element
        other, where = self._taken.setdefault(element.name, (kind, element.where))
        if where is element.where:
            return element
        if self._renames and other != kind:
            name = f"{element.name}_{kind}"
            element.where.warn(
                f"{kind} '{echoed(element.name)}' is read as '{echoed(name)}'",
                f"the {other} at {where} has its name",
            )
            return self.take(kind, replace(element, name=name))
        element.where.add(
            f"{kind} name '{echoed(element.name)}' is taken",
            f"the {other} at {where} has it",
            "choose another",
        )
        return element


def with_own_names(model: ModelElement) -> ModelElement:
    """Return a model whose elements have names of their own."""
    names = Names(renames=model.minor < UNIQUE_SINCE)
    content: list[Element] = list(model.content)
    for type_, kind in _KINDS.items():
        for position, element in enumerate(content):
            if isinstance(element, type_):
                content[position] = names.take(kind, element)
    return replace(model, content=tuple(content))


def with_own_frame_in_axes(model: ModelElement) -> ModelElement:
    """Return a model in whose axes its name stands for its frame, unless something in it has that name."""
    inside = f"{model.name}{SCOPES}"
    if any(element.name == model.name or element.name.startswith(inside) for element in model.content):
        return model
    content = tuple(
        replace(element, axes=tuple(_in_own_frame(axis, model.name) for axis in element.axes))
        if isinstance(element, JointElement)
        else element
        for element in model.content
    )
    return replace(model, content=content)


def _in_own_frame(axis: AxisElement, name: str) -> AxisElement:
    return replace(axis, expressed_in=MODEL) if axis.expressed_in == name else axis


def world_with_own_names(world: WorldElement) -> WorldElement:
    """Return a world whose models and frames have names of their own."""
    names = Names(renames=True)
    models = tuple(names.take("model", model) for model in world.models)
    joints = tuple(names.take("joint", joint) for joint in world.joints)
    frames = tuple(names.take("frame", frame) for frame in world.frames)
    return replace(world, models=models, joints=joints, frames=frames)
