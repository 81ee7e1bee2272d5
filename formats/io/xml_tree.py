"""Safe parsing of XML, for all formats that are XML.

Entities, document types and anything that could pull in other files are refused; libxml2 bounds depth and
size.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

from lxml import etree

if TYPE_CHECKING:
    from ..errors import Problems

Xml: TypeAlias = etree._Element  # noqa: SLF001 - lxml gives its element type no public name

# Of tags and attributes; each takes some hundred bytes in memory, and as few as four in a file.
MOST_MARKS = 2_000_000

_NOT_AN_ELEMENT = re.compile(rb"<!--.*?(?:-->|\Z)|<[?!].*?(?:>|\Z)", re.DOTALL)
_FIRST_TAG = re.compile(rb"<([A-Za-z_][\w.:-]*)")


def first_tag(head: bytes) -> bytes:
    """Return the name of the first element in the beginning of a file, or b'' where there is none."""
    found = _FIRST_TAG.search(_NOT_AN_ELEMENT.sub(b"", head))
    return found[1] if found else b""


def parse_xml(
    data: bytes, problems: Problems, *, free_prefixes: bool = False, long_texts: bool = False
) -> Xml:
    """Parse a whole file and return its root element.

    Parameters
    ----------
    free_prefixes : bool
        Whether names may have a prefix that is not bound to a namespace; such a name keeps it: `gz:speed`.
    long_texts : bool
        Whether a text may be longer than 10 MB. Depth is then unbounded, so that no reader may recurse.

    Raises
    ------
    FormatError
        If it is no well-formed XML, has a document type, or more tags than any file of use.
    """
    if data.count(b"<") + data.count(b"=") > MOST_MARKS:
        why = f"{MOST_MARKS} are read"
        raise problems.fail(0, "holds too many tags and attributes", why, "split the file")
    try:
        # Without libxml2's bounds entities could explode, so the bounds stay where a file may declare some.
        huge = long_texts and b"<!" not in data and b"\0" not in data
        root = _parse(data, free_prefixes=free_prefixes, huge=huge)
    except etree.XMLSyntaxError as error:
        why = re.sub(r"\s*, line \d+, column \d+.*", "", error.msg or "").strip()
        raise problems.fail(error.lineno or 0, "this is no well-formed XML", why) from None
    tree: Any = root.getroottree()
    if tree.docinfo.doctype:
        what, why = "a document type is not allowed", "it could pull in other files"
        raise problems.fail(1, what, why, "remove <!DOCTYPE …>")
    return root


def _parse(data: bytes, *, free_prefixes: bool, huge: bool) -> Xml:
    parser = _parser(huge=huge)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        unbound = etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE
        # The exception's own log holds the errors of earlier files too.
        log: Any = parser.error_log
        if not free_prefixes or any(one.type != unbound for one in log):
            raise
    return etree.fromstring(data, _parser(recover=True))


def _parser(*, recover: bool = False, huge: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, recover=recover, huge_tree=huge
    )


def line_of(xml: Xml) -> int:
    """Return the line that an element begins on."""
    line: Any = xml.sourceline
    return int(line or 0)
