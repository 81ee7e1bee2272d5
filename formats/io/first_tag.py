"""How a file of XML is known by its beginning, without a parser."""

from __future__ import annotations

import re

_NOT_AN_ELEMENT = re.compile(rb"<!--.*?(?:-->|\Z)|<[?!].*?(?:>|\Z)", re.DOTALL)
_FIRST_TAG = re.compile(rb"<([A-Za-z_][\w.:-]*)")


def first_tag(head: bytes) -> bytes:
    """Return the name of the first element in the beginning of a file, or b'' where there is none."""
    found = _FIRST_TAG.search(_NOT_AN_ELEMENT.sub(b"", head))
    return found[1] if found else b""
