"""Files of other formats, known by how they begin, with what to do about each.

Any of them may stand where a robot or a motion is wanted, under whatever name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .beginning import beginning, first_member, first_tag, is_body_motion

if TYPE_CHECKING:
    from collections.abc import Callable


class Foreign(NamedTuple):
    """A file of a format that is not read."""

    # problem, reason, hint: the parts of a message
    problem: str
    reason: str
    hint: str

    @property
    def is_motion(self) -> bool:
        """Whether it is a motion rather than a robot's description, or what has to be unpacked first."""
        return self.reason == MOTION_FORMATS


ROBOT_FORMATS, MOTION_FORMATS = (
    "robots are read from HRDF, SKEL, SDFormat and URDF",
    "motions of that kind are not read",
)

XACRO = Foreign(
    "is xacro, of which URDF is made",
    ROBOT_FORMATS,
    "expand it: `xacro IN.urdf.xacro > OUT.urdf`",
)
HEBI_CONFIG = Foreign(
    "is a robot configuration of HEBI's",
    "it names modules, and a description by `hrdf`",
    "name it in a configuration: `driver: {type: hebi, config: arm.cfg.yaml}`",
)
_PARQUET_TO_NPZ = (
    "save it as .npz: `t = pandas.read_parquet('in.parquet')`, then `numpy.savez('out.npz', "
    "positions=numpy.stack(t['action']), t=t['timestamp'].astype(float), names=[…])`"
)

