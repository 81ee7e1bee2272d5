"""Chooses how a daemon is reached."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .daemon import RECONNECT_S, Daemon
from .target import PORTS, Broker

if TYPE_CHECKING:
    from collections.abc import Callable

    from .reports import Report
    from .transport import Transport


def connect(
    where: str | Broker | None = None,
    *,
    base: str | None = None,
    holder: str | None = None,
    reconnect_s: float = RECONNECT_S,
) -> Daemon:
    """Return a client; `async with` connects it.

    Parameters
    ----------
    where : str or Broker, optional
        `mqtt[s]://…` or `ws[s]://…` of a broker.
    base : str, optional
        The first part of every topic at the broker; `motiond` by default.
    holder : str, optional
        As whom to acquire control of a robot, for as long as a request or a motion takes, where somebody has
        to be in control and no client is. Without it such a request is refused; see `Robot.control`.
    reconnect_s : float
        After so long without connection, streams and waits for results end with `ConnectionLost`.

    Raises
    ------
    ValueError
        If `where` is no such URL.
    """
    return Daemon(_transport(where, base), holder=holder, reconnect_s=reconnect_s)


def _transport(
    where: str | Broker | None, base: str | None
) -> Callable[[Callable[[Report], None]], Transport]:
    if not isinstance(where, Broker):
        where = Broker(where or Broker().url)
    if base is not None:
        where = replace(where, base=base)
    if urlsplit(where.url).scheme not in PORTS:
        raise ValueError(
            f"'{where.url}' names no daemon; write mqtt://HOST, mqtts://HOST, ws://HOST or wss://HOST"
        )
    from .mqtt import MqttTransport  # noqa: PLC0415 - only who uses a broker loads the library for it

    return partial(MqttTransport, where)
