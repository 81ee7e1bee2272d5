"""Tools that make a new motion of one: pick and rename joints, cut rows, reverse time, mirror sides.

Each tool changes every component along with the positions, or raises `MotionError` with the name of the one
that it cannot change: `without` drops it first. Derivatives, sampling and resampling are the motion's own
methods, and `joining` joins motions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from motiond.text import listed, nearest

from .interpolation import SAME_TIME_S
from .motion import MotionError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ..arrays import Floats, Indices
    from .motion import Motion

# The sign of a value when time runs backwards. Efforts have none: gravity keeps its sign, friction does not.
_BACKWARDS = {"ZMP": 1.0, "JointVelocity": -1.0, "JointAcceleration": 1.0}
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
    _refuse_unknown(motion, "joint", names, motion.joint_names)
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
    _refuse_unknown(motion, "joint", table, motion.joint_names)
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


def without(motion: Motion, components: Iterable[str]) -> Motion:
    """Drop components.

    Raises
    ------
    MotionError
        If there is no such component.
    """
    components = tuple(components)
    _refuse_unknown(motion, "component", components, motion.components)
    kept = {name: series for name, series in motion.components.items() if name not in components}
    about = motion.metadata.get("components", {})
    metadata = {
        **motion.metadata,
        "components": {name: said for name, said in about.items() if name not in components},
    }
    return replace(motion, components=kept, metadata=metadata if about else motion.metadata)


def trim(motion: Motion, start_s: float | None = None, end_s: float | None = None) -> Motion:
    """Keep the rows from one time to another, unchanged; the first one kept is then at 0 s.

    Parameters
    ----------
    start_s, end_s : float, optional
        On the scale of `times`; by default the first row and the last.

    Raises
    ------
    MotionError
        If no row lies between, or a component cannot be trimmed.
    """
    start_s = motion.times[0] if start_s is None else start_s
    end_s = motion.times[-1] if end_s is None else end_s
    kept = np.flatnonzero((motion.times >= start_s - SAME_TIME_S) & (motion.times <= end_s + SAME_TIME_S))
    if not kept.size:
        raise MotionError(
            f"{motion.name}: no row lies from {start_s:g} s to {end_s:g} s; "
            f"it has rows from {motion.times[0]:g} s to {motion.times[-1]:g} s; trim it elsewhere"
        )
    return trim_frames(motion, int(kept[0]), int(kept[-1]))


def trim_frames(motion: Motion, first: int = 0, last: int | None = None) -> Motion:
    """Keep the rows from one frame to another, both included and counted from 0; otherwise as `trim`."""
    end = motion.times.size - 1
    last = end if last is None else last
    if not 0 <= first <= last <= end:
        raise MotionError(
            f"{motion.name}: no frames {first} to {last}; it has frames 0 to {end}; trim it elsewhere"
        )
    start_s, end_s = motion.times[first], motion.times[last]

    def cut(name: str) -> tuple[Floats, Floats]:
        times, values = motion.series(name)
        if times is motion.times:
            return new_times, values[first : last + 1]
        inside = (times >= start_s - SAME_TIME_S) & (times <= end_s + SAME_TIME_S)
        if not inside.any():
            raise MotionError(
                f"{motion.name}: component '{name}' has no row from {start_s:g} s to {end_s:g} s; "
                "it has times of its own; resample the motion or drop the component first"
            )
        return np.maximum(times[inside] - start_s, 0.0), values[inside]

    new_times = _from_zero(motion, first, last)
    series = {name: cut(name) for name in motion.components}
    return motion.with_series(new_times, motion.positions[first : last + 1], series)


def reverse(motion: Motion) -> Motion:
    """Return the motion from its end to its start: x'(t) = x(first + last - t); velocities change sign.

    Raises
    ------
    MotionError
        If it is not known how a component runs backwards, as with efforts.
    """
    ends_s = motion.times[0] + motion.times[-1]

    def turned(name: str) -> tuple[Floats, Floats]:
        times, values = motion.series(name)
        sign = 1.0 if motion.is_poses(name) else _BACKWARDS.get(name)
        if sign is None:
            raise MotionError(
                f"{motion.name}: component '{name}' cannot be reversed; "
                "it is not known how it runs backwards; drop it first"
            )
        return (new_times if times is motion.times else ends_s - times[::-1]), sign * values[::-1]

    new_times = motion.times if is_even(motion) else ends_s - motion.times[::-1]
    series = {name: turned(name) for name in motion.components}
    return motion.with_series(new_times, motion.positions[::-1], series)


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
    _refuse_unknown(motion, "joint", [*table, *(source for source, _ in table.values())], motion.joint_names)
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


def is_even(motion: Motion) -> bool:
    """Whether the times are those of frames at the frame rate, counted from 0, bit for bit."""
    return bool(np.array_equal(motion.times, np.arange(motion.times.size) / motion.frame_rate))


def is_of_joints(motion: Motion, name: str) -> bool:
    """Whether a component has a value for each joint, as `JointEffort` has."""
    kind = motion.about(name).get("type", "MultiValueSeq")
    shape = getattr(motion.components[name], "shape", ())
    return kind == "MultiValueSeq" and name.startswith("Joint") and shape[1:] == motion.positions.shape[1:]


def _from_zero(motion: Motion, first: int, last: int) -> Floats:
    """Return the times of some rows, the first at 0 s; at a fixed rate, bit for bit those of frames."""
    if is_even(motion):
        return motion.times[: last - first + 1]
    times: Floats = motion.times[first : last + 1] - motion.times[first]
    return times


def metadata_for(motion: Motion, new_names: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the metadata with new joint names wherever it names joints; `new_names`: old and new."""
    metadata = dict(motion.metadata)
    if "components" in metadata:
        metadata["components"] = {
            name: {**said, "part_labels": tuple(new for _, new in new_names)}
            if said.get("part_labels") == motion.joint_names
            else said
            for name, said in metadata["components"].items()
        }
    for key in ("servos", "units"):
        if said := metadata.get(key):
            metadata[key] = {new: said[old] for old, new in new_names if old in said}
    return metadata


def _need_names(motion: Motion, done: str) -> None:
    if not motion.joint_names:
        raise MotionError(
            f"{motion.name}: its joints have no names; they are {done} by name; name them first"
        )


def _refuse_unknown(motion: Motion, kind: str, names: Iterable[str], known: Collection[str]) -> None:
    there_are = listed(known) or "none"
    problems = [
        "; ".join(
            part
            for part in (
                f"{motion.name}: no {kind} '{name}'",
                f"it has {there_are}",
                nearest(name, known),
            )
            if part
        )
        for name in dict.fromkeys(names)
        if name not in known
    ]
    if problems:
        raise MotionError("\n".join(problems))


def _refuse_twice(motion: Motion, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        named = listed(twice, "'")
        raise MotionError(
            f"{motion.name}: joint {named} stands twice; a name is one joint's; correct the list"
        )
