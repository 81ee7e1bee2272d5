"""Asks the daemon of a configuration on this machine for what concerns it as a whole.

Exception
└── NoAnswer
    └── Impostor         somebody answers who is not believed
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import orjson

from ..ipc.control import LONGEST_ANSWER, Refused, address_of
from ..ipc.peers import SERVICE_FOLDER, Peer, believed_users, holder_of, peer_of
from .connection import NoAnswer

if TYPE_CHECKING:
    from pathlib import Path

ANSWER_TIMEOUT_S = 85.0
"""Less than the 90 s that systemd gives to `ExecReload=`."""
PIECE = 1 << 16


class Impostor(NoAnswer):
    """Somebody has bound the daemon's name who may not speak for it; nothing was sent."""

    def __init__(self, config: Path, peer: Peer) -> None:
        super().__init__(
            f"{config}: {peer} has the socket of its daemon, and is not believed; only root, you and the "
            f"owners of the configuration and of {SERVICE_FOLDER} are; end that process, or make its user "
            "the owner of the configuration"
        )


def ask_here(
    config: Path, verb: str, *, timeout_s: float = ANSWER_TIMEOUT_S, **values: Any
) -> dict[str, Any] | None:
    """Send a request and return the data of its answer; None where no daemon of that configuration runs here.

    Raises
    ------
    Refused
        If the daemon does not do it; the message says why.
    NoAnswer
        If it does not answer; an `Impostor` if somebody else would.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            try:
                _connect(connection, config)
            except ConnectionRefusedError:
                return None
            connection.sendall(orjson.dumps({"verb": verb, **values}) + b"\n")
            answer = orjson.loads(_line(connection))
        except (OSError, ValueError) as error:
            reason = f"no answer in {timeout_s:g} s" if isinstance(error, TimeoutError) else str(error)
            raise NoAnswer(f"{config}: its daemon does not answer; {reason}; look at its log") from error
    if answer["status"] != "ok":
        raise Refused(answer["error"])
    data: dict[str, Any] = answer["data"]
    return data


def _connect(connection: socket.socket, config: Path) -> None:
    """Connect to the daemon; whoever has its socket otherwise need not take connections."""
    failure: OSError | None = None
    peer: Peer | None
    try:
        connection.connect(address_of(config))
        peer = peer_of(connection)
    except OSError as error:
        failure, peer = error, holder_of(address_of(config))
    if peer is not None and peer.user not in believed_users(config, SERVICE_FOLDER):
        raise Impostor(config, peer)
    if failure is not None:
        raise failure


def _line(connection: socket.socket) -> bytes:
    pieces = bytearray()
    while (piece := connection.recv(PIECE)) and len(pieces) < LONGEST_ANSWER:
        pieces += piece
    return bytes(pieces)
