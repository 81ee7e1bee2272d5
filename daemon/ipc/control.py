"""How programs of one machine ask the daemon of a configuration for what concerns it as a whole.

A request is a line, `{"verb": "…", …}`, on an abstract Unix socket named after the configuration; the answer
is a line, `{"status": "ok", "data": {…}}` or `{"status": "error", "error": "…"}`.

Exception
└── Refused          the daemon does not do what it is asked for
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

LONGEST_REQUEST = 4096
LONGEST_ANSWER = 1 << 26


class Refused(Exception):
    """What was asked for is not done; `str()` says why, and how to fix it."""

    exit_code: ClassVar[int] = 1


def address_of(config: Path) -> str:
    """Return the name of the socket at which the daemon of a configuration is asked.

    It is named after the path as it is written: a link may lead to another file by the time of a reload.
    """
    return "\0motiond:control:" + sha256(os.fsencode(os.path.abspath(config))).hexdigest()  # noqa: PTH100
