"""Keeps passwords out of messages: what is quoted of a configuration may hold a URL with a login."""

from __future__ import annotations

import re

_TO_THE_LAST_AT = re.compile(r"(?<=://).*@", re.DOTALL)  # a password may hold some itself
_CUT_OFF = re.compile(r"(?<=://)([^\s/:'\"\[]*:)(?![0-9]{1,5}(?:[\s/'\"]|$))[^\s'\"]+")  # before its @
_WITHOUT_SCHEME = re.compile(r"[^\s'\"]*:.*@", re.DOTALL)


def without_password(text: str) -> str:
    """Return a text with `…` in place of what may be the login of a URL in it."""
    if "://" not in text:
        return _WITHOUT_SCHEME.sub("…@", text)
    return _CUT_OFF.sub(r"\1…", _TO_THE_LAST_AT.sub("…@", text))
