"""What an SDFormat `<include>` means: the file that its `<uri>` names, and where merged elements go.

A URI is looked up as `io.resources` does. A folder is a model if it has a `model.config`, which names a file
for each version.

`<include merge="true">` puts the model's elements into the model around it. Follows libsdformat: what stood
in the merged model's frame stands in a frame that takes its place, named `_merged__NAME__model__`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from motiond.text import quoted

from ..errors import BadText, FormatError, Problems
from ..io.foreign import foreign_format
from ..io.resources import find_resource
from ..io.xml.element import Element as XmlElement
from ..io.xml.file import TooMuchError
from ..io.xml.tree import parse_xml
from .elements import MODEL, Element, FrameElement, JointElement, LinkElement, ModelElement, Pose

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from ..io.source import Source

    Read: TypeAlias = Callable[[Source], bytes]

CONFIG = "model.config"
HINT = 'write <sdf version="1.9">model.sdf</sdf>'
OLDEST_MINOR, NEWEST_MINOR = 4, 12
_VERSION = re.compile(r"1\.(\d{1,3})(?:\.\d+)?", re.ASCII)


def minor_version(text: str) -> int | None:
    """Return the second number of a version that is read, 1.4 to 1.12; None for any other text."""
    found = _VERSION.fullmatch(text)
    if not found or not OLDEST_MINOR <= int(found[1]) <= NEWEST_MINOR:
        return None
    return int(found[1])


def find(uri: str, source: Source, warnings: list[str], read: Read) -> Source:
    """Return the file that a URI in `source` means; what is odd about it goes to the warnings."""
    try:
        return _file_of(find_resource(uri, source, "include"), uri, warnings, read)
    except (OSError, RuntimeError) as error:
        # Before Python 3.13, Path.resolve raises RuntimeError where symbolic links lead in a ring.
        raise BadText(f"cannot include {quoted(uri)}", str(error), "check the path") from error


def _file_of(source: Source, uri: str, warnings: list[str], read: Read) -> Source:
    if not source.path.is_dir():
        return source
    config = source.at(source.path / CONFIG)
    if not config.allowed():
        return config  # of which the including file says that it may not
    return source.at(source.path / _best_file(config, uri, warnings, read))


def _best_file(config: Source, uri: str, warnings: list[str], read: Read) -> str:
    """Return the name of the file for the newest version that is read."""
    data = b""
    try:
        problems = Problems(config.name, warnings=warnings)
        data = read(config)
        root = XmlElement(parse_xml(data, problems, free_prefixes=True), problems)
    except TooMuchError:
        raise
    except FormatError as error:
        first = error.problems[0]
        where = f"{first.file}:{first.line}" if first.line else first.file
        reason, hint = f"{where} {first.problem}, {first.reason}", f"a model's folder has a {CONFIG}"
        if foreign := foreign_format(data):
            reason, hint = f"{config.name} {foreign.problem}, {foreign.reason}", foreign.hint
        raise BadText(f"cannot include {quoted(uri)}", reason, hint) from None
    listed = [(one, one.attribute("version")) for one in root.all("sdf")]
    files = {minor: one.text for one, version in listed if (minor := minor_version(version)) is not None}
    unversioned = next((one for one, version in listed if not version), None)
    if unversioned and not files:
        files[0] = unversioned.text
        unversioned.where.warn("<sdf> has no 'version'", "the first without one is taken", HINT)
    if not files or not files[max(files)]:
        raise BadText(
            f"cannot include {quoted(uri)}",
            f"{config.name} names no file of a version from 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}",
            f"{HINT} in it",
        )
    return files[max(files)]


def unpacked(model: ModelElement, around: str = MODEL) -> tuple[Element, ...]:
    """Return a frame for a model, then its content, as they can stand in the scope of the frame `around`."""
    stand_in = f"_merged__{model.name}__model__"
    frame = FrameElement(
        stand_in,
        model.where,
        # By default a frame's pose is in the frame it is attached to, and a model's in what is around it.
        Pose(model.pose.matrix, model.pose.relative_to or around),
        attached_to=model.canonical_name(),
        placement_frame=model.placement_frame,
    )
    return (frame, *(_moved(element, stand_in) for element in model.content))


def _moved(element: Element, stand_in: str) -> Element:
    """Put what is in the model's frame, by name or by default, into the frame that takes its place."""
    if isinstance(element, JointElement):
        return _moved_joint(element, stand_in)
    if isinstance(element, FrameElement):
        attached_to = stand_in if element.attached_to in {"", MODEL} else element.attached_to
        return replace(element, pose=_renamed(element.pose, stand_in), attached_to=attached_to)
    if isinstance(element, LinkElement):
        shapes = tuple(replace(one, pose=_renamed(one.pose, stand_in)) for one in element.shapes)
        element = replace(element, shapes=shapes)
    pose = element.pose
    return replace(
        element, pose=_renamed(pose, stand_in) if pose.relative_to else Pose(pose.matrix, stand_in)
    )


def _moved_joint(joint: JointElement, stand_in: str) -> JointElement:
    axes = tuple(
        replace(axis, expressed_in=stand_in) if axis.expressed_in == MODEL else axis for axis in joint.axes
    )
    parent, child = (stand_in if end == MODEL else end for end in (joint.parent, joint.child))
    return replace(joint, parent=parent, child=child, pose=_renamed(joint.pose, stand_in), axes=axes)


def _renamed(pose: Pose, stand_in: str) -> Pose:
    return Pose(pose.matrix, stand_in) if pose.relative_to == MODEL else pose
