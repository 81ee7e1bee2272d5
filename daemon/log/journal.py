"""Log records as entries of systemd's journal, with fields by which they can be found: robot, goal, code.

The journal's own protocol (https://systemd.io/JOURNAL_NATIVE_PROTOCOL/): a datagram of fields, each its
name, a line end, the length of its value in 64 bits, little-endian, the value, and a line end.
"""

from __future__ import annotations

import logging
import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET = "/run/systemd/journal/socket"
PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
"""As syslog(3) counts them."""
FIELDS = {"robot": "MOTIOND_ROBOT", "goal": "MOTIOND_GOAL", "code": "MOTIOND_CODE"}
"""Names of `extra` in a record, and their names in the journal."""


class JournalHandler(logging.Handler):
    """Writes records to the journal; one that it does not take goes to another handler.

    `instead`: takes what the journal does not: it is away, busy, or a record is too long for a datagram.
    `address`: of the journal's socket.
    """

    def __init__(self, instead: logging.Handler, address: str) -> None:
        super().__init__()
        self._instead = instead
        self._address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record, without waiting for the journal."""
        try:
            entry = b"".join(_field(name, value) for name, value in self._fields(record))
            self._socket.sendto(entry, socket.MSG_DONTWAIT, self._address)
        except OSError:
            self._instead.handle(record)
        except Exception:  # noqa: BLE001 - logging's own way to report what cannot be logged
            self.handleError(record)

    def _fields(self, record: logging.LogRecord) -> Iterator[tuple[str, str]]:
        yield "MESSAGE", self.format(record)
        yield "PRIORITY", str(PRIORITIES.get(record.levelno, 6))
        yield "SYSLOG_IDENTIFIER", "motiond"
        yield "LOGGER", record.name
        for name, field in FIELDS.items():
            if (value := getattr(record, name, None)) is not None:
                yield field, str(value)

    def close(self) -> None:
        """Let the socket go."""
        self._socket.close()
        super().close()


def _field(name: str, value: str) -> bytes:
    encoded = value.encode(errors="backslashreplace")
    return b"%s\n%s%s\n" % (name.encode(), struct.pack("<Q", len(encoded)), encoded)
