"""What becomes of a motion's other series, and of what its file says of joints, when the motion changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from motiond.text import listed, nearest

from ..motion import MotionError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from ...arrays import Floats
    from ..motion import Motion


def without(motion: Motion, components: Iterable[str]) -> Motion:
    """Drop components.

    Raises
    ------
    MotionError
        If there is no such component.
    """
    components = tuple(components)
    refuse_unknown(motion, "component", components, motion.components)
    kept = {name: series for name, series in motion.components.items() if name not in components}
    about = motion.metadata.get("components", {})
    metadata = {
        **motion.metadata,
        "components": {name: said for name, said in about.items() if name not in components},
    }
    return replace(motion, components=kept, metadata=metadata if about else motion.metadata)


def is_of_joints(motion: Motion, name: str) -> bool:
    """Whether a component has a value for each joint, as `JointEffort` has."""
    kind = motion.about(name).get("type", "MultiValueSeq")
    shape = getattr(motion.components[name], "shape", ())
    return kind == "MultiValueSeq" and name.startswith("Joint") and shape[1:] == motion.positions.shape[1:]


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


def refuse_unknown(motion: Motion, kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise `MotionError` with a line for each name that is not known."""
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


def no_such_change(motion: Motion, name: str, done: str, unknown: str) -> MotionError:
    """Return the refusal to change a component of which it is not known what becomes; `done`: `reversed`."""
    reason = f"it is not known {unknown}"
    return MotionError(f"{motion.name}: component '{name}' cannot be {done}; {reason}; drop it first")


def with_positions(motion: Motion, positions: Floats, following: Mapping[str, Floats], done: str) -> Motion:
    """Return the motion with other positions in its rows; the pose of its root stays.

    Parameters
    ----------
    positions : ndarray, shape (frames, joints)
    following : mapping
        The new values, shape (frames, joints), of the components that follow the positions.
    done : str
        What is done to the motion, for messages: `smoothed`.

    Raises
    ------
    MotionError
        With the first component of which it is not known what becomes of it.
    """

    def follow(name: str) -> tuple[Floats, Floats]:
        times, values = motion.series(name)
        if name in following and is_of_joints(motion, name):
            return motion.times, following[name]
        if motion.is_poses(name) and values.shape[1] == 1:
            return times, values
        raise no_such_change(motion, name, done, "how it follows the joints")

    series = {name: follow(name) for name in motion.components}
    return motion.with_series(motion.times, positions, series)


def need_even_rows(motion: Motion, done: str) -> None:
    """Raise `MotionError` unless the rows lie at a fixed rate."""
    if not motion.is_uniform:
        reason = f"only rows at a fixed rate are {done}"
        hint = "resample it first, as by `motiond edit --rate`"
        raise MotionError(f"{motion.name}: its rows do not lie evenly; {reason}; {hint}")
