"""How somebody shows that they know the token: with each request, or by a cookie that they got for it."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

from ...config.secrets import NoCredential, secret_file
from ..served import HttpError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

log = logging.getLogger(__name__)

WRONG_TOKEN_S = 1.0
MOST_WRONG_AT_ONCE = 8
LEAST_LENGTH = 16


class Token:
    """The token that everybody has to show.

    It is the first line of a file; raises HttpError if that cannot be read or its token could be guessed.
    The cookie and its name are made of it, so that a browser keeps those of several daemons apart.
    """

    def __init__(self, file: Path, option: str) -> None:
        self.option = option
        self._file = file
        self._wrong: Counter[str] = Counter()
        self._set(_read(file, option))

    def _set(self, text: str) -> None:
        self._text = text.encode()
        self.cookie_name = f"motiond-{self._derive(b'motiond name')[:8]}"
        self.cookie = self._derive(b"motiond page")

    def renew(self) -> None:
        """Read the file again; one that cannot be used leaves the token as it is, with a line in the log."""
        try:
            text = _read(self._file, self.option)
        except HttpError as error:
            log.warning("%s; the token stays as it was", error)
            return
        if text.encode() != self._text:
            self._set(text)
            log.info("%s: the token has changed; new requests need the new one", self._file)

    def _derive(self, label: bytes) -> str:
        return hmac.new(self._text, label, sha256).hexdigest()

    def is_in_cookie(self, cookies: Mapping[str, str]) -> bool:
        """Return whether a browser shows the cookie; it cannot be guessed."""
        shown = cookies.get(self.cookie_name, "").encode(errors="replace")
        return hmac.compare_digest(shown, self.cookie.encode())

    def matches(self, text: str) -> bool:
        """Compare, in constant time."""
        return hmac.compare_digest(text.encode(errors="replace"), self._text)

    def is_tried_too_often(self, address: str) -> bool:
        """Return whether as many wrong ones of an address are being waited for as there may be."""
        return self._wrong[address] >= MOST_WRONG_AT_ONCE

    async def punish(self, address: str) -> None:
        """Let somebody with a wrong token wait."""
        self._wrong[address] += 1
        try:
            await asyncio.sleep(WRONG_TOKEN_S)
        finally:
            self._wrong[address] -= 1
            if not self._wrong[address]:
                del self._wrong[address]


def _read(file: Path, option: str) -> str:
    """Return the first line of a token file."""
    try:
        text = secret_file(file).read_text(encoding="utf-8").partition("\n")[0].strip()
    except NoCredential as error:
        raise HttpError(f"{file}: {error.strerror}") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise HttpError(f"{file}: cannot be read; {reason.lower()}; correct {option}") from error
    if len(text) < LEAST_LENGTH:
        problem = f"its first line has {len(text)} characters; a token has {LEAST_LENGTH} at least"
        raise HttpError(f"{file}: {problem}; write one, as by: openssl rand -hex 16")
    return text
