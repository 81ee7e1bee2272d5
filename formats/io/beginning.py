"""The beginning of a file, from which its format is known without a parser."""

from __future__ import annotations

import codecs
import re

# A licence may come first.
HEAD_BYTES = 1 << 16

# The marks of UTF-32 begin as those of UTF-16 do, and come first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_NOT_AN_ELEMENT = re.compile(
    rb"<!--.*?(?:-->|\Z)|<![A-Za-z][^\[>]*(?:\[.*?\]\s*)?(?:>|\Z)|<\?.*?(?:>|\Z)", re.DOTALL
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
# Links of HRDF have types and no names, and it knows no materials.
_URDF = re.compile(
    rb"<(?:visual|collision|inertial|material|transmission|gazebo|parent\s+link|child\s+link)\b"
    rb"|<(?:link|joint)\s+name\s*=\s*(?:\"[^\"]*\"|'[^']*')\s*(?:/?>|type\s*=\s*[\"'][a-z])"
    rb"|xmlns:xacro|<xacro:"
)
_HRDF = re.compile(rb"<(?:actuator|link|bracket|end-effector)\s[^<>]*\btype\s*=")
# What a .seq file says of itself; it may have a component of any type, and hold anything besides.
_BODY_MOTION = re.compile(rb"\b(?:CompositeSeq|BodyMotion)\b")
_FIRST_TAG = re.compile(rb"(?:\xef\xbb\xbf)?\s*<([A-Za-z_][\w.:-]*)")


def beginning(data: bytes, most_bytes: int = HEAD_BYTES) -> bytes:
    """Return the beginning of a text as UTF-8, whichever UTF it is in, without its byte order mark."""
    head = data[:most_bytes]
    if not (encoding := wide_encoding(head)):
        return head.removeprefix(codecs.BOM_UTF8)
    return head.decode(encoding, "ignore").removeprefix("\ufeff").encode("utf-8", "ignore")


def wide_encoding(data: bytes) -> str:
    """Return which UTF of two or four bytes a text is in, by its mark or first characters; '' if none."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    first = [byte > 0 for byte in data[:4]]
    if first == [True, False, True, False]:
        return "utf-16-le"
    return "utf-16-be" if first == [False, True, False, True] else ""


def first_tag(head: bytes) -> bytes:
    """Return the name of the element that a file begins with, or b'' where it begins with anything else."""
    found = _FIRST_TAG.match(_NOT_AN_ELEMENT.sub(b"", head))
    return found[1] if found else b""


def first_member(data: bytes) -> bytes:
    """Return the name of a ZIP archive's first member, or b'' where it begins with none."""
    if not data.startswith(b"PK\x03\x04"):
        return b""
    return data[30 : 30 + int.from_bytes(data[26:28], "little")]


def is_body_motion(head: bytes) -> bool:
    """Whether a file that begins like this says that it is a .seq file."""
    return _BODY_MOTION.search(head) is not None


def is_urdf(head: bytes) -> bool:
    """Whether a file that begins like this is URDF, or xacro, of which URDF is made; HRDF begins alike."""
    text = _COMMENT.sub(b"", head)
    return first_tag(text) == b"robot" and bool(_URDF.search(text)) and not _HRDF.search(text)


def is_hrdf(head: bytes) -> bool:
    """Whether a file that begins like this may be HRDF: no URDF is known by its beginning alone."""
    return first_tag(head) == b"robot" and not is_urdf(head)
