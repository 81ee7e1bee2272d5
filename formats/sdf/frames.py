"""Where everything in an SDFormat world is, and what it moves with: the two graphs of frames.

Places have full names such as `arm::hand::palm`. Follows the pose frame semantics of SDFormat 1.7: in the
relative-to graph each place leads to the one that its pose is given in, and in the end to the world; in the
attached-to graph to the one that it moves with, and in the end to a link, a static model or the world. Names
are looked up and both graphs are checked for cycles before any pose is resolved.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from motiond.text import echoed, nearest, quoted

from ..errors import MOST_PROBLEMS
from ..io.xml.tree import LONGEST_NAME
from ..model.poses import inverse_pose
from .elements import IDENTITY, MODEL, WORLD, FrameElement, JointElement, LinkElement, ModelElement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..arrays import Floats
    from ..errors import Problems, Where
    from .elements import Element, WorldElement

SCOPES = "::"
# The last version in which tools flattened nested models to names such as `arm::palm` and `arm::__model__`.
LAST_FLAT = 7
# Bounds on what a malicious file can cost.
MOST_COMPARED, MOST_SHOWN, MOST_SCOPES = 200, 10, 10
_FLAT = "flattened model"
_KINDS = {LinkElement: "link", JointElement: "joint", FrameElement: "frame"}


def full(scope: str, name: str) -> str:
    """Return the full name of `name` in a scope."""
    return f"{scope}{SCOPES}{name}" if scope else name


@dataclass(slots=True)
class _Place:
    """A vertex of both graphs; its edges are full names, or None if there is none or it is not known yet."""

    # kind, name: as the file has them, for messages
    kind: str
    name: str
    where: Where
    pose: Floats  # shape (4, 4); in the frame of `relative_to`; of the place's `placement`, where it has one
    is_body: bool = False  # whether the attached-to graph may end here
    relative_to: str | None = None
    attached_to: str | None = None
    placement: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} '{echoed(self.name)}'"

    def complain(self, problem: str, reason: str, hint: str = "") -> None:
        """Note a problem with the place."""
        self.where.add(f"{self} {problem}", reason, hint)


class Frames:
    """The places of one world.

    `world`: problems with its names and graphs are noted at its elements; poses may be asked for only if
    there are none.
    """

    def __init__(self, world: WorldElement) -> None:
        self._places = {WORLD: _Place("world", world.name, world.where, IDENTITY, is_body=True)}
        self._resolved: dict[str, Floats] = {WORLD: IDENTITY}
        self._edges: dict[str, Floats] = {}
        self._bodies: dict[str, str] = {"": ""}
        self._flattened: dict[str, list[str]] = {}
        placed: tuple[JointElement | FrameElement, ...] = (*world.joints, *world.frames)
        for element in placed:
            self._add("", element)
        for model in world.models:
            self._add_model("", model, self._flattened.setdefault(model.name, []))
        for sibling in (*placed, *world.models):
            self._connect("", sibling, WORLD)
        ringed = self._refuse_rings("is attached to itself", lambda place: place.attached_to, set())
        self._refuse_rings("is placed by itself", lambda place: place.relative_to, ringed)
        self._refuse_outer_placements()

    def pose(self, name: str) -> Floats:
        """Return the pose (4, 4) of a place in the world, by its full name."""
        waiting = []
        while name not in self._resolved:
            waiting.append(name)
            name = self._places[name].relative_to or WORLD
        for waiter in reversed(waiting):
            self._resolved[waiter] = self._resolved[name] @ self._edge(waiter)
            name = waiter
        return self._resolved[name]

    def body(self, name: str) -> str:
        """Return the link, static model's frame or world that a place moves with; '' if there is none."""
        trail = []
        while name not in self._bodies:
            # A first guess, which stays in a ring of places: that has no body, and is refused as a ring.
            self._bodies[name] = name if name in self._places and self._places[name].is_body else ""
            trail.append(name)
            if not self._bodies[name] and name in self._places:
                name = self._places[name].attached_to or ""
        self._bodies.update(dict.fromkeys(trail, self._bodies[name]))
        return self._bodies[name]

    def has(self, name: str) -> bool:
        """Whether there is a place of a full name."""
        return name in self._places

    def is_link(self, name: str) -> bool:
        """Whether a full name is that of a link."""
        return name in self._places and self._places[name].kind == "link"

    def flattened(self, model: str) -> list[str]:
        """Return the nested models that an old file has only by names such as `arm::palm`."""
        return self._flattened[model]

    def missing(self, scope: str, name: str, problems: Problems) -> tuple[str, str]:
        """Return why a name means nothing in a scope, and what was meant, unless much is wrong already."""
        inside, few = full(scope, ""), len(problems.found) + len(problems.warnings) < MOST_PROBLEMS
        known = (key.removeprefix(inside) for key in self._places if key.startswith(inside))
        around = f"model '{echoed(scope)}'" if scope else "the world"
        guess = nearest(name, list(islice(known, MOST_COMPARED))) if few else ""
        return f"there is no such frame in {around}", guess

    def _edge(self, name: str) -> Floats:
        """Return the pose (4, 4) of a place in the frame that it is relative to."""
        place = self._places[name]
        if place.placement is None:
            return place.pose
        if name not in self._edges:
            inside, at = IDENTITY, place.placement
            while at != name:
                inside = self._edge(at) @ inside
                at = self._places[at].relative_to or WORLD
            self._edges[name] = place.pose @ inverse_pose(inside)
        return self._edges[name]

    def _add(self, scope: str, element: LinkElement | JointElement | FrameElement) -> None:
        kind = _KINDS[type(element)]
        place = _Place(kind, element.name, element.where, element.pose.matrix, is_body=kind == "link")
        self._places.setdefault(full(scope, element.name), place)

    def _add_model(self, scope: str, model: ModelElement, flattened: list[str]) -> None:
        """Add a model and all that is in it; its name, outside of it, stands for its own frame."""
        inside = full(scope, model.name)
        if len(inside) > LONGEST_NAME:
            problem = f"the full name of model '{echoed(model.name)}' has {len(inside)} characters"
            reason, hint = f"it has at most {LONGEST_NAME}", "shorten the names that it is made of"
            raise model.where.problems.fail(model.where.line, problem, reason, hint)
        alias = _Place("model", model.name, model.where, IDENTITY)
        self._places.setdefault(inside, alias)
        own = _Place("model", model.name, model.where, model.pose.matrix, is_body=model.static)
        self._places.setdefault(full(inside, MODEL), own)
        for element in model.content:
            if isinstance(element, ModelElement):
                self._add_model(inside, element, flattened)
            else:
                self._add(inside, element)
        if model.minor <= LAST_FLAT:
            for element in model.content:
                for prefix in _prefixes(element.name):
                    self._add_flat(inside, prefix, model, flattened)

    def _add_flat(self, scope: str, name: str, model: ModelElement, flattened: list[str]) -> None:
        own = full(full(scope, name), MODEL)
        frame = own if own in self._places else full(scope, MODEL)
        place = _Place(_FLAT, name, model.where, IDENTITY, relative_to=frame, attached_to=frame)
        if self._places.setdefault(full(scope, name), place) is place:
            flattened.append(full(scope, name))

    def _connect(self, scope: str, element: Element, around: str) -> None:
        """Set an element's edges, unless another element has its name, which is noted elsewhere."""
        if self._places[full(scope, element.name)].where is not element.where:
            return
        match element:
            case ModelElement():
                self._connect_model(scope, element, around)
            case JointElement():
                self._connect_joint(scope, element)
            case FrameElement():
                self._connect_frame(scope, element, around)
            case LinkElement():
                self._put(scope, element, around)

    def _connect_model(self, scope: str, model: ModelElement, around: str) -> None:
        """Set the edges of a model and of all that is in it; `around` is the frame of what it stands in."""
        inside = full(scope, model.name)
        mine = full(inside, MODEL)
        alias, own = self._places[inside], self._places[mine]
        alias.relative_to = alias.attached_to = mine
        own.relative_to = self._reference(scope, model.pose.relative_to, "is placed by", own) or around
        if not model.static:
            own.attached_to = self._canonical(inside, model, own)
        if model.placement_frame not in {"", MODEL}:
            own.placement = self._reference(inside, model.placement_frame, "has the placement_frame", own)
        for element in model.content:
            self._connect(inside, element, mine)

    def _canonical(self, inside: str, model: ModelElement, own: _Place) -> str | None:
        """Return the full name of what a model's frame moves with."""
        name, nested = model.canonical_name(), model.models()
        if name:
            found = self._reference(inside, name, "has the canonical_link", own)
            if found is None or self.is_link(found):
                return found
            own.complain(
                f"has the canonical_link '{echoed(name)}'",
                f"it is a {self._places[found].kind}",
                "name a link",
            )
        elif not nested:
            own.complain("has no link", "only a static model may have none", "write a <link>")
        # The first nested model has no link either, so it is static, and this frame is attached to it.
        return full(inside, nested[0].name) if nested and not name else None

    def _put(self, scope: str, element: Element, default: str | None) -> None:
        """Set an element's edge in the relative-to graph."""
        place = self._places[full(scope, element.name)]
        named = self._reference(scope, element.pose.relative_to, "is placed by", place)
        place.relative_to = named or default

    def _connect_joint(self, scope: str, joint: JointElement) -> None:
        place = self._places[full(scope, joint.name)]
        if joint.parent != WORLD:
            self._reference(scope, joint.parent, "has the parent", place)
        if joint.child != WORLD:
            place.attached_to = self._reference(scope, joint.child, "has the child", place)
        self._put(scope, joint, place.attached_to)

    def _connect_frame(self, scope: str, frame: FrameElement, around: str) -> None:
        place = self._places[full(scope, frame.name)]
        place.attached_to = self._reference(scope, frame.attached_to, "is attached to", place) or around
        self._put(scope, frame, place.attached_to)
        if frame.placement_frame not in {"", MODEL}:
            place.placement = self._reference(scope, frame.placement_frame, "has the placement_frame", place)

    def _reference(self, scope: str, name: str, how: str, place: _Place) -> str | None:
        """Return the full name of a place in a scope; None for '', or with a problem if there is none."""
        if not name:
            return None
        found = full(scope, name)
        if found in self._places:
            return found
        place.complain(f"{how} {quoted(name)}", *self.missing(scope, name, place.where.problems))
        return None

    def _refuse_rings(self, fault: str, edge: Callable[[_Place], str | None], known: set[str]) -> set[str]:
        """Note each ring in a graph once as a problem, unless it is known; return the places in rings."""
        done: set[str] = set()
        for start in self._places:
            trail: dict[str, None] = {}
            name: str | None = start
            while name is not None and name not in done and name not in trail:
                trail[name] = None
                name = edge(self._places[name])
            if name is not None and name in trail and name not in known:
                ring = [*list(trail)[list(trail).index(name) :], name]
                known = known.union(ring)
                way = " -> ".join(ring if len(ring) <= MOST_SHOWN else [*ring[:MOST_SHOWN], "…", name])
                self._places[name].complain(f"{fault}: {way}", "that leads nowhere", "change one of them")
            done.update(trail)
        return known

    def _refuse_outer_placements(self) -> None:
        """Note a problem where the placement frame of a merged model is not one of its own."""
        for name, place in self._places.items():
            at, seen = place.placement, set[str]()
            while at is not None and at != name and at not in seen:
                seen.add(at)
                at = self._places[at].relative_to
            if place.placement is not None and at != name:
                place.complain(
                    "has a placement_frame outside of it", "it is placed by a frame of its own", "name one"
                )


def _prefixes(name: str) -> Iterator[str]:
    """Return the scopes in a name: `a` and `a::b` for `a::b::c`."""
    parts = name.split(SCOPES)
    for count in range(1, min(len(parts), MOST_SCOPES)):
        yield SCOPES.join(parts[:count])