_ARCHIVES = {
    b"\x1f\x8b": ("gzip", "gzip -d"),
    b"PK\x03\x04": ("ZIP", "unzip"),
    b"BZh": ("bzip2", "bzip2 -d"),
    b"\xfd7zXZ\0": ("xz", "xz -d"),
    b"\x28\xb5\x2f\xfd": ("Zstandard", "zstd -d"),
}
# Of files that are read, and are no text.
_BINARY = (b"\x93NUMPY", b"\x89MCAP")
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_LINE_END = re.compile(rb"\r\n?")
_OF_PAGES = {b"html", b"head", b"title", b"body", b"meta", b"center", b"h1", b"pre"}
# What is expanded may still name its namespace.
_XACRO = re.compile(rb"<xacro:|<(?:property|macro)\s+name\s*=")
_OLD_SKEL = re.compile(rb"\s*(?:dofs|mass|node|handles|markers|units)\b[^{:<]{0,80}\{")
_OLD_SKEL_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|(?:#|//)[^\n]*", re.DOTALL)
# Each with what its file is, which files are read instead, and a way on.
_BEGINNINGS = (
    (rb"#VRML V", "is VRML", ROBOT_FORMATS, "convert a model of OpenHRP: `simtrans -i arm.wrl -o arm.sdf`"),
    (rb"#usda |PXR-USDC", "is USD", ROBOT_FORMATS, "describe the robot in URDF"),
    (
        rb"#ROSBAG V",
        "is a bag of ROS 1",
        MOTION_FORMATS,
        "convert it: `mcap convert in.bag out.mcap`, or `rosbags-convert`",
    ),
    (
        rb"SQLite format 3\0",
        "is an SQLite database, as bags of ROS 2 are",
        MOTION_FORMATS,
        "convert a bag: `mcap convert in.db3 out.mcap`, or `ros2 bag convert` to mcap",
    ),
    (
        rb"PAR1",
        "is Parquet, as episodes of LeRobot are",
        MOTION_FORMATS,
        _PARQUET_TO_NPZ,
    ),
)
_ROOTS = {
    b"mujoco": ("is MJCF", ROBOT_FORMATS, "convert it: `mjcf2sdf arm.xml arm.sdf`"),
    b"mujocoinclude": (
        "is a part of MJCF",
        ROBOT_FORMATS,
        "convert what includes it: `mjcf2sdf arm.xml arm.sdf`",
    ),
    b"COLLADA": (
        "is COLLADA",
        "it has shapes, and no joints that are read",
        "name it as a mesh in URDF",
    ),
}
_REMARK = re.compile(rb"<!--.*?(?:-->|\Z)|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_JINJA_LINE = re.compile(rb"^[ \t]*\{[%{#]", re.MULTILINE)
_TEMPLATES = {
    "Jinja": re.compile(rb"\{%[-+]?\s*\w[^%]*%\}|\{\{[^{}\n]+\}\}"),
    "ERB": re.compile(rb"<%[-=]?\s[^%]*%>"),
}
# Each with the keys that such a file has.
_KEYED = (
    (
        (rb"""^["']?format["']?\s*:\s*["']?ChoreonoidBody\b""",),
        "is a body of Choreonoid (.body)",
        ROBOT_FORMATS,
        "describe its links and joints in URDF",
    ),
    ((rb"""^["']?families["']?\s*:""", rb"""^["']?names["']?\s*:"""), *HEBI_CONFIG),
)
# A licence may come first.
_HEAD_BYTES = 1 << 20


def foreign_format(data: bytes) -> Foreign | None:
    """Return what a file is that begins like this; None where that is not known.

    It goes by looks: ask it of files only that no reader could read.
    """
    if data.startswith(_BINARY) or first_member(data).endswith(b".npy"):
        return None
    if found := _archive(data):
        return found
    text = _LINE_END.sub(b"\n", beginning(data, _HEAD_BYTES))
    return next((found for known in _KNOWN if (found := known(text))), None)


def _archive(head: bytes) -> Foreign | None:
    for magic, (name, command) in _ARCHIVES.items():
        if head.startswith(magic):
            return Foreign(f"is compressed ({name})", "files are read as they are", f"unpack it: `{command}`")
    return None


def lfs_pointer(head: bytes) -> Foreign | None:
    """Return what a file is that begins like this, if it only stands for one that Git LFS has."""
    if not head.startswith(b"version https://git-lfs.github.com/"):
        return None
    reason = "the file itself was not downloaded"
    return Foreign("is a Git LFS pointer", reason, "run `git lfs pull` in its repository")


def _html(head: bytes) -> Foreign | None:
    if not head.lstrip().lower().startswith(b"<!doctype html") and first_tag(head).lower() not in _OF_PAGES:
        return None
    reason = "a web server gave a page about the file in its place"
    return Foreign("is an HTML page", reason, "download the file itself (on GitHub: `Raw`)")


def _xacro(head: bytes) -> Foreign | None:
    text = _COMMENT.sub(b"", head)
    return XACRO if first_tag(text) == b"robot" and _XACRO.search(text) else None


def _root(head: bytes) -> Foreign | None:
    found = _ROOTS.get(first_tag(head))
    return Foreign(*found) if found else None


def _beginning(head: bytes) -> Foreign | None:
    return next((Foreign(*parts) for begin, *parts in _BEGINNINGS if re.match(begin, head)), None)


def _keyed(head: bytes) -> Foreign | None:
    if is_body_motion(head):
        return None
    for keys, *parts in _KEYED:
        if all(re.search(key, head, re.MULTILINE) for key in keys):
            return Foreign(*parts)
    return None


def _template(head: bytes) -> Foreign | None:
    text = _REMARK.sub(b"", head)
    if not text.lstrip().startswith(b"<") and not _JINJA_LINE.search(text):
        return None
    for language, mark in _TEMPLATES.items():
        if mark.search(text):
            reason = "its expressions stand where values belong"
            return Foreign(
                f"is a template ({language})", reason, "give the file that its generator makes of it"
            )
    return None


def _old_skel(head: bytes) -> Foreign | None:
    if not _OLD_SKEL.match(_OLD_SKEL_COMMENT.sub(b"", head)):
        return None
    reason = "of SKEL, its XML is read"
    return Foreign("is DART's old text format of skeletons", reason, "describe the robot in SKEL")


_KNOWN: tuple[Callable[[bytes], Foreign | None], ...] = (
    lfs_pointer,
    _beginning,
    _html,
    _root,
    _template,
    _xacro,
    _old_skel,
    _keyed,
)
