"""Which format a file is whose first element is `<robot>`: HRDF and URDF both begin so."""

from __future__ import annotations

import re

from .beginning import first_tag

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
# Links of HRDF have types and no names, and it knows no materials.
_URDF = re.compile(
    rb"<(?:visual|collision|inertial|material|transmission|gazebo|parent\s+link|child\s+link)\b"
    rb"|<(?:link|joint)\s+name\s*=\s*(?:\"[^\"]*\"|'[^']*')\s*(?:/?>|type\s*=\s*[\"'][a-z])"
    rb"|xmlns:xacro|<xacro:"
)
_HRDF = re.compile(rb"<(?:actuator|link|bracket|end-effector)\s[^<>]*\btype\s*=")


def is_urdf(head: bytes) -> bool:
    """Whether a file that begins like this is URDF, or xacro, of which URDF is made."""
    text = _COMMENT.sub(b"", head)
    return first_tag(text) == b"robot" and bool(_URDF.search(text)) and not _HRDF.search(text)


def is_hrdf(head: bytes) -> bool:
    """Whether a file that begins like this may be HRDF: no URDF is known by its beginning alone."""
    return first_tag(head) == b"robot" and not is_urdf(head)
