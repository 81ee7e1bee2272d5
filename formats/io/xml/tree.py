"""Safe parsing of XML, for all formats that are XML.

Entities, document types and anything that could pull in other files are refused; libxml2 bounds depth and
size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from lxml import etree

from motiond.text import echoed, nearest, printable

from ..beginning import wide_encoding
from .errors import UNFINISHED, no_xml
from .slips import repaired

if TYPE_CHECKING:
    from ...errors import Problems

Xml: TypeAlias = etree._Element  # noqa: SLF001 - lxml gives its element type no public name

# Of tags and attributes; each takes some hundred bytes in memory, and as few as four in a file.
MOST_MARKS = 2_000_000
# Of one element: lxml finds each by searching from the first, in time that grows with the square.
MOST_ATTRIBUTES = 1000
# Names are kept many times over, joined with those of what they stand in.
LONGEST_NAME = 1000

# What messages would not show as it stands, of what XML allows.
_HIDDEN = "".join(one for one in map(chr, (9, 10, 13, *range(0x7F, 0x2070))) if one != printable(one))
_IS_WRONG = f"[string-length() > {LONGEST_NAME} or translate(., $hidden, '') != .]"
_WRONG_NAMES = etree.XPath(f"//@name{_IS_WRONG} | //@tag{_IS_WRONG}")
_WRONG_TEXTS = etree.XPath(f"//include/name{_IS_WRONG}")
_CROWDED = etree.XPath(f"(//*[@*[{MOST_ATTRIBUTES + 1}]])[1]")


def marks_in(data: bytes) -> int:
    """Return how many tags and attributes a file has, about."""
    return data.count(b"<") + data.count(b"=")


def parse_xml(
    data: bytes, problems: Problems, *, free_prefixes: bool = False, long_texts: bool = False
) -> Xml:
    """Parse a whole file and return its root element; slips that other readers let pass are warned of.

    `free_prefixes`: whether names may have a prefix that is not bound to a namespace; such a name keeps it:
    `gz:speed`. A default namespace, `xmlns="…"`, then means nothing.
    `long_texts`: whether a text may be longer than 10 MB. Depth is then unbounded, so that no reader may
    recurse.
    Raises `FormatError` if it is no well-formed XML, has a document type, more tags or attributes than any
    file of use, or names that are longer or cannot be shown.
    """
    if marks_in(data) > MOST_MARKS:
        reason = f"{MOST_MARKS} are read"
        raise problems.fail(0, "holds too many tags and attributes", reason, "split the file")
    narrow = _as_utf8(data)
    data = repaired(narrow or data, problems)
    # Without libxml2's bounds entities could explode, so the bounds stay where a file may declare some.
    huge = long_texts and b"<!" not in data and b"\0" not in data
    # What a file declares is what it was in before.
    encoding = "utf-8" if narrow else None
    root = _parse(data, problems, encoding, free_prefixes=free_prefixes, huge=huge)
    tree: Any = root.getroottree()
    if tree.docinfo.doctype:
        problem, reason = "a document type is not allowed", "it could pull in other files"
        raise problems.fail(1, problem, reason, "remove <!DOCTYPE …>")
    if free_prefixes and b"xmlns" in data:
        _drop_default_namespaces(root)
    _refuse_crowded(root, problems)
    _refuse_wrong_names(root, problems)
    return root


def parse_root(
    data: bytes, problems: Problems, tag: str, format_name: str, *, free_prefixes: bool = False
) -> Xml:
    """Parse a whole file whose root element must have a name, as `parse_xml` does."""
    root = parse_xml(data, problems, free_prefixes=free_prefixes)
    if root.tag != tag:
        problem, reason = f"the root element is <{root.tag}>", f"{format_name} has <{tag}> as its root"
        raise problems.fail(line_of(root), problem, reason, nearest(str(root.tag), [tag]))
    return root


def _as_utf8(data: bytes) -> bytes:
    """Return a text of UTF-16 or UTF-32 as UTF-8; b'' where it is none."""
    try:
        encoding = wide_encoding(data)
        return data.decode(encoding).removeprefix("\ufeff").encode() if encoding else b""
    except UnicodeError:
        return b""


def _drop_default_namespaces(root: Xml) -> None:
    """Name elements without a prefix as the file has them: other readers know no namespaces."""
    for xml in root.iter(etree.Element):
        namespace, _, name = str(xml.tag).rpartition("}")
        # lxml sets no name with a prefix that nothing binds.
        if namespace and not xml.prefix and ":" not in name:
            xml.tag = name


def _refuse_crowded(root: Xml, problems: Problems) -> None:
    for xml in cast("list[Xml]", _CROWDED(root)):
        problem, reason = f"<{xml.tag}> has more than {MOST_ATTRIBUTES} attributes", "nothing needs so many"
        raise problems.fail(line_of(xml), problem, reason, "remove some")


def _refuse_wrong_names(root: Xml, problems: Problems) -> None:
    wrong_names = cast("list[Any]", _WRONG_NAMES(root, hidden=_HIDDEN))
    # Around a text may be line ends.
    wrong_texts = cast("list[Any]", _WRONG_TEXTS(root, hidden=_HIDDEN.lstrip()))
    names = [(text.getparent(), text.attrname, text) for text in wrong_names]
    texts = [(xml.getparent(), "name", xml.xpath("string()")) for xml in wrong_texts]
    for xml, kind, text in (*names, *texts):
        what, reason = f"the {kind} of <{xml.tag}>", f"it has at most {LONGEST_NAME}"
        if len(text) > LONGEST_NAME:
            problems.add(line_of(xml), f"{what} has {len(text)} characters", reason, "shorten it")
        else:
            reason = "it holds a character that would not be seen"
            problems.add(line_of(xml), f"{what} is '{echoed(printable(text))}'", reason, "rename it")
    if names or texts:
        problems.raise_if_any()


def _parse(data: bytes, problems: Problems, encoding: str | None, *, free_prefixes: bool, huge: bool) -> Xml:
    parser = _parser(encoding, huge=huge)
    try:
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        # The exception's own log holds the errors of earlier files too; this one holds the last hundred, and
        # what ended the parsing is among them.
        log: Any = parser.error_log.filter_from_errors()
        allowed = etree.ErrorTypes.NS_ERR_UNDEFINED_NAMESPACE if free_prefixes else None
        errors = [one for one in log if one.type != allowed]
        if errors:
            found = next((one for one in errors if one.type in UNFINISHED), errors[0])
            raise no_xml(problems, found.type, found.line, found.message) from None
        kind: int = cast("Any", error).code
        if kind != allowed:
            raise no_xml(problems, kind, error.lineno or 0, error.msg or "") from None
    return etree.fromstring(data, _parser(encoding, recover=True))


def _parser(encoding: str | None, *, recover: bool = False, huge: bool = False) -> etree.XMLParser:
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        recover=recover,
        huge_tree=huge,
    )


def line_of(xml: Xml) -> int:
    """Return the line that an element begins on."""
    line: Any = xml.sourceline
    return int(line or 0)
