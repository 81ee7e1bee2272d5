"""Chooses how a daemon is reached."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from motiond.local import address_of, daemon_of, daemons_here

from .daemon import RECONNECT_S, Daemon
from .messages import HttpTransport, SocketTransport
from .several import MachineTransport, SeveralTransport
from .target import PORTS, Broker

if TYPE_CHECKING:
    from .several import Make

DEFAULT_CONFIG = Path("/etc/motiond/motiond.yaml")


def connect(
    where: str | Broker | Sequence[Broker] | None = None,
    *,
    config: Path | str | None = None,
    base: str | None = None,
    token: str | None = None,
    ca_file: Path | None = None,
    holder: str | None = None,
    reconnect_s: float = RECONNECT_S,
) -> Daemon:
    """Return a client; `async with` connects it.

    Parameters
    ----------
    where : str, Broker or sequence of Broker, optional
        `mqtt[s]://…` or `ws[s]://…` of a broker, `http[s]://…` of a daemon's page, or `unix:/path` of its
        control socket. Of several brokers, a request goes to the one where the robot answers, and a stop to
        all. Without it, the broker of $MOTIOND_BROKER is asked, or else the daemons of this machine by their
        control sockets, or where none runs the broker on this machine.
    config : Path, optional
        The configuration of a daemon on this machine, by which its socket is found.
    base : str, optional
        The first part of every topic at a broker; `motiond` by default.
    token : str, optional
        The daemon's token, for HTTP.
    ca_file : Path, optional
        Certificates that the other end's is checked against.
    holder : str, optional
        As whom to acquire control of a robot, for as long as a request or a motion takes, where somebody has
        to be in control and no client is. Without it such a request is refused; see `Robot.control`.
    reconnect_s : float
        After so long without connection, streams and waits for results end with `ConnectionLost`.

    Raises
    ------
    TypeError, ValueError
        If `where` is no such URL.
    """
    make: Make
    if where is None and config is not None:
        make = partial(SocketTransport, daemon_of(config) or address_of(config), config=Path(config))
    elif where is None and (named := os.environ.get("MOTIOND_BROKER")):
        make = _made(named, base, token, ca_file)
    elif where is None:
        broker = _made(Broker(), base, token, ca_file)
        here = _of_this_machine()
        make = partial(MachineTransport, here, broker) if here else broker
    else:
        several = [*where] if isinstance(where, Sequence) and not isinstance(where, str) else [where]
        if not several:
            raise ValueError("no broker is named; name one, or leave it out for the daemons of this machine")
        makes = [_made(one, base, token, ca_file) for one in several]
        make = makes[0] if len(makes) == 1 else partial(SeveralTransport, makes)
    return Daemon(make, holder=holder, reconnect_s=reconnect_s)


def _of_this_machine() -> list[Make]:
    """Return how the daemon of the configuration is reached, or where there is none, all daemons here."""
    named = os.environ.get("MOTIOND_CONFIG") or (DEFAULT_CONFIG if DEFAULT_CONFIG.exists() else None)
    config = None if named is None else Path(named)
    return [partial(SocketTransport, address, config=config) for address, _ in daemons_here(config)]


def _made(where: object, base: str | None, token: str | None, ca_file: Path | None) -> Make:
    if isinstance(where, str):
        scheme = urlsplit(where).scheme
        if scheme in {"http", "https"}:
            return partial(HttpTransport, where, token=token, ca_file=ca_file)
        if scheme == "unix":
            return partial(SocketTransport, where.removeprefix("unix:"))
        where = Broker(where)
    if not isinstance(where, Broker):
        raise TypeError(f"a broker is named by its URL or as a Broker, and {where!r} is neither")
    if where.scheme not in PORTS:
        raise ValueError(
            f"'{where.url}' names no daemon; write mqtt[s]://HOST, ws[s]://HOST, http[s]://HOST or unix:/PATH"
        )
    where = replace(where, base=base or where.base, ca_file=ca_file or where.ca_file)
    from .mqtt import MqttTransport  # noqa: PLC0415 - only who uses a broker loads the library for it

    return partial(MqttTransport, where)
