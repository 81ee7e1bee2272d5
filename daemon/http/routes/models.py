"""A robot's looks for whoever draws it: its structure and shapes in JSON, and the files of its meshes.

A client moves the drawing by the same kinematics as `motiond.formats.model.kinematics`; docs/looks.md shows
how. Meshes are called by their numbers, so that no path of a request ever reaches the file system.
"""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from motiond.formats import BadText
from motiond.formats.io import open_mesh
from motiond.formats.model import derived_shapes
from motiond.text import shortened

from ...api import unknown_robot
from .exchange import Refused, answered, send_file

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from aiohttp import web

    from motiond.formats import Frame, Joint, Link, Mesh, RobotModel, Shape
    from motiond.formats.arrays import Floats

    from ...api import Commands
    from ...joints import JointMap
    from ...physics import Surrounding

    Models: TypeAlias = Mapping[str, tuple[RobotModel | None, JointMap]]

KINDS = {
    "stl": "model/stl",
    "obj": "model/obj",
    "gltf": "model/gltf+json",
    "glb": "model/gltf-binary",
    "dae": "model/vnd.collada+xml",
}


class Looks(NamedTuple):
    """A robot's looks as they are served: its JSON, and its meshes by their numbers."""

    payload: dict[str, Any]
    meshes: tuple[Mesh, ...]


class ModelRoutes:
    """Serves the looks of robots, each worked out when it is first asked for."""

    def __init__(
        self, models: Models, around: Callable[[str], Sequence[Surrounding]], commands: Commands
    ) -> None:
        self._models, self._around = models, around
        self._commands = commands
        self._looks: dict[str, Looks] = {}
        self._one_at_a_time = asyncio.Lock()

    async def show(self, request: web.Request) -> web.StreamResponse:
        """Answer with a robot's structure and shapes."""
        return answered((await self._looks_of(request.match_info["robot"])).payload)

    async def mesh(self, request: web.Request) -> web.StreamResponse:
        """Send the file of a mesh, by its number in the robot's model."""
        robot, number = request.match_info["robot"], request.match_info["mesh"]
        looks = await self._looks_of(robot)
        known = {str(place): mesh for place, mesh in enumerate(looks.meshes)}
        if number not in known:
            what = f"{robot}: no mesh '{shortened(number, 60)}'"
            has = f"its model has {len(known)}, numbered from 0" if known else "its model has none"
            raise Refused(404, "UNKNOWN_MODEL", f"{what}; {has}; ask for one that it names")
        mesh = known[number]
        try:
            file = await asyncio.to_thread(open_mesh, mesh)
        except BadText as error:
            raise Refused(404, "UNKNOWN_MODEL", f"{robot}: {error}") from error
        with file:
            return await send_file(request, file, KINDS[mesh.format])

    async def _looks_of(self, robot: str) -> Looks:
        if robot not in self._models:
            if robot in self._commands.robots:
                reason = "only the robot's own daemon has its description"
                raise Refused(404, "UNKNOWN_MODEL", f"{robot}: not served here; {reason}; ask its page")
            raise unknown_robot(robot, self._commands.robots)
        model, joint_map = self._models[robot]
        if model is None:
            reason = "the configuration lists joints only"
            raise Refused(404, "UNKNOWN_MODEL", f"{robot}: no description; {reason}; name one by 'model'")
        async with self._one_at_a_time:
            if robot not in self._looks:
                self._looks[robot] = await asyncio.to_thread(
                    lambda: looks_of(model, joint_map.joints, self._around(robot))
                )
        return self._looks[robot]


def looks_of(model: RobotModel, columns: Sequence[str], around: Sequence[Surrounding] = ()) -> Looks:
    """Return the looks of a robot whose telemetry has columns for some joints, and of what is around it."""
    derived = derived_shapes(model)
    drawn = {link.name: derived.get(link.name) or _drawn(link) for link in model.links}
    shown = [*(shape for shapes in drawn.values() for shape in shapes), *(one.shape for one in around)]
    meshes = {shape.mesh.path: shape.mesh for shape in shown if shape.mesh}
    numbers = {path: number for number, path in enumerate(meshes)}
    places: set[str] = set()
    for named in (model.links, model.joints, model.frames):
        places.update(one.name for one in named)
    # Where something is called `world`, that name does not stand for the world.
    world = "" if "world" in places else "world"
    payload = {
        "name": model.name,
        "links": [
            {
                "name": link.name,
                "attached_to": link.attached_to if link.attached_to in places else "",
                "pose": _row_by_row(link.pose),
                "shapes": [_shape(shape, numbers) for shape in drawn[link.name]],
            }
            for link in model.links
        ],
        "joints": [
            _joint(joint, columns, joint.parent if joint.parent in places else world)
            for joint in model.joints
        ],
        "frames": [
            _frame(frame, frame.attached_to if frame.attached_to in places else "") for frame in model.frames
        ],
        "base_pose": _row_by_row(model.base_pose),
        "derived": bool(derived),
        "surroundings": [
            {"name": one.name, "role": one.kind, **_shape(one.shape, numbers)} for one in around
        ],
    }
    return Looks(payload, tuple(meshes.values()))


def _drawn(link: Link) -> tuple[Shape, ...]:
    """Return a link's visuals; where it has none, what it collides with."""
    return tuple(shape for shape in link.shapes if shape.role == "visual") or link.shapes


def _shape(shape: Shape, numbers: Mapping[Any, int]) -> dict[str, Any]:
    return {
        "kind": shape.kind,
        "pose": _row_by_row(shape.pose),
        "size": list(shape.size),
        "colour": shape.colour and list(shape.colour),
        "mesh": numbers[shape.mesh.path] if shape.mesh else None,
        "format": shape.mesh.format if shape.mesh else None,
        "scale": list(shape.scale),
    }


def _joint(joint: Joint, columns: Sequence[str], parent: str) -> dict[str, Any]:
    column = columns.index(joint.name) if joint.name in columns and len(joint.coordinates) == 1 else None
    mimic = joint.mimic
    return {
        "name": joint.name,
        "type": joint.type,
        "parent": parent,
        "child": joint.child,
        "parent_pose": _row_by_row(joint.parent_pose),
        "child_pose": _row_by_row(joint.child_pose),
        "axes": joint.axes.tolist(),
        "gear_ratio": joint.gear_ratio,
        "pitch_m": joint.pitch_m,
        "closes_loop": joint.closes_loop,
        "coordinates": [
            {
                "name": one.name,
                "column": column,
                "position": one.initial if math.isfinite(one.initial) else 0.0,
            }
            for one in joint.coordinates
        ],
        "mimic": mimic and {"of": mimic.of, "multiplier": mimic.multiplier, "offset": mimic.offset},
    }


def _frame(frame: Frame, attached_to: str) -> dict[str, Any]:
    pose = _row_by_row(frame.pose)
    return {"name": frame.name, "kind": frame.kind, "attached_to": attached_to, "pose": pose}


def _row_by_row(pose: Floats) -> list[float]:
    return cast("list[float]", pose.ravel().tolist())
