"""Files of other formats, known by how they begin, with what to do about each.

Any of them may stand where a robot or a motion is wanted, under whatever name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .io.first_tag import first_tag

if TYPE_CHECKING:
    from collections.abc import Callable


class Foreign(NamedTuple):
    """A file of a format that is not read.

    Attributes
    ----------
    what, why, mend : str
        The parts of a message.
    """

    what: str
    why: str
    mend: str


ROBOT_FORMATS, MOTION_FORMATS = (
    "robots are read from HRDF, SKEL and SDFormat",
    "motions are read from .seq and XMDI",
)

_ARCHIVES = {
    b"\x1f\x8b": ("gzip", "gzip -d"),
    b"PK\x03\x04": ("ZIP", "unzip"),
    b"BZh": ("bzip2", "bzip2 -d"),
    b"\xfd7zXZ\0": ("xz", "xz -d"),
    b"\x28\xb5\x2f\xfd": ("Zstandard", "zstd -d"),
}
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
# HRDF's root is <robot> too, but its links have types, no names.
_URDF = re.compile(
    rb"<(?:visual|collision|inertial|parent\s+link|child\s+link)\b"
    rb"|<(?:link|joint)\s+name\s*=\s*(?:\"[^\"]*\"|'[^']*')\s*(?:/?>|type\s*=\s*[\"'][a-z])"
)
_OLD_SKEL = re.compile(rb"\s*(?:(?:#|//)[^\n]*\n\s*)*(?:dofs|mass|node|handles|markers|units)\b[^\n{:<]*\{")
_POSE_SEQ = re.compile(rb"""^[ {,]*["']?type["']?\s*:\s*["']?PoseSeq\b""", re.MULTILINE)
_NUMBERS = re.compile(rb"\s*[-+.\d][-+.\deE]*(?:[ \t]*[,;\t][ \t]*[-+.\d][-+.\deE]*)+[ \t,;]*\r?")
_HEADER = re.compile(rb"[^:{}\[\]<>#]*[,;\t][^:{}\[\]<>#]*")


def foreign_format(head: bytes) -> Foreign | None:
    """Return what a file is that begins like this; None where it may be of a format that is read."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    return next((found for known in _KNOWN if (found := known(text))), None)


def _archive(head: bytes) -> Foreign | None:
    for magic, (name, command) in _ARCHIVES.items():
        if head.startswith(magic):
            return Foreign(f"is compressed ({name})", "files are read as they are", f"unpack it: `{command}`")
    return None


def _lfs_pointer(head: bytes) -> Foreign | None:
    if not head.startswith(b"version https://git-lfs.github.com/"):
        return None
    why = "the file itself was not downloaded"
    return Foreign("is a Git LFS pointer", why, "run `git lfs pull` in its repository")


def _html(head: bytes) -> Foreign | None:
    if not head.lstrip().lower().startswith(b"<!doctype html") and first_tag(head).lower() != b"html":
        return None
    why = "a web server gave a page about the file in its place"
    return Foreign("is an HTML page", why, "download the file itself (on GitHub: `Raw`)")


def _urdf(head: bytes) -> Foreign | None:
    text = _COMMENT.sub(b"", head)
    if first_tag(text) != b"robot":
        return None
    if b"xmlns:xacro" in text or b"<xacro:" in text:
        mend = "expand it with `xacro`, then convert that: `gz sdf -p arm.urdf > arm.sdf`"
        return Foreign("is xacro, of which URDF is made", ROBOT_FORMATS, mend)
    if _URDF.search(text):
        return Foreign("is URDF", ROBOT_FORMATS, "convert it: `gz sdf -p arm.urdf > arm.sdf`")
    return None


def _old_skel(head: bytes) -> Foreign | None:
    if not _OLD_SKEL.match(head):
        return None
    why = "of SKEL, its XML is read"
    return Foreign("is DART's old text format of skeletons", why, "describe the robot in SKEL or SDFormat")


def _pose_seq(head: bytes) -> Foreign | None:
    if not _POSE_SEQ.search(head):
        return None
    mend = "generate a body motion from it in Choreonoid and save that as .seq"
    return Foreign("is a PoseSeq, the key poses of Choreonoid's editor", MOTION_FORMATS, mend)


def _webots_motion(head: bytes) -> Foreign | None:
    if not head.startswith(b"#WEBOTS_MOTION"):
        return None
    mend = "write its poses as rows of a .seq file with `has_frame_time: true`"
    return Foreign("is a motion file of Webots (.motion)", MOTION_FORMATS, mend)


def _csv(head: bytes) -> Foreign | None:
    lines = [line for line in head.split(b"\n")[:4] if line.strip()]
    if len(lines) < 2 or not _NUMBERS.fullmatch(lines[1]):
        return None
    if not (_NUMBERS.fullmatch(lines[0]) or _HEADER.fullmatch(lines[0])):
        return None
    mend = "write it as .seq: `dump_motion(Motion(name, joints, frame_rate, times, positions), path)`"
    return Foreign("is CSV, a table without a frame rate", MOTION_FORMATS, mend)


_KNOWN: tuple[Callable[[bytes], Foreign | None], ...] = (
    _archive,
    _lfs_pointer,
    _html,
    _urdf,
    _old_skel,
    _pose_seq,
    _webots_motion,
    _csv,
)
