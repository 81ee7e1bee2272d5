"""How a file of XML is known by its beginning, without a parser."""

from __future__ import annotations

import re

_NOT_AN_ELEMENT = re.compile(
    rb"<!--.*?(?:-->|\Z)|<![A-Za-z][^\[>]*(?:\[.*?\]\s*)?(?:>|\Z)|<\?.*?(?:>|\Z)", re.DOTALL
)
_FIRST_TAG = re.compile(rb"(?:\xef\xbb\xbf)?\s*<([A-Za-z_][\w.:-]*)")


def first_tag(head: bytes) -> bytes:
    """Return the name of the element that a file begins with, or b'' where it begins with anything else."""
    found = _FIRST_TAG.match(_NOT_AN_ELEMENT.sub(b"", head))
    return found[1] if found else b""
