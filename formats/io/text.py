"""Files that are text."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from .beginning import wide_encoding

if TYPE_CHECKING:
    from ..errors import Problems


def utf8_text(data: bytes, problems: Problems, kind: str) -> bytes:
    """Return a text without its byte order mark, after checking that it is UTF-8.

    `kind`: what messages call such a file, with its article.
    Raises `FormatError` if it is not, or holds a NUL byte.
    """
    if encoding := wide_encoding(data):
        raise problems.fail(1, f"is {encoding[:6].upper()}", f"{kind} is UTF-8", "save it as UTF-8")
    text = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in text:
        line = text.count(b"\n", 0, text.index(b"\0")) + 1
        raise problems.fail(line, "holds a NUL byte", f"{kind} is text", "copy the file again")
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            what = f"holds the byte 0x{text[error.start]:02x}"
            raise problems.fail(line, what, f"{kind} is UTF-8", "save it as UTF-8") from error
    return text
