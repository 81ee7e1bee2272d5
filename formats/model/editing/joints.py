"""New motions by joints: some of them, under other names, with their sides swapped, or put elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from motiond.text import listed

from ..motion import MotionError
from .components import is_of_joints, metadata_for, refuse_unknown, with_positions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ...arrays import Floats, Indices
    from ..motion import Motion

_AXES = {"x": 0, "y": 1, "z": 2}


def select(motion: Motion, names: Iterable[str]) -> Motion:
    """Keep some joints, in the order given, and the same columns of their series, such as `JointEffort`.

    Raises
    ------
    MotionError
        If no joint is named, one is unknown or named twice, or the motion's joints have no names.
    """
    _need_names(motion, "selected")
    names = tuple(names)
    if not names:
        raise MotionError(f"{motion.name}: no joint is selected; a motion keeps one at least; name it")
    refuse_unknown(motion, "joint", names, motion.joint_names)
    _refuse_twice(motion, names)
    columns = [motion.joint_names.index(name) for name in names]
    components = {
        name: series[:, columns] if is_of_joints(motion, name) else series
        for name, series in motion.components.items()
    }
    return replace(
        motion,
        joint_names=names,
        positions=motion.positions[:, columns],
        components=components,
        metadata=metadata_for(motion, [(name, name) for name in names]),
    )


def rename(motion: Motion, table: Mapping[str, str]) -> Motion:
    """Rename joints by a table of old name to new; the others keep their names.

    Raises
    ------
    MotionError
        If a joint is unknown, two would share a name, or the motion's joints have no names.
    """
    _need_names(motion, "renamed")
    refuse_unknown(motion, "joint", table, motion.joint_names)
    names = [table.get(name, name) for name in motion.joint_names]
    _refuse_twice(motion, names)
    new_names = [*zip(motion.joint_names, names, strict=True)]
    return replace(motion, joint_names=tuple(names), metadata=metadata_for(motion, new_names))


def name_joints(motion: Motion, names: Iterable[str]) -> Motion:
    """Name the joints of a motion that has no names, one name for each column of `positions`.

    Raises
    ------
    MotionError
        If the joints have names, their number is another, or a name stands twice.
    """
    if motion.joint_names:
        raise MotionError(f"{motion.name}: its joints have names; those are kept; rename them")
    names, joints = tuple(names), motion.positions.shape[1]
    if len(names) != joints:
        raise MotionError(
            f"{motion.name}: {len(names)} names for {joints} joints; each has one; list them all"
        )
    _refuse_twice(motion, names)
    units = motion.metadata.get("units", {})
    by_name = {name: units[str(number)] for number, name in enumerate(names) if str(number) in units}
    metadata = {**motion.metadata, "units": by_name} if units else motion.metadata
    return replace(motion, joint_names=names, metadata=metadata)


def mirror(
    motion: Motion, table: Mapping[str, tuple[str, float]], normal: Literal["x", "y", "z"] = "y"
) -> Motion:
    """Swap sides: each joint in the table moves as another one did, with a sign; the others move as before.

    Parameters
    ----------
    table : mapping
        Joint to (joint that it takes its positions from, sign), such as
        `{"l_hip": ("r_hip", -1), "r_hip": ("l_hip", -1), "waist_yaw": ("waist_yaw", -1)}`.
    normal : {'x', 'y', 'z'}
        The axis across the mirror's plane. With x forward and z up, `y` swaps left and right.

    Raises
    ------
    MotionError
        If the table does not swap the motion's joints, or a component has no known mirror image.

    Notes
    -----
    A pose p, R becomes M p, M R M with M = I - 2 n nᵀ: a quaternion keeps its scalar and its part along n.
    """
    _need_names(motion, "mirrored")
    columns, signs = _swap(motion, table)
    reflected = np.where(np.arange(3) == _AXES[normal], -1.0, 1.0)
    pose_signs = np.concatenate([reflected, [1.0], -reflected])

    def image(name: str) -> tuple[Floats, Floats]:
        times, values = motion.series(name)
        if is_of_joints(motion, name):
            return times, values[:, columns] * signs
        if motion.is_poses(name) and values.shape[1] == 1:
            return times, values * pose_signs
        if name == "ZMP":
            return times, values * reflected
        raise MotionError(
            f"{motion.name}: component '{name}' cannot be mirrored; "
            "its mirror image is not known; drop it first"
        )

    series = {name: image(name) for name in motion.components}
    return motion.with_series(motion.times, motion.positions[:, columns] * signs, series)


def _swap(motion: Motion, table: Mapping[str, tuple[str, float]]) -> tuple[Indices, Floats]:
    """Return the column and the sign that each joint takes, after checking that the table is a swap."""
    refuse_unknown(motion, "joint", [*table, *(source for source, _ in table.values())], motion.joint_names)
    sources = [table.get(name, (name, 1.0)) for name in motion.joint_names]
    taken = [source for source, _ in sources]
    problems = [
        f"{motion.name}: the sign of joint '{name}' is {sign:g}; it is 1 or -1; correct the table"
        for name, (_, sign) in zip(motion.joint_names, sources, strict=True)
        if abs(sign) != 1
    ] + [
        f"{motion.name}: no joint moves as '{name}' did; a mirror swaps joints; add the one that does"
        for name in motion.joint_names
        if name not in taken
    ]
    if problems:
        raise MotionError("\n".join(problems))
    columns = np.array([motion.joint_names.index(name) for name in taken], dtype=np.intp)
    return columns, np.array([sign for _, sign in sources], dtype=np.float64)


def offset(motion: Motion, by: Mapping[str, float]) -> Motion:
    """Move joints by so much in every row, in rad or m; the others, and all velocities, stay.

    Raises
    ------
    MotionError
        If a joint is unknown, its value is not finite, or a component has no known value elsewhere.
    """
    _need_names(motion, "moved")
    refuse_unknown(motion, "joint", by, motion.joint_names)
    odd = [
        f"{motion.name}: the offset of joint '{name}' is {value:g}; it is a finite number; correct it"
        for name, value in by.items()
        if not np.isfinite(value)
    ]
    if odd:
        raise MotionError("\n".join(odd))
    moved = motion.positions + [by.get(name, 0.0) for name in motion.joint_names]
    rates = {
        name: motion.components[name]
        for name in ("JointVelocity", "JointAcceleration")
        if name in motion.components
    }
    return with_positions(motion, moved, rates, "moved")


def _need_names(motion: Motion, done: str) -> None:
    if not motion.joint_names:
        raise MotionError(
            f"{motion.name}: its joints have no names; they are {done} by name; name them first"
        )


def _refuse_twice(motion: Motion, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        named = listed(twice, "'")
        raise MotionError(
            f"{motion.name}: joint {named} stands twice; a name is one joint's; correct the list"
        )
