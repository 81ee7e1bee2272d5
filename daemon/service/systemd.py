"""Tells systemd how the daemon does (sd_notify(3)): ready, alive, stopping; without systemd, nothing."""

from __future__ import annotations

import os
import socket


def notify(*states: str) -> bool:
    """Send states such as `READY=1` without waiting; False where nobody listens, or reads what was sent.

    Raises
    ------
    OSError
        If the socket that NOTIFY_SOCKET names cannot be written to.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
        try:
            connection.sendto("\n".join(states).encode(), socket.MSG_DONTWAIT, address)
        except BlockingIOError:
            return False
    return True


def watchdog_period_s() -> float | None:
    """Return how often systemd wants to hear WATCHDOG=1 (half its timeout); None if it does not."""
    timeout_us = os.environ.get("WATCHDOG_USEC")
    meant_for = os.environ.get("WATCHDOG_PID", str(os.getpid()))
    if not timeout_us or meant_for != str(os.getpid()):
        return None
    return int(timeout_us) / 2e6
