"""What to do about each error in XML that libxml2 finds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lxml import etree

from motiond.text import shortened

if TYPE_CHECKING:
    from ...errors import FormatError, Problems

# Names and numbers of a file that the parser repeats.
LONGEST_WORD = 60

_ATTRIBUTES = 'write attributes as name="value", with a blank before each'
_MARKUP = "write & as &amp; and < as &lt;"
_CUT = "copy the file again if it was cut short"
_DECLARATION = 'write <?xml version="1.0" encoding="utf-8"?>'
_CHARACTER = "write a character as &#65; or &#x41;, and & itself as &amp;"
_PREFIX = "a name has one : at most, after its prefix; choose another"
_ENCODING = 'save the file as UTF-8, or name its encoding in <?xml version="1.0" encoding="…"?>'
_KINDS = etree.ErrorTypes
_HINTS = {
    _KINDS.ERR_DOCUMENT_EMPTY: "check that it is the right file, and that it begins with <",
    _KINDS.ERR_DOCUMENT_END: "a file has one root element; remove what follows it",
    _KINDS.ERR_INVALID_CHAR: "remove the character",
    _KINDS.ERR_INVALID_ENCODING: _ENCODING,
    _KINDS.ERR_UNSUPPORTED_ENCODING: _ENCODING,
    _KINDS.ERR_ENTITYREF_SEMICOL_MISSING: _MARKUP,
    _KINDS.ERR_UNDECLARED_ENTITY: _MARKUP,
    _KINDS.ERR_LT_IN_ATTRIBUTE: _MARKUP,
    _KINDS.ERR_NAME_REQUIRED: _MARKUP,
    _KINDS.ERR_ENTITY_LOOP: "remove <!DOCTYPE …>",
    _KINDS.ERR_ATTRIBUTE_NOT_STARTED: _ATTRIBUTES,
    _KINDS.ERR_ATTRIBUTE_NOT_FINISHED: _ATTRIBUTES,
    _KINDS.ERR_ATTRIBUTE_WITHOUT_VALUE: _ATTRIBUTES,
    _KINDS.ERR_SPACE_REQUIRED: f"{_ATTRIBUTES}, and end <?xml with ?>",
    _KINDS.ERR_ATTRIBUTE_REDEFINED: "remove one of the two",
    _KINDS.ERR_GT_REQUIRED: f"end the tag with >, or {_CUT}",
    _KINDS.ERR_TAG_NAME_MISMATCH: "close each element by its own name, the inner ones first",
    _KINDS.ERR_TAG_NOT_FINISHED: f"close the element, or {_CUT}",
    _KINDS.ERR_COMMENT_NOT_FINISHED: "end the comment with -->",
    _KINDS.ERR_CDATA_NOT_FINISHED: "end the section with ]]>",
    _KINDS.ERR_MISPLACED_CDATA_END: "write ]]> as ]]&gt;",
    _KINDS.ERR_RESERVED_XML_NAME: "keep one <?xml …?>, at the top of the file",
    _KINDS.ERR_HYPHEN_IN_COMMENT: "write - there, and end the comment with -->",
    _KINDS.ERR_PI_NOT_FINISHED: "end the instruction with ?>",
    _KINDS.ERR_UNKNOWN_VERSION: 'write <?xml version="1.0"?>',
    _KINDS.ERR_VERSION_MISSING: _DECLARATION,
    _KINDS.ERR_STRING_NOT_STARTED: _DECLARATION,
    _KINDS.ERR_STANDALONE_VALUE: _DECLARATION,
    _KINDS.ERR_INVALID_DEC_CHARREF: _CHARACTER,
    _KINDS.ERR_INVALID_HEX_CHARREF: _CHARACTER,
    _KINDS.ERR_RESOURCE_LIMIT: "check that it is the right file",
    _KINDS.NS_ERR_UNDEFINED_NAMESPACE: 'remove the prefix, or declare it with xmlns:…="…"',
    _KINDS.NS_ERR_XML_NAMESPACE: 'give the prefix an address, xmlns:…="…", or remove it',
    _KINDS.NS_ERR_QNAME: _PREFIX,
    _KINDS.NS_ERR_COLON: _PREFIX,
}
# The parser has one kind of error for all names that are missing.
_HINTS_OF_NAMES = {
    "error parsing attribute name": f"{_ATTRIBUTES}, and end the tag with >",
    "StartTag: invalid element name": "begin a tag with < and its name, and write any other < as &lt;",
}
# Errors before these are but signs of them.
UNFINISHED = frozenset({_KINDS.ERR_COMMENT_NOT_FINISHED, _KINDS.ERR_PI_NOT_FINISHED})
# What the parser advises its programmers.
_ADVICE = re.compile(r",? (?:use|try) XML_PARSE_HUGE.*", re.DOTALL)


def no_xml(problems: Problems, kind: int, line: int, words: str) -> FormatError:
    """Return the error for what is no well-formed XML.

    `kind`: one of lxml's `ErrorTypes`.
    `words`: those of the parser.
    """
    reason = re.sub(r"\s*, line \d+, column \d+.*", "", words, flags=re.DOTALL)
    reason = _ADVICE.sub("", reason)
    reason = " ".join(shortened(word, LONGEST_WORD) for word in reason.split())
    hint = _HINTS_OF_NAMES.get(reason) or _HINTS.get(kind, "correct it")
    return problems.fail(line, "this is no well-formed XML", reason, hint)
