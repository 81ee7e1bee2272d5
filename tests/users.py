"""Sockets of another user of this machine, as the kernel vouches for them."""

from __future__ import annotations

import os
import socket
import struct
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.virtual import NETWORK, MemorySocket

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

OTHER_USER = 65_533
"""One that no system gives a name to."""


@contextmanager
def as_other_user(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Listen and connect as another user while this lasts; the kernel keeps who did.

    Only root can become another user; for others, every peer is said to be that one from now on.
    """
    if issubclass(socket.socket, MemorySocket):
        with NETWORK.as_user(OTHER_USER):
            yield
        return
    if os.geteuid() != 0:
        told = struct.pack("=3i", os.getpid(), OTHER_USER, OTHER_USER)
        monkeypatch.setattr(socket.socket, "getsockopt", lambda *_: told, raising=False)
        yield
        return
    os.seteuid(OTHER_USER)
    try:
        yield
    finally:
        os.seteuid(0)


def listening_as_other_user(monkeypatch: pytest.MonkeyPatch, address: str | bytes) -> socket.socket:
    """Return a socket at which another user listens."""
    with as_other_user(monkeypatch):
        theirs = socket.socket(socket.AF_UNIX)
        theirs.bind(address)
        theirs.listen()
    return theirs


def owned_by(path: Path, user: int, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let a file be another user's, and return its path."""
    stat = os.stat

    def told(asked: Any, **options: Any) -> Any:
        return SimpleNamespace(st_uid=user) if asked == path else stat(asked, **options)

    monkeypatch.setattr(os, "stat", told)
    return path
