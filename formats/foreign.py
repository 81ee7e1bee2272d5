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
# HRDF's root is <robot> too, but its links have types, no names, and it knows no materials.
_URDF = re.compile(
    rb"<(?:visual|collision|inertial|material|transmission|parent\s+link|child\s+link)\b"
    rb"|<(?:link|joint)\s+name\s*=\s*(?:\"[^\"]*\"|'[^']*')\s*(?:/?>|type\s*=\s*[\"'][a-z])"
)
_OLD_SKEL = re.compile(rb"\s*(?:dofs|mass|node|handles|markers|units)\b[^{:<]{0,80}\{")
_OLD_SKEL_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|(?:#|//)[^\n]*", re.DOTALL)
_POSE_SEQ = re.compile(rb"""(?:^|[{,])[ \t]*["']?type["']?\s*:\s*["']?PoseSeq\b""", re.MULTILINE)
# Where keys are sorted, the type comes last, after all poses.
_POSES = re.compile(rb"""(?:^|[{,])[ \t]*["']?refs["']?\s*:""", re.MULTILINE)
_POSE = re.compile(rb"""[\s{,-]["']?refer["']?\s*:""")
_CELL = re.compile(
    rb"""["']?(?P<number>[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf))?["']?""",
    re.IGNORECASE,
)
_CSV_COMMENT = (b"#", b"%", b"//")
_NO_HEADER = re.compile(rb"[{}<>]|:\s|:\Z|\A\s*(?:\[|-\s)")


def foreign_format(head: bytes) -> Foreign | None:
    """Return what a file is that begins like this; None where it may be of a format that is read."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = head.decode("utf-16", "ignore").encode("utf-8", "ignore")
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
    if not _OLD_SKEL.match(_OLD_SKEL_COMMENT.sub(b"", head)):
        return None
    why = "of SKEL, its XML is read"
    return Foreign("is DART's old text format of skeletons", why, "describe the robot in SKEL or SDFormat")


def _pose_seq(head: bytes) -> Foreign | None:
    if not _POSE_SEQ.search(head) and not (_POSES.search(head) and _POSE.search(head)):
        return None
    mend = "generate a body motion from it in Choreonoid and save that as .seq"
    return Foreign("is a PoseSeq, the key poses of Choreonoid's editor", MOTION_FORMATS, mend)


def _webots_motion(head: bytes) -> Foreign | None:
    if not head.startswith(b"#WEBOTS_MOTION"):
        return None
    mend = "write its poses as rows of a .seq file with `has_frame_time: true`"
    return Foreign("is a motion file of Webots (.motion)", MOTION_FORMATS, mend)


def _csv(head: bytes) -> Foreign | None:
    lines = [
        line for line in head.split(b"\n") if line.strip() and not line.lstrip().startswith(_CSV_COMMENT)
    ]
    if len(lines) < 2 or _NO_HEADER.search(lines[0]):
        return None
    if not any(_is_table(lines[:4], separator) for separator in (b";", b"\t", b",", None)):
        return None
    mend = "write it as .seq: `dump_motion(Motion(name, joints, frame_rate, times, positions), path)`"
    return Foreign("is CSV, a table without a frame rate", MOTION_FORMATS, mend)


def _is_table(lines: list[bytes], separator: bytes | None) -> bool:
    """Whether lines after the first are rows of a table; without a separator, of numbers side by side."""
    columns = len(lines[0].split(separator))
    if separator and columns < 2:
        return False
    for line in lines[1:]:
        cells = [len(cell) < 64 and _CELL.fullmatch(cell.strip()) for cell in line.split(separator)]
        numbers = sum(1 for cell in cells if cell and cell["number"])
        known = sum(1 for cell in cells if cell)
        if not numbers or known < (len(cells) / 2 if separator else len(cells)):
            return False
    return bool(separator) or len(lines) > 2


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
