"""A model whose elements an `<include merge="true">` puts into the model around it.

In comes the included model, out go its elements as they read in the scope outside: what stood in its own
frame stands in a frame that takes its place. Follows libsdformat, which names that frame
`_merged__NAME__model__`.
"""

from __future__ import annotations

from dataclasses import replace

from .elements import MODEL, Element, FrameElement, JointElement, ModelElement, Pose


def unpacked(model: ModelElement) -> tuple[Element, ...]:
    """Give a model's content, and first a frame for itself, as they can stand in another scope."""
    stand_in = f"_merged__{model.name}__model__"
    frame = FrameElement(
        stand_in,
        model.where,
        # A frame's pose is in the frame that it is attached to unless it says otherwise; a model's is not.
        Pose(model.pose.matrix, model.pose.relative_to or MODEL),
        attached_to=model.canonical_name(),
        placement_frame=model.placement_frame,
    )
    return (frame, *(_moved(element, stand_in) for element in model.content))


def _moved(element: Element, stand_in: str) -> Element:
    """Put what is in the model's frame, by name or by default, in the frame that stands in for it."""
    if isinstance(element, JointElement):
        return _moved_joint(element, stand_in)
    if isinstance(element, FrameElement):
        attached_to = stand_in if element.attached_to in {"", MODEL} else element.attached_to
        return replace(element, pose=_renamed(element.pose, stand_in), attached_to=attached_to)
    pose = element.pose
    return replace(
        element, pose=_renamed(pose, stand_in) if pose.relative_to else Pose(pose.matrix, stand_in)
    )


def _moved_joint(joint: JointElement, stand_in: str) -> JointElement:
    axes = tuple(
        replace(axis, expressed_in=stand_in) if axis.expressed_in == MODEL else axis for axis in joint.axes
    )
    return replace(joint, pose=_renamed(joint.pose, stand_in), axes=axes)


def _renamed(pose: Pose, stand_in: str) -> Pose:
    return Pose(pose.matrix, stand_in) if pose.relative_to == MODEL else pose
