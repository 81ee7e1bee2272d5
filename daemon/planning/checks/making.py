"""The checks of planned motions that a robot's configuration asks for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from motiond.drivers.sim import ARMATURE
from motiond.text import listed

from ...physics import (
    Clearance,
    Dynamics,
    PhysicalRobot,
    PhysicsError,
    bare_links,
    load_mujoco,
    make_world,
    unseen_links,
    walls_of,
    weightless_links,
)
from .collision import CollisionCheck
from .effort import EffortCheck
from .plan_check import initial_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from motiond.formats import Link, RobotModel

    from ...config.robot import RobotSettings
    from ...ipc.messages import CollisionSetup
    from ...joints import JointMap
    from ...physics import World
    from .plan_check import PlanCheck


def make_checks(
    settings: RobotSettings, model: RobotModel | None, joint_map: JointMap
) -> tuple[PlanCheck, ...]:
    """Return them; raises PhysicsError with why any of them cannot be had."""
    checks: list[PlanCheck] = []
    problems: list[str] = []
    for make in (_effort_checks, _collision_checks):
        try:
            checks += make(settings, model, joint_map)
        except PhysicsError as error:
            problems += str(error).splitlines()
    if problems:
        raise PhysicsError("\n".join(dict.fromkeys(problems)))
    return tuple(checks)


def collision_of(checks: Iterable[PlanCheck]) -> CollisionSetup | None:
    """Return what a stream process looks at while a robot follows targets; None where it looks at nothing.

    Raises PhysicsError if that does not fit into a message.
    """
    for check in checks:
        if isinstance(check, CollisionCheck):
            return check.for_following()
    return None


def _effort_checks(
    settings: RobotSettings, model: RobotModel | None, joint_map: JointMap
) -> Iterator[EffortCheck]:
    if settings.effort is None:
        return
    where = f"{joint_map.robot}: effort"
    if model is None or not any(link.mass for link in model.links):
        problem = "there is no description" if model is None else "no part of the description has a mass"
        raise PhysicsError(f"{where}: cannot be checked; {problem}; name one with masses, or remove it")
    load_mujoco(where)
    world = make_world(_without_meshes(model), joint_map, payload=settings.payload, needs_masses=True)
    dynamics = Dynamics(PhysicalRobot(world), joint_map)
    yield EffortCheck(
        dynamics, settings.effort, [*_of_masses(world, model)], [*_of_effort_limits(model, joint_map)]
    )


def _of_masses(world: World, model: RobotModel) -> Iterator[str]:
    """Yield what weighs nothing in efforts."""
    if names := listed(weightless_links(model)):
        yield f"links without a mass weigh nothing in efforts: {names}"
    if names := listed(world.unladen):
        yield f"joints that move no mass take {ARMATURE} kg·m² or kg times their acceleration alone: {names}"


def _of_effort_limits(model: RobotModel, joint_map: JointMap) -> Iterator[str]:
    """Yield that joints have an effort limit of 0, as exporters write it where they know of none."""
    known = [joint for joint in model.joints if joint.name in joint_map.joints]
    if names := [joint.name for joint in known if joint.coordinates[0].effort_limit == 0.0]:
        problem = f"an effort limit of 0 in the description counts as none: {listed(names)}"
        hint = "write what they bear, or set `joints.NAME.limits.effort`"
        yield f"{problem}; no actuator moves anything without effort; {hint}"


def _collision_checks(
    settings: RobotSettings, model: RobotModel | None, joint_map: JointMap
) -> Iterator[CollisionCheck]:
    if settings.collision is None:
        return
    where = f"{joint_map.robot}: collision"
    if model is None:
        reason = "there is no description"
        raise PhysicsError(f"{where}: cannot be checked; {reason}; name one with `model`, or remove it")
    load_mujoco(where)
    if unseen := unseen_links(model):
        names = listed(unseen, quote="'")
        reason, hint = (
            "how near it comes would be unknown",
            "look at the warnings about the description's shapes",
        )
        raise PhysicsError(f"{where}: a shape of {names} is missing; {reason}; {hint}, and put it right")
    walls = walls_of(joint_map.robot, settings.collision.workspace)
    called = Counter([*(name for name, _ in walls), *{link.name for link in model.links}])
    if twice := [name for name, times in called.items() if times > 1]:
        names = listed(twice, quote="'")
        reason = "a link, or a wall of what is allowed, is called so, too"
        raise PhysicsError(f"{where}: workspace: {names} would be two; {reason}; choose another name")
    clearance = Clearance(make_world(model, joint_map, workspace=walls), joint_map, settings.collision.ignore)
    if not clearance.links:
        reason = "no two links can touch, and there is no workspace"
        raise PhysicsError(f"{where}: nothing can be checked; {reason}; add shapes to links, or remove it")
    begin = np.clip(initial_of(joint_map), joint_map.limits.lower, joint_map.limits.upper)
    yield CollisionCheck(clearance, settings.collision, [name for name, _ in walls], bare_links(model), begin)


def _without_meshes(model: RobotModel) -> RobotModel:
    """Return a robot without shapes that add nothing to its inertia, and that MuJoCo may refuse."""

    def weighed(link: Link) -> Link:
        return replace(link, shapes=tuple(one for one in link.shapes if one.kind not in {"mesh", "plane"}))

    return replace(model, links=tuple(map(weighed, model.links)))
