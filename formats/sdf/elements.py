"""The elements of SDFormat that matter to robots, as they stand in a file, before any frame is resolved.

`document` makes these, `frames` finds where they are, and `reader` makes robots of them. Names are those of
the file, in the scope of the model that an element stands in.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ..io.xml.element import words
from ..model.poses import identity_pose

if TYPE_CHECKING:
    from ..arrays import Floats
    from ..errors import Where
    from ..io.xml.element import Vocabulary
    from ..model.shapes import Shape, ShapeRole
    from ..model.structure import Coordinate, Mimic

IDENTITY = identity_pose()
# The names of a model's own frame and of the frame that nothing moves.
MODEL, WORLD = "__model__", "world"

JointType = Literal[
    "fixed", "revolute", "continuous", "prismatic", "screw", "universal", "ball", "revolute2", "gearbox"
]
# How many of <axis> and <axis2> each type of joint has; a ball's three axes are those of its frame.
AXES: dict[JointType, int] = {
    "fixed": 0,
    "ball": 0,
    "revolute": 1,
    "continuous": 1,
    "prismatic": 1,
    "screw": 1,
    "universal": 2,
    "revolute2": 2,
    "gearbox": 2,
}


@dataclass(frozen=True, slots=True)
class Pose:
    """A `<pose>` (4, 4) in the frame that `relative_to` names; '' stands for the default of the element."""

    matrix: Floats = field(default_factory=lambda: IDENTITY)
    relative_to: str = ""


@dataclass(frozen=True, slots=True)
class Mounted:
    """What is mounted on a link or a joint, in the words of messages, and its place on it."""

    what: str
    where: Where
    pose: Pose


@dataclass(frozen=True, slots=True)
class MountedShape:
    """What is drawn for a `<visual>` or a `<collision>`; the shape's own pose is within that."""

    pose: Pose
    shape: Shape


@dataclass(frozen=True, slots=True)
class LinkElement:
    """A `<link>`: mass in kg, `com` (4, 4) in the link's frame, and `inertia` (3, 3) about it in kg·m².

    What is `mounted` names the frame that it is placed by.
    """

    name: str
    where: Where
    pose: Pose = Pose()
    mass: float = 1.0
    com: Floats = field(default_factory=lambda: IDENTITY)
    inertia: Floats = field(default_factory=lambda: np.eye(3))
    mounted: tuple[Mounted, ...] = ()
    shapes: tuple[MountedShape, ...] = ()
    unseen: tuple[ShapeRole, ...] = ()


@dataclass(frozen=True, slots=True)
class FrameElement:
    """A `<frame>`, or the place of a merged model, with the pose of its `placement_frame`."""

    name: str
    where: Where
    pose: Pose = Pose()
    attached_to: str = ""
    placement_frame: str = ""


@dataclass(frozen=True, slots=True)
class AxisElement:
    """An `<axis>` or `<axis2>`: a unit vector, and the coordinate along it or about it."""

    where: Where
    coordinate: Coordinate
    xyz: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    expressed_in: str = ""
    mimic: Mimic | None = None


@dataclass(frozen=True, slots=True)
class JointElement:
    """A `<joint>`; `pitch_m` is how far a screw moves in one turn, and `gearbox_ratio` is of a gearbox."""

    name: str
    where: Where
    type: JointType
    parent: str
    child: str
    pose: Pose = Pose()
    axes: tuple[AxisElement, ...] = ()
    pitch_m: float = 0.0
    gearbox_ratio: float = 1.0
    mounted: tuple[Mounted, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelElement:
    """A `<model>`; its pose is that of its `placement_frame`, if it has one."""

    name: str
    where: Where
    minor: int  # the second number of its file's version
    pose: Pose = Pose()
    static: bool = False
    canonical_link: str = ""
    placement_frame: str = ""
    # its elements in document order, with included models and the content of merged ones in their places
    content: tuple[Element, ...] = ()

    def models(self) -> list[ModelElement]:
        """Return the models nested directly in it."""
        return [element for element in self.content if isinstance(element, ModelElement)]

    def canonical_name(self) -> str:
        """Return the name of the link that the model's frame moves with; '' where there is none."""
        links = (element.name for element in self.content if isinstance(element, LinkElement))
        if name := self.canonical_link or next(links, ""):
            return name
        nested = next(iter(self.models()), None)
        inside = nested.canonical_name() if nested else ""
        return f"{nested.name}::{inside}" if nested and inside else ""


Element: TypeAlias = LinkElement | JointElement | FrameElement | ModelElement


@dataclass(frozen=True, slots=True)
class WorldElement:
    """A `<world>`; the one without a name holds what is in no `<world>`."""

    name: str
    where: Where
    frames: tuple[FrameElement, ...] = ()
    models: tuple[ModelElement, ...] = ()
    joints: tuple[JointElement, ...] = ()


_INCLUDE = "uri name pose static placement_frame"
_AXIS = words("", "xyz limit dynamics mimic initial_position use_parent_model_frame", limits="<limit>")

# Of the elements that are read; the content of all others is ignored.
VOCABULARY: dict[str, Vocabulary] = {
    "sdf": words("version", "world model include", "actor light"),
    "world": words(
        "name",
        "model frame include joint",
        "actor audio atmosphere gravity gui light magnetic_field physics plugin population road scene "
        "spherical_coordinates state wind",
    ),
    "model": words(
        "name canonical_link placement_frame",
        "pose static link joint frame model include",
        "allow_auto_disable enable_wind gripper plugin self_collide",
    ),
    "include": words("merge", _INCLUDE, "plugin joint link"),
    "frame": words("name attached_to", "pose"),
    "pose": words("relative_to frame rotation_format degrees"),
    "link": words(
        "name",
        "pose inertial visual collision sensor light",
        "audio_sink audio_source battery enable_wind frame gravity kinematic must_be_base_link "
        "particle_emitter plugin projector self_collide velocity_decay",
    ),
    "inertial": words("auto", "pose mass inertia", "auto_inertia_params density fluid_added_mass frame"),
    "inertia": words("", "ixx iyy izz ixy ixz iyz"),
    "joint": words(
        "name type",
        "pose parent child axis axis2 thread_pitch screw_thread_pitch gearbox_ratio sensor",
        "frame gearbox_reference_body physics plugin",
        "the <limit> of its <axis>",
    ),
    "axis": _AXIS,
    "axis2": _AXIS,
    "xyz": words("expressed_in"),
    "limit": words("", "lower upper velocity effort", "dissipation stiffness", "<limit>"),
    "dynamics": words("", "damping friction spring_reference spring_stiffness"),
    "mimic": words("joint axis", "multiplier offset reference"),
}
# Elements that the specification requires to hold a number, those that make a robot another one.
NEEDED = (
    VOCABULARY["inertia"].elements | VOCABULARY["mimic"].elements | {"spring_reference", "spring_stiffness"}
)
