"""How somebody shows that they know the token: with each request, or by a cookie that they got for it."""

from __future__ import annotations

import asyncio
import hmac
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

from ...config.secrets import NoCredential, secret_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WRONG_TOKEN_S = 1.0
MOST_WRONG_AT_ONCE = 8
LEAST_LENGTH = 16


class TokenError(Exception):
    """A token file that cannot be used: `file: problem; reason; hint`."""

    exit_code = 2


OPTION = "http.token_file"


class Token:
    """The token that everybody has to show.

    Parameters
    ----------
    text : str
    option : str
        By which its file is given.

    Attributes
    ----------
    option : str
    cookie_name, cookie : str
        Both made of the token, so that a browser tells daemons on one machine apart; a cookie does not tell
        the token.
    """

    def __init__(self, text: str, option: str = OPTION) -> None:
        self.option = option
        self._text = text.encode()
        self.cookie_name = f"motiond-{self._derive(b'motiond name')[:8]}"
        self.cookie = self._derive(b"motiond page")
        self._wrong: Counter[str] = Counter()

    def _derive(self, label: bytes) -> str:
        return hmac.new(self._text, label, sha256).hexdigest()

    def is_in_cookie(self, cookies: Mapping[str, str]) -> bool:
        """Return whether a browser shows the cookie; nobody can guess that one."""
        shown = cookies.get(self.cookie_name, "").encode(errors="replace")
        return hmac.compare_digest(shown, self.cookie.encode())

    def matches(self, text: str) -> bool:
        """Compare, in a time that tells nothing."""
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


def read_token(file: Path | None, option: str = OPTION) -> Token | None:
    """Read the first line of a token file.

    Parameters
    ----------
    file : Path or None
    option : str
        By which it is given, for messages.

    Raises
    ------
    TokenError
        If it cannot be read, or holds a token that could be guessed.
    """
    if file is None:
        return None
    try:
        text = secret_file(file).read_text(encoding="utf-8").partition("\n")[0].strip()
    except NoCredential as error:
        raise TokenError(f"{file}: {error.strerror}") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise TokenError(f"{file}: cannot be read; {reason.lower()}; correct {option}") from error
    if len(text) < LEAST_LENGTH:
        problem = f"its first line has {len(text)} characters; a token has {LEAST_LENGTH} at least"
        raise TokenError(f"{file}: {problem}; write one, as by: openssl rand -hex 16")
    return Token(text, option)
