"""One element of an SDFormat file: its name, its pose, and what is mounted on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from motiond.text import echoed, quoted

from ..arrays import frozen
from ..io.xml.element import Element
from ..io.xml.values import parse_truth
from .elements import IDENTITY, NEEDED, VOCABULARY, WORLD, Mounted, Pose
from .pose import parse_pose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..errors import Problems
    from ..io.xml.tree import Xml

SCOPES = "::"
# The first version in which `::` in a name means a scope and nothing else.
SCOPES_SINCE = 8
# The last version in which `frame` was what is `relative_to` now.
LAST_POSE_FRAME = 6


class Node(Element):
    """An element; `minor` is the second number of its file's version."""

    vocabulary = VOCABULARY
    needed = NEEDED

    def __init__(self, xml: Xml, problems: Problems, minor: int) -> None:
        super().__init__(xml, problems)
        self.minor = minor

    def child(self, xml: Xml) -> Node:
        """Return a child element."""
        return Node(xml, self.problems, self.minor)

    def truth_attribute(self, name: str) -> bool:
        """Read an attribute that is a truth value; false without it."""
        return self.attribute_value(name, parse_truth, default=False)

    def pose(self) -> Pose:
        """Read the `<pose>` in this element; the identity without one."""
        child = self.one("pose")
        return child.own_pose() if child else Pose()

    def own_pose(self) -> Pose:
        """Read this element as a `<pose>`."""
        form, degrees = self.attribute("rotation_format") or "euler_rpy", self.attribute("degrees")
        matrix = self.value(
            lambda text: parse_pose(text, form, degrees=parse_truth(degrees or "false")), IDENTITY
        )
        relative_to, frame = self.attribute("relative_to"), self.attribute("frame")
        if frame and self.minor > LAST_POSE_FRAME:
            self.where.warn(
                f"'frame' of <pose>, {quoted(frame)}, is not read",
                f"since SDFormat 1.{LAST_POSE_FRAME + 1} it is 'relative_to'",
                f'write relative_to="…", or <sdf version="1.{LAST_POSE_FRAME}"> if that is what it is',
            )
        elif not relative_to:
            relative_to = frame
        return Pose(frozen(matrix), relative_to)

    def name(self) -> str:
        """Return the name, or ''; note a problem if it is missing, reserved or looks like a scope."""
        name = self.required("name")
        if is_reserved(name):
            self.where.add(
                f"<{self.tag}> name {quoted(name)} is reserved",
                "world and names that begin and end with `__` are SDFormat's own",
                "choose another",
            )
        elif SCOPES in name and self.minor >= SCOPES_SINCE:
            self.where.add(
                f"<{self.tag}> name {quoted(name)} has '{SCOPES}' in it",
                f"since SDFormat 1.{SCOPES_SINCE} that joins the names of nested models",
                "choose another, or nest a <model>",
            )
        return name

    def mounted(self, tag: str) -> Iterator[tuple[Node, Mounted]]:
        """Check the names and poses of all children of a name, and return each with its place."""
        seen = set[str]()
        for child in self.all(tag):
            pose, name = child.pose(), child.name()
            if name and name in seen:
                child.where.add(
                    f"{tag} name '{echoed(name)}' is taken", f"another {tag} of this {self.tag} has it"
                )
            seen.add(name)
            yield child, Mounted(f"{tag} '{echoed(name)}'", child.where, pose)


def is_reserved(name: str) -> bool:
    """Whether a name is SDFormat's own, and so not for the elements of a file."""
    return name == WORLD or (len(name) > 3 and name.startswith("__") and name.endswith("__"))
