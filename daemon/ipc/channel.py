"""The socket pair between the daemon and a stream process.

A message is one packet, with file descriptors where it hands over memory. The end of the other process is
seen as the end of the socket.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from .messages import decode, encode

if TYPE_CHECKING:
    from .messages import Command, Notice

PACKET_BYTES = 180_000
MOST_FDS = 4


class ChannelClosed(Exception):
    """The other process has gone."""


class Channel:
    """One end of the socket pair.

    - `connection`: of type SOCK_SEQPACKET; the channel owns and closes it
    - `received`: the number of the last message received that carried one
    """

    def __init__(self, connection: socket.socket) -> None:
        self.received = 0
        self._socket = connection
        self._socket.setblocking(False)

    @staticmethod
    def pair() -> tuple[Channel, socket.socket]:
        """Make the daemon's end, and the socket that the stream process inherits."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return Channel(ours), theirs

    def fileno(self) -> int:
        """Return the descriptor to wait on."""
        return self._socket.fileno()

    def send(self, message: Command | Notice, fds: tuple[int, ...] = (), number: int = 0) -> int:
        """Send a message without waiting, with its number, if it has one; return how many bytes it has.

        Raises ChannelClosed if the other process has gone; BlockingIOError if it does not read, and nothing
        was sent.
        """
        try:
            return socket.send_fds(self._socket, [encode(message, number)], fds)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChannelClosed from error

    def receive(self) -> tuple[Command | Notice, list[int]] | None:
        """Take the next message and its file descriptors, which the caller closes; None if there is none.

        Raises ChannelClosed if the other process has gone.
        """
        try:
            data, fds, _flags, _address = socket.recv_fds(self._socket, PACKET_BYTES, MOST_FDS)
        except BlockingIOError:
            return None
        except ConnectionResetError as error:
            raise ChannelClosed from error
        if not data:
            raise ChannelClosed
        message, number = decode(data)
        self.received = number or self.received
        return message, list(fds)

    def close(self) -> None:
        """Close this end; any number of times."""
        self._socket.close()
