"""The section `collision` of a robot: how near its links may come to each other, and where it may work."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .section import Section, SettingError
from .types import FilePath, Place, Text, Word

Length = Annotated[float, Field(strict=True, ge=1e-4, le=1e3)]
Vector = tuple[Place, Place, Place]


class WorkspaceSettings(Section):
    """A shape around the robot, in the frame that its description places it in; lengths in m."""

    name: Word
    """Its name, for messages and `ignore`."""
    kind: Literal["forbidden", "allowed"] = "forbidden"
    """Where no link may be, or what each link that moves has to be in: a box."""
    box: tuple[Length, Length, Length] | None = None
    """A box: its edges along x, y and z."""
    plane: Vector | None = None
    """All that is behind a plane: the direction out of it."""
    mesh: FilePath | None = None
    """A file in STL or OBJ; its convex hull counts."""
    position: Vector = (0.0, 0.0, 0.0)
    """Where the centre of the box is, a point of the plane, or the origin of the mesh."""
    rpy: Vector = (0.0, 0.0, 0.0)
    """How it is turned, about the fixed axes x, y and z in this order, in rad."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        shapes = [name for name in ("box", "plane", "mesh") if getattr(self, name) is not None]
        if len(shapes) != 1:
            found = f"has {' and '.join(shapes)}" if shapes else "has no shape"
            raise SettingError("", f"'{self.name}' {found}; it is one of them; give it box, plane or mesh")
        if self.kind == "allowed" and self.box is None:
            reason = "what links have to be in is a box"
            raise SettingError("kind", f"'{self.name}' is allowed and a {shapes[0]}; {reason}; make it one")
        if self.plane is not None and not any(self.plane):
            raise SettingError("plane", f"'{self.name}' points nowhere; its plane is 0; name a direction")
        return self


class CollisionSettings(Section):
    """How near a robot's links may come to each other and to what is around, before anything moves."""

    margin_m: Annotated[float, Field(strict=True, ge=0.0, le=1.0)] = 0.005
    """What comes nearer than this is a collision."""
    on_violation: Literal["reject", "warn"] = "reject"
    """What becomes of a motion, or a way, with a collision: refused, or played with a warning."""
    ignore: list[tuple[Text, Text]] = Field(default=[])
    """Links, or a link and a shape of the workspace, that may come near each other."""
    workspace: list[WorkspaceSettings] = Field(default=[])
    """Where no link may be, and where all have to be."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        names = Counter(shape.name for shape in self.workspace)
        if twice := next((name for name, times in names.items() if times > 1), None):
            reason = "a shape has a name of its own; rename one"
            raise SettingError("workspace", f"'{twice}' stands twice; {reason}")
        if alone := next((one for one, other in self.ignore if one == other), None):
            reason = "nothing is compared with itself; name what it may be near"
            raise SettingError("ignore", f"'{alone}' stands twice in a pair; {reason}")
        return self
