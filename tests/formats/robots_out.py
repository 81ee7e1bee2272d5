"""What other programs, and motiond itself, make of a robot that was written: where its links are."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, TypeAlias

import mujoco
import numpy as np
import yourdfpy

from motiond.formats import load_robot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from motiond.formats import RobotModel
    from motiond.formats.arrays import Floats

# The values of coordinates by the names of the joints that have them.
Values: TypeAlias = dict[str, float]
# Poses of links by their names.
Places: TypeAlias = "dict[str, Floats]"


def positions(model: RobotModel, values: Mapping[str, float]) -> Floats:
    """Return the posture in which joints have these values, and what follows one follows it."""
    found = dict(values)
    for joint in model.joints * 2:
        if joint.mimic and joint.mimic.of in found:
            found[joint.name] = joint.mimic.multiplier * found[joint.mimic.of] + joint.mimic.offset
    named = {joint.coordinates[0].name: joint.name for joint in model.joints if len(joint.coordinates) == 1}
    free = {one.name: 0.0 for joint in model.joints if joint.type == "free" for one in joint.coordinates}
    names = [one.name for joint in model.joints for one in joint.coordinates]
    return np.array([free[name] if name in free else found[named.get(name, name)] for name in names])


def places_of(model: RobotModel, values: Mapping[str, float]) -> Places:
    return model.forward_kinematics(positions(model, values))


def seen_by_motiond(path: Path, values: Values) -> Places:
    return places_of(load_robot(path), values)


def seen_by_yourdfpy(path: Path, values: Values) -> Places:
    # It counts a floating joint as one number when it looks up what another joint follows.
    held = path.read_text().replace('type="floating"', 'type="fixed"').encode()
    robot = yourdfpy.URDF.load(io.BytesIO(held), load_meshes=False, load_collision_meshes=False)
    robot.update_cfg({name: values[name] for name in robot.actuated_joint_names})
    return {name: robot.get_transform(name, robot.base_link) for name in robot.link_map}


def seen_by_yourdfpy_and_motiond(path: Path, values: Values) -> Places:
    """Return where both have every link; a floating one stands where it does with all coordinates at 0."""
    found, model = seen_by_yourdfpy(path, values), load_robot(path)
    floating = {one.name: 0.0 for joint in model.joints if joint.type == "free" for one in joint.coordinates}
    places = places_of(model, values | floating)
    for name, place in found.items():
        np.testing.assert_allclose(places[name], place, rtol=0, atol=1e-9, err_msg=name)
    return found


def seen_by_mujoco(path: Path, values: Values) -> Places:
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for number, address in enumerate(model.jnt_qposadr):
        name = model.joint(number).name
        if model.jnt_type[number] == mujoco.mjtJoint.mjJNT_BALL:
            turn = np.array([values[f"{name}_{letter}"] for letter in "xyz"])
            angle = float(np.linalg.norm(turn))
            mujoco.mju_axisAngle2Quat(data.qpos[address : address + 4], turn / angle, angle)
        elif name in values:
            data.qpos[address] = values[name]
    for _ in range(2):
        for follower, leader, line in zip(model.eq_obj1id, model.eq_obj2id, model.eq_data, strict=True):
            if leader >= 0:
                followed = data.qpos[model.jnt_qposadr[leader]]
                data.qpos[model.jnt_qposadr[follower]] = line[0] + line[1] * followed
    mujoco.mj_kinematics(model, data)
    found = {}
    for number in range(1, model.nbody):
        pose = found[model.body(number).name] = np.eye(4)
        pose[:3, :3], pose[:3, 3] = data.xmat[number].reshape(3, 3), data.xpos[number]
    return found
