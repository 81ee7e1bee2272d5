"""Where passwords are kept, and how they are kept out of messages.

A secret stands in a file, which may be one of systemd's credentials (`LoadCredential=` of systemd.exec(5)).
What is quoted of a configuration may hold a URL with a login.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

CREDENTIALS = "%d"

_CUT_OFF = re.compile(r"(?<=://)([^\s/:'\"\[]*:)(?![0-9]{1,5}(?:[\s/'\"]|$))[^\s'\"]+")  # before its @
_BETWEEN_WORDS = re.compile(r"[\s'\"]")


def without_password(text: str) -> str:
    """Return a text with `…` in place of what may be the login of a URL in it.

    In a time that grows with the length, as regular expressions would not: the text may be any of a file.
    """
    end, scheme = text.rfind("@"), text.find("://")
    if scheme >= 0:
        begin = scheme + len("://")
        if end >= begin:  # a password may hold some itself
            text = f"{text[:begin]}…{text[end:]}"
        return _CUT_OFF.sub(r"\1…", text)
    colon = text.find(":", 0, max(end, 0))
    if colon < 0:
        return text
    before = max((found.end() for found in _BETWEEN_WORDS.finditer(text, 0, colon)), default=0)
    return f"{text[:before]}…{text[end:]}"


def has_password(url: str) -> bool:
    """Whether a URL holds a password."""
    return bool(urlsplit(url).password)


class NoCredential(OSError):
    """There is no such credential; `strerror` says why and how to fix it."""

    def __init__(self, reason: str) -> None:
        super().__init__(0, reason)


def is_credential(path: Path) -> bool:
    """Whether a path names a credential of systemd's: `%d/NAME`, as in systemd's own units."""
    return path.parts[:1] == (CREDENTIALS,)


def secret_file(path: Path) -> Path:
    """Return where a secret is.

    - `path`: the file itself, or `%d/NAME`

    Raises NoCredential if it is to be one of systemd's and systemd has given none.
    """
    if not is_credential(path):
        return path
    folder = os.environ.get("CREDENTIALS_DIRECTORY", "")
    if not folder:
        name = "/".join(path.parts[1:])
        reason = "systemd has given no credentials ($CREDENTIALS_DIRECTORY)"
        raise NoCredential(f"{reason}; add LoadCredential={name}:FILE to the unit, or name the file itself")
    return Path(folder, *path.parts[1:])
